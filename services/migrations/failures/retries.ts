import type { FailureClass } from '../../../subjects/migrations/model/failure-classes.ts'
import type { StorePath } from '../../drivers/contract/driver.ts'
import { nameOf, parentOf } from '../../drivers/paths/path-text.ts'
import { pathFromText } from '../../drivers/paths/path-text.ts'
import { type ChangedFolder, encodeItem, startRegion } from '../../engine/items/items.ts'
import { relativePath } from '../../engine/items/paths.ts'
import type { ExcludedFailures } from './excluded-failures.ts'
import { type FailureLedger, pathOfFailure, type RecordedFailure } from './failures.ts'

/** Which failures are to be tried again. */
export interface Retry {
  /** Id of the last one; what failed later is left for another time. */
  readonly upTo: number
  /** Default: all. */
  readonly failureClass?: FailureClass
}

/** A failure as an item of work. */
export interface RetryItem {
  readonly lane: 'region' | 'transfer'
  readonly item: Uint8Array
  /** Of the failure in its ledger. */
  readonly sequence: number
}

/** Where they belong. */
interface RetriedMigration {
  readonly workId: string
  /** Path of the migration in its source. */
  readonly root: StorePath
  readonly isLive: boolean
}

/** Failures read, and items put into the queue, at once. */
const pageLength = 500

/** The failures that are meant and can be tried again, a page at a time. */
async function* matching(
  failures: FailureLedger,
  workId: string,
  { upTo, failureClass }: Retry,
  excluded: ExcludedFailures,
): AsyncGenerator<{ sequence: number; entry: RecordedFailure }[]> {
  for (let after = 0, more = true; more && after < upTo;) {
    const page = await failures.page(workId, { after, limit: pageLength })
    more = page.length === pageLength
    after = page.at(-1)?.sequence ?? after
    const meant = page.filter(
      ({ sequence, entry }) =>
        sequence <= upTo &&
        (failureClass === undefined || entry.failure === failureClass) &&
        // Names that no path can have stay in the list: there is nothing to be asked for.
        pathOfFailure(entry.path) !== undefined,
    )
    // Who copies a file by its path asks no rules.
    const left = await excluded(meant)
    yield meant.filter(({ sequence }) => !left.has(sequence))
  }
}

/** The failures of a class, or of all, that can be tried again: how many, and the last one's id. */
export async function countRetries(
  failures: FailureLedger,
  workId: string,
  failureClass: FailureClass | undefined,
  excluded: ExcludedFailures,
): Promise<{ count: number; upTo: number }> {
  let count = 0
  let last = 0
  const all = { upTo: Number.MAX_SAFE_INTEGER, ...(failureClass === undefined ? {} : { failureClass }) }
  for await (const page of matching(failures, workId, all, excluded)) {
    count += page.length
    last = page.at(-1)?.sequence ?? last
  }
  return { count, upTo: last }
}

/**
 * The items that try failures again, a page at a time. In a live migration a path is compared with all that is below it: what
 * failed may have been its removal.
 */
export async function* retryItems(
  failures: FailureLedger,
  { workId, root, isLive }: RetriedMigration,
  retry: Retry,
  excluded: ExcludedFailures,
): AsyncGenerator<RetryItem[]> {
  for await (const page of matching(failures, workId, retry, excluded)) {
    yield page.map(({ sequence, entry: { path, isFolder, foundBytes } }) => {
      const relative = relativePath(root, pathFromText(path))
      const isListed = isFolder === true || relative.length === 0
      if (isLive) return { lane: 'region', item: comparison(relative, isListed), sequence }
      return isListed
        ? { lane: 'region', item: startRegion(relative), sequence }
        : { lane: 'transfer', item: fileItem(relative, foundBytes), sequence }
    })
  }
}

/** As a second try: the folders above are made where they are missing. What stands there now, a look at it will tell. */
const fileItem = (path: Buffer, foundBytes: number | undefined): Uint8Array =>
  encodeItem({
    kind: 'transfer',
    attempt: 2,
    notBeforeMs: 0,
    groups: [
      {
        folder: parentOf(path),
        files: [],
        others: [nameOf(path)],
        ...(foundBytes === undefined ? {} : { sizes: [foundBytes] }),
      },
    ],
  })

/** A folder that could not be listed, with all that is below it; or what may be gone, as a name that was told. */
const comparison = (path: Buffer, isListed: boolean): Uint8Array => {
  const group: ChangedFolder = isListed
    ? { folder: path, names: [], trees: [], scope: 'tree' }
    : { folder: parentOf(path), names: [], trees: [nameOf(path)], scope: 'names' }
  return encodeItem({ kind: 'reconcile', attempt: 1, notBeforeMs: 0, groups: [group] })
}

/**
 * Ids of messages with items that try a failure again: they carry its sequence, so that it leaves the ledger when what
 * became of it is known, however often it is deferred. What comes after it tells tries of the same failure apart: which
 * asked for it, or which item has put it off.
 */
const retryPattern = /^failure\.(\d{1,16})(?:\.|$)/
export const retryMessageId = (sequence: number, after: number | string): string =>
  `failure.${sequence}.${after}`
export function retriedFailure(messageId: string): number | undefined {
  const match = retryPattern.exec(messageId)
  return match === null ? undefined : Number(match[1])
}

/** Sequence of the item that made the one with this message id, which it begins with; NaN where no item did. */
export function makerOf(messageId: string): number {
  const [first, ...rest] = messageId.split('.')
  const maker = first === 'failure' ? rest[1] : rest.length > 0 ? first : undefined
  return maker === undefined || maker === '' ? Number.NaN : Number(maker)
}
