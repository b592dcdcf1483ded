import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  changed,
  commonDigest,
  type DigestKind,
  digestKinds,
  digestNames,
  type Digests,
  type Driver,
  type Entry,
  type ReadableKind,
  readableDigest,
  readableKinds,
  type SourceFile,
  type StorePath,
  tellsApart,
} from '../../drivers/contract/driver.ts'
import { startDigest } from '../../drivers/digests/running-digest.ts'
import { linksOf } from '../run/metadata.ts'
import { atTarget, type Run } from '../run/run.ts'

/** What stands on both sides, of the same type. */
export interface Both {
  readonly source: Entry
  readonly target: Entry
  /** Path in the source. */
  readonly at: StorePath
  /** Path at the target. */
  readonly there: StorePath
}

export interface ContentOptions {
  /** Bytes that are read at once from each store, where no limit is lower. */
  readonly chunkBytes: number
  /** Called for a source's file that was read, before it is closed, when nothing is different. */
  readonly same?: (file: SourceFile) => Promise<void>
  /** That the two are to be of, where it is known: what else is read is `changed`, as a cache may have one of before at hand. */
  readonly versions?: Versions
}

/** Versions of what stands on both sides. */
export type Versions = Readonly<Record<'source' | 'target', string>>

/** What a comparison of content came to. */
export interface ContentComparison {
  /** What is different, for a person; undefined when nothing is. */
  readonly difference: string | undefined
  readonly bytesRead: number
}

/**
 * Compares the content of two files of the same size, and reads no more than it must: nothing when both stores have a
 * digest of one kind, one file when one of them has one, else both up to the first difference. Each byte that is read is paid for. Throws
 * StoreErrors; the target's say that they are.
 */
export async function compareContent(
  run: Run,
  { source, target, at, there }: Both,
  { chunkBytes, same, versions }: ContentOptions,
): Promise<ContentComparison> {
  const { sizeBytes } = source
  if (sizeBytes === 0) return { difference: undefined, bytesRead: 0 }
  const digests = await digestsOfBoth(run, { source, target, at, there }, versions)
  const common = commonDigest(digests.source, digests.target)
  const difference = common && digestDifference(common.kind, ...common.values)
  if (common !== undefined && (difference === undefined || tellsApart(common.kind)))
    return { difference, bytesRead: 0 }
  const { signal } = run.stop
  const open = {
    source: () => ofVersion(openSource(run, at), versions?.source),
    target: () => atTarget(ofVersion(run.target.open(there, { signal }), versions?.target)),
  }
  const targets = readableDigest(digests.target)
  const sources = targets === undefined ? readableDigest(digests.source) : undefined
  const known = targets ?? sources
  if (known !== undefined) {
    const side = known === targets ? 'source' : 'target'
    return withFile(open[side](), async (file) => {
      const own = await digestOf(run, side, file, { kind: known.kind, chunkBytes })
      const values: [string, string] = side === 'source' ? [own, known.value] : [known.value, own]
      const difference = digestDifference(known.kind, ...values)
      if (difference === undefined && side === 'source') await same?.(file)
      return { difference, bytesRead: file.sizeBytes }
    })
  }
  return withFile(open.source(), (from) =>
    withFile(open.target(), async (to) => {
      const compared = await compareBytes(run, from, to, chunkBytes)
      if (compared.difference === undefined) await same?.(from)
      return compared
    }),
  )
}

/**
 * Digests of both sides: those that the stores tell with all else, and where these have no kind in common, what the stores make
 * when they are asked. Throws StoreErrors, `changed` for what is of another version.
 */
async function digestsOfBoth(
  run: Run,
  { source, target, at, there }: Both,
  versions: Versions | undefined,
): Promise<{ readonly source: Digests | undefined; readonly target: Digests | undefined }> {
  if (commonDigest(source.digests, target.digests) !== undefined)
    return { source: source.digests, target: target.digests }
  const [its, itsThere] = await Promise.all([
    made(run, run.source, at, useful(run.target, target), versions?.source),
    atTarget(made(run, run.target, there, useful(run.source, source), versions?.target)),
  ])
  return { source: { ...source.digests, ...its }, target: { ...target.digests, ...itsThere } }
}

