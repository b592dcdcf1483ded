import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  changed,
  commonDigest,
  type DigestKind,
  digestNames,
  type Entry,
  type ReadableKind,
  readableDigest,
  type SourceFile,
  type StorePath,
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
 * Compares the content of two files of the same size, and reads no more than it must: nothing when both stores keep a
 * digest, one file when one of them does, else both up to the first difference. Each byte that is read is paid for. Throws
 * StoreErrors; the target's say that they are.
 */
export async function compareContent(
  run: Run,
  { source, target, at, there }: Both,
  { chunkBytes, same, versions }: ContentOptions,
): Promise<ContentComparison> {
  const { sizeBytes } = source
  if (sizeBytes === 0) return { difference: undefined, bytesRead: 0 }
  const common = commonDigest(source.digests, target.digests)
  if (common !== undefined)
    return { difference: digestDifference(common.kind, ...common.values), bytesRead: 0 }
  const { signal } = run.stop
  const open = {
    source: () => ofVersion(openSource(run, at), versions?.source),
    target: () => atTarget(ofVersion(run.target.open(there, { signal }), versions?.target)),
  }
  const targets = readableDigest(target.digests)
  const sources = targets === undefined ? readableDigest(source.digests) : undefined
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
