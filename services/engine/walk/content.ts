import { createHash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  commonDigest,
  type DigestKind,
  digestNames,
  readableDigest,
  type SourceFile,
  type StorePath,
} from '../../drivers/contract/driver.ts'
import { linksOf } from '../run/metadata.ts'
import { atTarget, type Run } from '../run/run.ts'
import type { Both } from './differences.ts'

/** Read at once from each store, where no limit is lower. */
const chunkBytes = 1024 * 1024

/** What a comparison of content came to. */
export interface ContentComparison {
  /** What is different, for a person; undefined when nothing is. */
  readonly difference: string | undefined
  readonly bytesRead: number
}

/**
 * Compares the content of two files of the same size, and reads no more than it must: nothing when both stores keep a
 * digest, one file when one of them does, else both up to the first difference. Each byte that is read is paid for. Throws
 * StoreErrors.
 */
export async function compareContent(
  run: Run,
  { source, target, at, there }: Both,
): Promise<ContentComparison> {
  const { sizeBytes } = source
  if (sizeBytes === 0) return { difference: undefined, bytesRead: 0 }
  const common = commonDigest(source.digests, target.digests)
  if (common !== undefined)
    return { difference: digestDifference(common.kind, ...common.values), bytesRead: 0 }
  const targets = readableDigest(target.digests)
  if (targets !== undefined) {
    const { kind, value } = targets
    const own = await withFile(fromSource(run, at), (file) => digestOf(run, file, kind))
    return { difference: digestDifference(kind, own, value), bytesRead: sizeBytes }
  }
  const sources = readableDigest(source.digests)
  if (sources !== undefined) {
    const { kind, value } = sources
    const own = await atTarget(withFile(run.target.open(there), (file) => digestOf(run, file, kind)))
    return { difference: digestDifference(kind, value, own), bytesRead: sizeBytes }
  }
  return withFile(fromSource(run, at), (from) =>
    withFile(run.target.open(there), (to) => compareBytes(run, from, to)),
  )
}

/** Compares where two symbolic links lead. Throws StoreErrors. */
export async function compareLinks(run: Run, { at, there }: Both): Promise<ContentComparison> {
  await run.pace.pay(0)
  const [source, target] = await Promise.all([
    run.source.readLink?.(at),
    run.target.readLink === undefined ? undefined : atTarget(run.target.readLink(there)),
  ])
  const isSame = source !== undefined && target !== undefined && source.equals(target)
  return { difference: isSame ? undefined : 'the link leads elsewhere', bytesRead: 0 }
}

const digestDifference = (kind: DigestKind, source: string, target: string): string | undefined =>
  source === target ? undefined : `${digestNames[kind]} ${source} at the source, ${target} at the target`

const fromSource = ({ source, spec }: Run, at: StorePath): Promise<SourceFile> =>
  source.open(at, { follow: linksOf(spec) === 'follow' })

async function withFile<T>(opened: Promise<SourceFile>, work: (file: SourceFile) => Promise<T>): Promise<T> {
  const file = await opened
  try {
    return await work(file)
  } finally {
    await file.close()
  }
}

async function digestOf(run: Run, file: SourceFile, kind: DigestKind): Promise<string> {
  const hash = createHash(kind)
  for (let offset = 0; offset < file.sizeBytes;) {
    run.stop.check()
    const length = Math.min(run.pace.pieceBytes(chunkBytes), file.sizeBytes - offset)
    await run.pace.pay(length)
    hash.update(await file.read(offset, length))
    offset += length
    await nextTurn()
  }
  return hash.digest('base64')
}

async function compareBytes(run: Run, from: SourceFile, to: SourceFile): Promise<ContentComparison> {
  const sizeBytes = Math.min(from.sizeBytes, to.sizeBytes)
  for (let offset = 0; offset < sizeBytes;) {
    run.stop.check()
    const length = Math.min(run.pace.pieceBytes(chunkBytes), sizeBytes - offset)
    await run.pace.pay(length)
    await run.pace.pay(length)
    const [source, target] = await Promise.all([from.read(offset, length), atTarget(to.read(offset, length))])
    if (!source.equals(target)) {
      const at = offset + firstDifference(source, target)
      return { difference: `other content from byte ${at} on`, bytesRead: 2 * (offset + length) }
    }
    offset += length
    await nextTurn()
  }
  const difference = from.sizeBytes === to.sizeBytes ? undefined : 'the size has changed meanwhile'
  return { difference, bytesRead: 2 * sizeBytes }
}

const firstDifference = (one: Buffer, other: Buffer): number =>
  one.findIndex((byte, at) => byte !== other[at])
