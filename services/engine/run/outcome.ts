import type { Deferral } from '../../../subjects/migrations/model/condition-terms.ts'
import { shortened } from '../../../subjects/kit/shortened.ts'
import { saidOf, type StoreError, storeError, type StorePath } from '../../drivers/contract/driver.ts'
import { noCounts, type Failure, type ItemResult } from './counts.ts'
import { encodeItem, type Item } from '../items/items.ts'
import { textFromPath } from '../items/paths.ts'
import { backoffMs, isOutage, isWorthRetry } from './retry.ts'

/** A store's message can hold whatever its server said; nobody reads more. */
const maxMessageLength = 1_000

/** A file or link as it was found. */
export interface FoundFile {
  /** Undefined where nobody knows any more. */
  readonly sizeBytes: number | undefined
}

/** What came of an item so far: counts, failures, and when the rest is to be tried again. */
export class Outcome {
  readonly counts = noCounts()
  readonly #failures: Failure[] = []
  readonly #attempt: number
  #waitMs = 0
  #deferral: Deferral | undefined

  constructor(attempt: number) {
    this.#attempt = attempt
  }

  /**
   * Takes note of what went wrong with a path; true when the path belongs into another try.
   * @param path in the store, for the ledger
   * @param type what was to be done: list a folder, compare what is there with all that is below it, or anything else
   * @param found of what is among the files that were found
   */
  failed(
    path: StorePath,
    error: unknown,
    type: 'file' | 'folder' | 'tree' = 'file',
    found?: FoundFile,
  ): boolean {
    const known = storeError(error)
    if (this.#putsOff(path, known)) return true
    this.failedForGood(path, known, type, found)
    return false
  }

  /**
   * The same of a folder that lacks its time: it is there with all that is in it, so in the end that is no failure, but
   * counted.
   */
  unfinished(path: StorePath, error: StoreError): boolean {
    if (this.#putsOff(path, error)) return true
    this.counts.timesNotKept++
    return false
  }

  #putsOff(path: StorePath, error: StoreError): boolean {
    if (!isWorthRetry(error, this.#attempt)) return false
    this.#waitMs = Math.max(this.#waitMs, backoffMs(this.#attempt, error.retryAfterMs))
    const message = shortened(`${textFromPath(path)}: ${saidOn(error)}`, maxMessageLength)
    this.#deferral = { reason: reasonOf(error), message }
    this.counts.pathsRequeued++
    return true
  }

  /** Takes note of what will not be tried again. */
  failedForGood(
    path: StorePath,
    error: unknown,
    type: 'file' | 'folder' | 'tree' = 'file',
    found?: FoundFile,
  ): void {
    const known = storeError(error)
    const message = shortened(saidOn(known), maxMessageLength)
    this.#failures.push({
      path: textFromPath(path),
      failure: known.failure,
      message,
      attempts: this.#attempt,
      ...(type === 'folder' ? { isFolder: true } : {}),
      ...(type === 'tree' ? { isTree: true } : {}),
      ...(known.isRemoval ? { isRemoval: true } : {}),
      ...(found?.sizeBytes === undefined ? {} : { foundBytes: found.sizeBytes }),
    })
    this.counts.failures++
    if (found === undefined) return
    this.counts.filesFailed++
    this.counts.bytesFailed += found.sizeBytes ?? 0
  }

  /** The head of an item of what is to be tried again; undefined when nothing is. */
  get next(): { readonly attempt: number; readonly notBeforeMs: number } | undefined {
    if (this.#deferral === undefined) return undefined
    return { attempt: this.#attempt + 1, notBeforeMs: Date.now() + this.#waitMs }
  }

  /** The last of the reasons for another try, with its path. */
  get deferral(): Deferral | undefined {
    return this.#deferral
  }

  /** @param again what is to be tried again, as the next attempt's item; undefined when nothing is */
  result(again: Item | undefined): ItemResult {
    const result = { counts: this.counts, failures: this.#failures }
    if (again === undefined) return result
    const notBeforeMs = Date.now() + this.#waitMs
    const retry = encodeItem({ ...again, attempt: this.#attempt + 1, notBeforeMs })
    return { ...result, retry, ...(this.#deferral === undefined ? {} : { deferral: this.#deferral }) }
  }
}

/**
 * What is told of the failure of a path: on which side it was, and what went wrong. Whoever writes marks what the target
 * says; all else is the source's.
 */
export const saidOn = ({ side = 'source', message }: StoreError): string => saidOf(side, message)

/** Whether a store is the reason, or one path. */
function reasonOf(error: StoreError): Deferral['reason'] {
  if (!isOutage(error)) return 'TRYING_AGAIN'
  const how =
    error.failure === 'unreachable' ? 'UNREACHABLE' : error.failure === 'throttled' ? 'THROTTLED' : 'REFUSES'
  return error.isTargets ? `TARGET_${how}` : `SOURCE_${how}`
}
