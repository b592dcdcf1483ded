import { type Static, Type } from 'typebox'
import { list, maxTextLength, Path, strict } from '../../../subjects/kit/schemas.ts'
import { shortened } from '../../../subjects/kit/shortened.ts'
import { maxMounts } from '../../drivers/contract/place.ts'

/** Which folder of which file system a folder is; as drivers have it (`FolderIdentity`). */
export const FolderIdentity = strict({
  /** Kind of file system, as the system calls it; empty where it does not tell. */
  type: Type.String({ maxLength: 100 }),
  /** UUID of the file system, or the share of another host. */
  fileSystem: Type.Optional(Type.String({ maxLength: 4096 })),
  inode: Type.Optional(Type.String({ maxLength: 20 })),
  /** When the folder was made, in nanoseconds since 1970. */
  born: Type.Optional(Type.String({ maxLength: 20 })),
})
export type FolderIdentity = Static<typeof FolderIdentity>

/** Which folder a source is, and which file systems are mounted below it; as drivers have it (`PlaceIdentity`). */
export const SourceIdentity = strict({
  root: FolderIdentity,
  mounts: list(
    strict({ path: Path('Below the folder that the mounts count for'), is: FolderIdentity }),
    maxMounts,
  ),
})
export type SourceIdentity = Static<typeof SourceIdentity>

/** Which store a source is; as drivers have it (`StoreIdentity`). */
export const StoredIdentity = strict({
  version: Type.String({ maxLength: 200 }),
  changed: Type.String({ maxLength: 100 }),
  witnesses: list(
    strict({ file: Type.String({ maxLength: maxTextLength }), created: Type.String({ maxLength: 100 }) }),
    100,
  ),
})

/** What a record knows of what its source is. */
export interface SourceIs {
  readonly sourceIdentity?: SourceIdentity
  readonly storeIdentity?: Static<typeof StoredIdentity>
}

/** Whether they can be the same folder: what one of them does not know says nothing. */
export const isSame = (was: FolderIdentity, is: FolderIdentity): boolean =>
  (was.type === '' || is.type === '' || was.type === is.type) &&
  (['fileSystem', 'inode', 'born'] as const).every(
    (name) => was[name] === undefined || is[name] === undefined || was[name] === is[name],
  )

/**
 * What has been replaced at a source, in words; undefined when all that was there is there.
 * @param folder its name
 */
export function differenceOf(
  folder: string,
  was: SourceIdentity,
  is: SourceIdentity | undefined,
): string | undefined {
  const its = `its folder ${folder}`
  if (is === undefined) return `${its} does not exist`
  if (!isSame(was.root, is.root)) return `${its} is a different folder: ${wasAndIs(was.root, is.root)}`
  const now = new Map(is.mounts.map((mount) => [mount.path, mount.is]))
  for (const { path, is: before } of was.mounts) {
    const mounted = now.get(path)
    if (mounted === undefined) return `nothing is mounted at ${path}; it was ${inWords(before)}`
    if (!isSame(before, mounted))
      return `a different file system is mounted at ${path}: ${wasAndIs(before, mounted)}`
  }
  return undefined
}

/** Mounts that were not there. */
export function newMounts(was: SourceIdentity, is: SourceIdentity): SourceIdentity['mounts'] {
  const before = new Set(was.mounts.map(({ path }) => path))
  return is.mounts.filter(({ path }) => !before.has(path))
}

export const inWords = ({ type, fileSystem, inode, born }: FolderIdentity): string =>
  [
    type === '' ? 'a folder' : `${type}${fileSystem === undefined ? '' : ` ${fileSystem}`}`,
    ...(inode === undefined ? [] : [`inode ${inode}`]),
    ...(born === undefined ? [] : [`created ${new Date(Number(BigInt(born) / 1_000_000n)).toISOString()}`]),
  ].join(', ')

/** What the source of a migration is, in words; it may have more mounts than there is room for. */
export function sourceInWords({ sourceIdentity, storeIdentity }: SourceIs): string {
  if (storeIdentity !== undefined)
    return `a container that was created or whose properties were changed at ${storeIdentity.changed}`
  if (sourceIdentity === undefined) return 'unknown'
  const { root, mounts } = sourceIdentity
  const mounted = mounts.map(({ path, is }) => `${inWords(is)} mounted at ${path}`)
  return shortened([inWords(root), ...mounted].join('; '), maxTextLength)
}

const wasAndIs = (was: FolderIdentity, is: FolderIdentity): string =>
  `it was ${inWords(was)}; it is ${inWords(is)}`