/** Kinds of digests with which something can be compared: with what is told of it, is made of it, or is read. */
const useful = (driver: Driver, { digests = {} }: Entry): readonly DigestKind[] => {
  if (driver.digestsOf !== undefined) return digestKinds
  const told = digestKinds.filter((kind) => digests[kind] !== undefined)
  return told.length === 0 ? readableKinds : told
}

async function made(
  { stop }: Run,
  driver: Driver,
  path: StorePath,
  kinds: readonly DigestKind[],
  version: string | undefined,
): Promise<Digests | undefined> {
  const found = await driver.digestsOf?.(path, kinds, stop.signal)
  if (version !== undefined && found !== undefined && found.version !== version) throw changed()
  return found?.digests
}

/** Whether two symbolic links lead to the same place, by the bytes that they hold. Throws StoreErrors. */
export async function isSameLink({ source, target }: Run, at: StorePath, there: StorePath): Promise<boolean> {
  if (source.readLink === undefined || target.readLink === undefined) return false
  const [link, its] = await Promise.all([source.readLink(at), atTarget(target.readLink(there))])
  return link.equals(its)
}

const digestDifference = (kind: DigestKind, source: string, target: string): string | undefined =>
  source === target ? undefined : `${digestNames[kind]} ${source} at the source, ${target} at the target`

const openSource = ({ source, spec, stop }: Run, at: StorePath): Promise<SourceFile> =>
  source.open(at, { follow: linksOf(spec) === 'follow', signal: stop.signal })

/** A file, closed again where it is of another version. Throws `changed` then. */
async function ofVersion(opened: Promise<SourceFile>, version: string | undefined): Promise<SourceFile> {
  const file = await opened
  if (version === undefined || file.version === version) return file
  await file.close()
  throw changed()
}

async function withFile<T>(opened: Promise<SourceFile>, work: (file: SourceFile) => Promise<T>): Promise<T> {
  const file = await opened
  try {
    return await work(file)
  } finally {
    await file.close()
  }
}

async function digestOf(
  run: Run,
  side: 'source' | 'target',
  file: SourceFile,
  { kind, chunkBytes }: { readonly kind: ReadableKind; readonly chunkBytes: number },
): Promise<string> {
  const digest = await startDigest(kind)
  await eachChunk(run, file.sizeBytes, chunkBytes, async (offset, length) => {
    await run.pace.pay(length)
    const chunk = file.read(offset, length)
    digest.update(await (side === 'target' ? atTarget(chunk) : chunk))
    return true
  })
  return digest.end()
}

async function compareBytes(
  run: Run,
  from: SourceFile,
  to: SourceFile,
  chunkBytes: number,
): Promise<ContentComparison> {
  if (from.sizeBytes !== to.sizeBytes) return { difference: 'the size has changed meanwhile', bytesRead: 0 }
  let difference: string | undefined
  const endsAt = await eachChunk(run, from.sizeBytes, chunkBytes, async (offset, length) => {
    await run.pace.pay(length)
    await run.pace.pay(length)
    // A buffer is valid until the next read of the same file.
    const [source, target] = await Promise.all([from.read(offset, length), atTarget(to.read(offset, length))])
    if (source.equals(target)) return true
    difference = `other content from byte ${offset + firstDifference(source, target)} on`
    return false
  })
  return { difference, bytesRead: 2 * endsAt }
}

const firstDifference = (one: Buffer, other: Buffer): number =>
  one.findIndex((byte, at) => byte !== other[at])

/** Goes through a file until a chunk is not as it should be. Returns how far it came. */
async function eachChunk(
  { stop, pace }: Run,
  sizeBytes: number,
  chunkBytes: number,
  isRight: (offset: number, length: number) => Promise<boolean>,
): Promise<number> {
  let offset = 0
  while (offset < sizeBytes) {
    stop.check()
    const length = Math.min(pace.pieceBytes(chunkBytes), sizeBytes - offset)
    const goesOn = await isRight(offset, length)
    offset += length
    if (!goesOn) break
    // Local reads are synchronous: the thread's other job should have its turn.
    await nextTurn()
  }
  return offset
}
