import { StoreError, type StorePath } from '../../drivers/contract/driver.ts'
import { noCounts, type ItemResult } from '../run/counts.ts'
import { encodeItem, maxPartsInItem, type Large, type Parts } from '../items/items.ts'
import type { LargeCopy, PartsOf } from './large-copy.ts'
import { Outcome } from '../run/outcome.ts'
import { storeError } from '../../drivers/contract/store-error.ts'
import { joinPath } from '../items/paths.ts'
import { isWorthRetry } from '../run/retry.ts'
import { directCopy, type MoveSpec, type Run } from '../run/run.ts'

/**
 * A large file that several workers copy. Its parts are items, so that any worker takes them and none is lost with one;
 * the item of the file itself looks at the target from time to time, and commits when all parts are there. Nobody holds
 * it meanwhile: a worker that waited for parts would have no hand free for them.
 */

/** A file of fewer parts one worker has copied before others have begun. */
const minParts = 8
/** Of one item: what a worker moves in some tenths of a second at least, as each item costs messages. */
const minPartsInItem = 4
/** Of one file, so that it does not fill the queue. */
const maxItems = 256
/** Between two looks at what is there. */
const lookMs = 1_000
/**
 * When no part was added for so long, whoever tries next copies the file alone, and finds out why. What a worker had that
 * died is handed out again after 30 seconds, and a part is given up after its fifth try, in less than two minutes.
 */
const stalledMs = 5 * 60_000

/** What others write is of no more use: the file has changed, or they do not write. */
export class SpreadOver extends StoreError {}

/** Whether a file has so many parts that several workers are faster; holes are kept only by who copies it alone. */
export function isWorthSharing(
  run: Run,
  path: StorePath,
  { sizeBytes, partBytes }: { readonly sizeBytes: number; readonly partBytes: number },
): boolean {
  if (sizeBytes <= minParts * partBytes || run.target.capabilities.parts.order === 'sequential') return false
  return directCopy(run)?.hasHoles(path) !== true
}

/** The items of parts that are still to be copied. */
export function partsItems(item: Large, copy: LargeCopy, left: readonly number[]): Uint8Array<ArrayBuffer>[] {
  const { sizeBytes, partBytes, version, upload } = copy
  const perItem = Math.min(
    maxPartsInItem,
    Math.max(minPartsInItem, Math.ceil(sizeBytes / partBytes / maxItems)),
  )
  const items: Parts[] = []
  for (const index of left) {
    const last = items.at(-1)
    if (last !== undefined && last.first + last.count === index && last.count < perItem)
      items[items.length - 1] = { ...last, count: last.count + 1 }
    else {
      const of = { path: item.path, token: upload.token, sizeBytes, partBytes, version }
      items.push({ kind: 'parts', attempt: 1, notBeforeMs: 0, ...of, first: index, count: 1 })
    }
  }
  return items.map(encodeItem)
}

/**
 * What is left of the item of a file whose parts are not all there: to look at it again. Throws SpreadOver when none has
 * come for too long.
 */
export function lookAgain(item: Large, copy: LargeCopy, leftCount: number, nowMs: number): ItemResult {
  const { upload, sizeBytes, partBytes } = copy
  const written = Math.ceil(sizeBytes / partBytes) - leftCount
  const { spread } = item
  const sinceMs = spread?.written === written ? spread.sinceMs : nowMs
  if (nowMs - sinceMs > stalledMs)
    throw new SpreadOver('io', `no part of it has arrived for ${stalledMs / 60_000} minutes`)
  const resumedBytes = spread?.resumedBytes ?? Math.min(written * partBytes, sizeBytes)
  const next: Large = {
    ...item,
    attempt: 1,
    notBeforeMs: nowMs + lookMs,
    spread: { token: upload.token, written, sinceMs, resumedBytes, sizeBytes },
  }
  const counts = { ...noCounts(), bytesShared: spread === undefined ? resumedBytes : 0 }
  return { counts, failures: [], retry: encodeItem(next) }
}

/** Without what others have written of it. */
export const alone = ({ spread: _spread, ...item }: Large): Large => item

/** What is copied, with nothing said of what is there already. */
export const copyOf = (spec: MoveSpec, { token, path, ...rest }: Parts): PartsOf => ({
  path: joinPath(Buffer.from(spec.root), path),
  upload: { token, sizeBytes: rest.sizeBytes },
  sizeBytes: rest.sizeBytes,
  partBytes: rest.partBytes,
  version: rest.version,
  isDirect: false,
  isSequential: false,
  isShared: true,
})

/**
 * Bytes of the parts of an item. They count when nothing is left of it, whoever wrote them and even if they are of no more
 * use: those of all items are then the file, which is what goes off when that is over.
 */
export const bytesOfParts = ({ sizeBytes, partBytes, first, count }: Parts): number =>
  Math.min(sizeBytes, (first + count) * partBytes) - first * partBytes

/** Of the parts of an item, those that are to be copied. */
export function missingOf({ first, count }: Parts, written: readonly number[]): number[] {
  const there = new Set(written)
  return Array.from({ length: count }, (_, index) => first + index).filter((index) => !there.has(index))
}

/**
 * What a failure makes of parts: another try, or nothing. Whoever looks at the file finds out that it has changed or that
 * parts do not come, and it is that item which fails.
 */
export function failedParts(spec: MoveSpec, item: Parts, error: unknown): ItemResult {
  const outcome = new Outcome(item.attempt)
  const known = storeError(error)
  const isOver = known.failure === 'changed' || known.failure === 'gone' || !isWorthRetry(known, item.attempt)
  if (isOver) {
    outcome.counts.bytesShared = bytesOfParts(item)
    return outcome.result(undefined)
  }
  outcome.failed(joinPath(Buffer.from(spec.root), item.path), known)
  return outcome.result(item)
}
