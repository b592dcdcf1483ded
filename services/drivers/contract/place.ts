import type { StorePath } from './entry.ts'

/**
 * Which folder of which file system a folder is. Nothing of it changes when a file system is mounted again or the host is
 * started again, as the number of its device does; what a file system does not have is missing. Plain data, which is stored.
 */
export interface FolderIdentity {
  /** Kind of file system, as the system calls it; empty where it does not tell. */
  type: string
  /** UUID of the file system, or the share of another host. */
  fileSystem?: string
  inode?: string
  /** When the folder was made, in nanoseconds since 1970. */
  born?: string
}

/** More file systems below one place than this are no data: a host with a thousand containers is migrated in parts. */
export const maxMounts = 1_000

/** Which folder a place is, and which file systems are mounted below it, where those count. Plain data, which is stored. */
export interface PlaceIdentity {
  root: FolderIdentity
  mounts: { path: string; is: FolderIdentity }[]
}

/** What a place is now. */
export interface PlaceNow {
  readonly identity: PlaceIdentity
  /** What it is until the system mounts it anew; plain data, which goes to threads of this process. Equal for the same place. */
  readonly mark: string
  /** Paths of mounts that the system makes by itself when somebody looks. */
  readonly automatic: ReadonlySet<string>
}

/** What of a source is left out: mounts there may come and go. */
export interface LeavesOut {
  /** Another one for other rules. */
  readonly key: string
  /** Whether nothing at a path, and nothing below it, is migrated. */
  readonly isLeftOut: (path: StorePath) => boolean
}

/**
 * A folder of this host that something else may take the place of: where a volume was is the folder below it once it is
 * unmounted, and who moves a folder may put another in its place.
 */
export interface Place {
  /** Its absolute path as text. */
  readonly name: string
  /** Another text when it may be another place than at the last look; empty where there is none. Throws system errors. */
  sign(): Promise<string>
  /**
   * Looks at it; undefined when it is not there. Throws system errors, GantryError UNSUPPORTED for too many mounts.
   * @param known paths of mounts below it, which are looked at first: some are there only while somebody looks
   */
  look(known?: readonly string[]): Promise<PlaceNow | undefined>
  /**
   * Throws a StoreError `unreachable` when it is not what a mark says. What was found missing there, or written, before a
   * call that does not throw, and after another one, was so at the place itself, not at what stood in its place.
   */
  require(mark: string): void
  /** Where file systems are mounted below it, but those that the system mounts by itself: absolute. Throws system errors. */
  mountedBelow(): string[]
}

/** A store whose folders are places. */
export interface Places {
  /**
   * The folder of a migration in a source.
   * @param of `isWhole`: the mounts of all of the store count, as links that are followed lead there
   */
  asSource(of: {
    readonly root: StorePath
    readonly isWhole: boolean
    readonly leavesOut: LeavesOut | undefined
  }): Place
  /** The root of a target: mounts below it do not count. */
  asTarget(): Place
}
