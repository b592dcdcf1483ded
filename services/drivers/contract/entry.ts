import type { Digests } from './digests.ts'

export type { StorePath } from '../paths/path-text.ts'

/** Numbers of the user and the group that something belongs to. */
export interface Owner {
  readonly uid: number
  readonly gid: number
}

/** Names of the user and the group that something belongs to, in a store that knows names. */
export interface OwnerNames {
  readonly user: string
  readonly group: string
}

/** What stands at a path. */
export interface Entry {
  /** Last segment of the path, as bytes. */
  readonly name: Buffer
  readonly type: 'file' | 'folder' | 'symlink' | 'other'
  /** 0 for anything but a file. */
  readonly sizeBytes: number
  /** Milliseconds since 1970 with fraction, below 0 before it, as exact as the store gives it; where it gives one. */
  readonly modifiedMs?: number
  /** POSIX permission bits, where the store has them. */
  readonly mode?: number
  readonly owner?: Owner
  readonly ownerNames?: OwnerNames
  /** Names that a file has in its store (hard links), where these are several. */
  readonly nameCount?: number
  /** Of the content, where the store keeps some. */
  readonly digests?: Digests
  /** When the store made it, whatever name it had then: milliseconds since 1970 by this host's clock, where the store knows. */
  readonly createdMs?: number
  /** When the store last took content for it, whatever `modifiedMs` says; where that is known and later than `createdMs`. */
  readonly writtenMs?: number
  /** When anything about it was changed last, its name too: what nobody can set. Where the store knows that. */
  readonly changedMs?: number
}

/** File systems that keep no more than whole seconds, as ext3, or every other one, as FAT: two changes within so long have one time. */
export const coarseTickMs = 2_000

/**
 * Within so long of a change, in milliseconds, another one may have the same time.
 * @param timeMs of the change; one in whole seconds may be of a file system that has no others
 * @param tickMs of the store's clock
 */
export const tickAt = (timeMs: number, tickMs: number): number =>
  timeMs % 1_000 === 0 ? Math.max(tickMs, coarseTickMs) : tickMs

/** When an entry was changed, as rules mean it: where a listing does not tell, when the store made it. */
export const timeOf = ({
  modifiedMs,
  createdMs,
}: Pick<Entry, 'modifiedMs' | 'createdMs'>): number | undefined => modifiedMs ?? createdMs

/** An extended attribute: the bytes of its name as Latin-1 text, and its value. */
export interface ExtendedAttribute {
  readonly name: string
  readonly value: Uint8Array
}

/** What of the metadata of a file or folder is carried to the target, as far as the target can hold it. */
export interface FileAttributes {
  /** As that of an entry. */
  readonly modifiedMs?: number
  readonly mode?: number
  /** Where the store has owners; of names the numbers that they have on this host. */
  readonly owner?: Owner
  /** Where the store knows them by name. A store that does takes these, any other the numbers. */
  readonly ownerNames?: OwnerNames
  /** POSIX access control lists are among them. Only where they were asked for; `isComplete`: all could be read. */
  readonly extended?: { readonly all: readonly ExtendedAttribute[]; readonly isComplete: boolean }
  /** Of a file, in a store where each says it; asked for with `extended`. Nothing of it is lost in a store that has no such. */
  readonly layout?: FileLayout
}

/** How the content of a file is kept. */
export interface FileLayout {
  readonly replication: number
  readonly blockBytes: number
}

/** What of its attributes something does not have at the target, though all the rest arrived. */
export type Loss = 'time' | 'mode' | 'owner' | 'attributes'
export type Losses = readonly Loss[]
export const nothingLost: Losses = []

/** How something of the source is read. */
export interface ReadOptions {
  /** Whether extended attributes are wanted, which costs system calls. */
  readonly extended?: boolean
  /** Whether a symbolic link is followed, as long as it leads to something inside of the root. */
  readonly follow?: boolean
  /** Whether content is read later or not at all: a store that sends the first bytes with its answer leaves them out. */
  readonly contentLater?: boolean
  /** When it is aborted, what was asked for ends at once; of a file that is opened also what is asked of it later. */
  readonly signal?: AbortSignal | undefined
}

/** A file that is to be written in parts. */
export interface NewFile {
  readonly sizeBytes: number
  /** Makes temporary names findable. */
  readonly tag: string
  /** What it gets. The same are given to `commitUpload`: stores take them at one of the two. */
  readonly attributes: FileAttributes
}

/** A file that is being written in parts; plain data, so that any process can write a part. */
export interface Upload {
  /** Opaque: the engine stores it, and hands it back. */
  readonly token: string
  readonly sizeBytes: number
  /** Indices of parts that need not be written: a killed process had written and verified them. */
  readonly written?: readonly number[]
}

/** Lets an upload go on where that of a killed process ended. */
export interface Continuation {
  /** Version of the source's file: parts of any other are not used. */
  readonly version: string
  /** Threads of this process that live, when there may be such an upload; without, none is looked for where that costs. */
  readonly liveThreads?: readonly number[] | undefined
  /**
   * Several processes, on any hosts, write its parts: whoever begins it, or begins it once more, gets the same upload, until
   * it is committed or aborted.
   */
  readonly shared?: {
    /** What was begun under another one nobody goes on with. */
    readonly generation: number
  }
}
