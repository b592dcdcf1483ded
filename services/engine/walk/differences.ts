import type { Entry, ExtendedAttribute, FileAttributes } from '../../drivers/contract/driver.ts'
import { defaultMetadata } from '../../../subjects/migrations/model/terms.ts'
import {
  type Both,
  compareContent,
  type ContentComparison,
  isSameLink,
  type Versions,
} from '../compare/content.ts'
import { attributesDifferBy, isSameTime } from '../compare/entries.ts'
import { linksOf } from '../run/metadata.ts'
import { atTarget, grainMsOf, readOptionsOf, type Run } from '../run/run.ts'

/**
 * Read at once from each store, where no limit is lower: a thread compares as many files as a network store wants in as many
 * folders.
 */
const chunkBytes = 1024 * 1024

/**
 * Compares the content of two files or links of the same size, and pays for what it asks. Throws StoreErrors.
 * @param versions see `ContentOptions`
 */
export async function contentDifference(
  run: Run,
  both: Both,
  versions?: Versions,
): Promise<ContentComparison> {
  if (both.source.type === 'file')
    return compareContent(run, both, { chunkBytes, ...(versions && { versions }) })
  await run.pace.pay(0)
  const isSame = await isSameLink(run, both.at, both.there)
  return { difference: isSame ? undefined : 'the link leads elsewhere', bytesRead: 0 }
}

type Timed = Pick<Entry, 'modifiedMs'>

/** The types of two entries, for a person. */
export const typesText = (source: Entry, target: Entry): string =>
  `${source.type} at the source, ${target.type} at the target`

/** The sizes of two files, for a person. */
export const sizesText = (source: Entry, target: Entry): string =>
  `${source.sizeBytes} bytes at the source, ${target.sizeBytes} at the target`

/** When two entries were changed last, for a person. */
export const timesText = (source: Entry, target: Entry): string => {
  const { source: one, target: other } = momentsOf(source, target)
  return `${one} at the source, ${other} at the target`
}

/** When each of two was changed last, for a person: to a microsecond where they would read the same although they differ. */
export function momentsOf(
  source: Timed | undefined,
  target: Timed | undefined,
): Readonly<Record<'source' | 'target', string | undefined>> {
  const moments = { source: momentOf(source), target: momentOf(target) }
  const differ = source !== undefined && target !== undefined && isSameTime(source, target) === false
  if (!differ || moments.source !== moments.target) return moments
  return { source: exactMomentOf(source), target: exactMomentOf(target) }
}

/** To a microsecond, which is as exact as times are compared. */
function exactMomentOf({ modifiedMs = 0 }: Timed): string {
  const micros = Math.round(modifiedMs * 1_000)
  const ms = Math.floor(micros / 1_000)
  const date = new Date(ms)
  if (Number.isNaN(date.getTime())) return `@${modifiedMs / 1_000}`
  return date.toISOString().replace('Z', `${String(micros - ms * 1_000).padStart(3, '0')}Z`)
}

/** When it was changed last, for a person; undefined where the store gives no time. */
export function momentOf(entry: Timed | undefined): string | undefined {
  if (entry?.modifiedMs === undefined) return undefined
  const date = new Date(entry.modifiedMs)
  // Some file systems have years that no date has: seconds since 1970 then, as `touch -d` takes them.
  return Number.isNaN(date.getTime()) ? `@${entry.modifiedMs / 1_000}` : date.toISOString()
}

/**
 * What of the metadata is different, for a person: of files all but their times, which are a difference of their own; of
 * folders and links the times too. What the migration does not keep, or a store cannot hold, is not missed. Throws
 * StoreErrors.
 */
export async function attributesDifference(run: Run, both: Both): Promise<string | undefined> {
  // The root of a store is its owner's, and is given nothing.
  if (both.at.length === 0 || both.there.length === 0) return undefined
  if (both.source.type === 'symlink') return linkDifference(run, both)
  const { source, target } = both
  if (source.type === 'folder' && keepsFolderTimes(run) && isOtherTime(run, source, target))
    return `time ${timesText(source, target)}`
  const { attributes } = run.spec.metadata ?? defaultMetadata
  return heldDifference(run, source, target) ?? (attributes ? extendedDifference(run, both) : undefined)
}

/** The time of a folder moves at the source with all that is made in it; a store where it does not is not told each time. */
const keepsFolderTimes = ({ spec, target }: Run): boolean =>
  spec.live === undefined || target.capabilities.folderTimesMove

/** A listing tells no more of a link than that it is one. */
async function linkDifference(run: Run, { at, there }: Both): Promise<string | undefined> {
  if (linksOf(run.spec) !== 'keep') return undefined
  await run.pace.pay(0)
  const [source, target] = await Promise.all([
    run.source.stat(at, run.stop.signal),
    atTarget(run.target.stat(there, run.stop.signal)),
  ])
  if (source?.type !== 'symlink' || target?.type !== 'symlink') return 'it has changed meanwhile'
  return isOtherTime(run, source, target)
    ? `time ${timesText(source, target)}`
    : heldDifference(run, source, target)
}

const isOtherTime = (run: Run, source: Entry, target: Entry): boolean =>
  isSameTime(source, target, grainMsOf(run)) === false

function heldDifference(run: Run, source: Entry, target: Entry): string | undefined {
  switch (attributesDifferBy(run, source, target)) {
    case 'mode':
      return `mode ${octal(source)} at the source, ${octal(target)} at the target`
    case 'owner':
      return `owner ${ownerText(source)} at the source, ${ownerText(target)} at the target`
    case undefined:
      return undefined
  }
}

const octal = ({ mode = 0 }: Entry): string => mode.toString(8).padStart(3, '0')

const ownerText = ({ owner, ownerNames }: Entry): string =>
  ownerNames === undefined ? `${owner?.uid}:${owner?.gid}` : `${ownerNames.user}:${ownerNames.group}`

type Extended = NonNullable<FileAttributes['extended']>

/** A store that has no such thing does not answer it. */
async function extendedDifference(run: Run, { at, there }: Both): Promise<string | undefined> {
  await run.pace.pay(0)
  const source = await run.source.attributesOf(at, readOptionsOf(run))
  if (source?.extended === undefined) return undefined
  const target = await atTarget(run.target.attributesOf(there, { extended: true, signal: run.stop.signal }))
  if (target?.extended === undefined) return undefined
  const names = differentNames(source.extended, target.extended)
  return names.length === 0 ? undefined : `extended attributes ${names.join(', ')}`
}

/** Names that are not on both sides with the same value; what could not be read on a side is not missed there. */
function differentNames(source: Extended, target: Extended): string[] {
  const [ours, theirs] = [byName(source.all), byName(target.all)]
  const names = [...new Set([...ours.keys(), ...theirs.keys()])].toSorted()
  return names.filter((name) => {
    const [one, other] = [ours.get(name), theirs.get(name)]
    if (one === undefined) return source.isComplete
    return other === undefined ? target.isComplete : Buffer.compare(one, other) !== 0
  })
}

const byName = (all: readonly ExtendedAttribute[]): Map<string, Uint8Array> =>
  new Map(all.map(({ name, value }) => [name, value]))
