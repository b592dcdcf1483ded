import { StoreError, type Upload } from '../drivers/contract/driver.ts'
import { concurrently } from '../../broker/common/concurrently.ts'
import { countFound, noCounts, type ItemResult } from './run/counts.ts'
import { decodeItem } from './items/item-decode.ts'
import { malformed, type Large } from './items/items.ts'
import type { ItemJob, Reply } from './threads/jobs.ts'
import { failedLarge } from './copy/large.ts'
import { type LargeCopy, type PartsOf, partsLeft, writtenBytes } from './copy/large-copy.ts'
import { MeterView } from './run/meter.ts'
import { isSlow } from './run/pace.ts'
import { failureOf, hasEndedThreads } from './thread-ends.ts'
import { ThreadEnded } from './threads/engine-thread.ts'
import { fullWeight, halfWeight, noWeight, type PoolLog, type ThreadPool } from './threads/pool.ts'
import type { MoveSpec } from './run/run.ts'
import {
  alone,
  bytesOfParts,
  copyOf,
  failedParts,
  lookAgain,
  missingOf,
  partsItems,
  SpreadOver,
} from './copy/spread.ts'

/** A store that does not answer must not hold up the failure of a file; what is left is swept later. */
const abandonTimeoutMs = 10_000

/** Under a limit one part waits while another is moved; more would only wait. */
const slowPartsAtOnce = 2

/** Parts of a file under way in each thread: those that the driver copies itself go one by one, the others wait for the network. */
const partsPerThread = { direct: 2, remote: 4 } as const
/** Parts of one item at once: each worker has two such items for each thread. */
const partsOfItemAtOnce = 2

/**
 * Reason of an abort after which the same items come again, as when the platform stops, or a migration that may be resumed:
 * the parts of large files that are written stay, and are gone on with.
 */
export class ComesAgain extends Error {}

/** Publishes items of parts. Resolves when they are stored. */
export type Share = (parts: readonly Uint8Array[]) => Promise<void>

export interface LargeFilesOptions {
  readonly pool: ThreadPool
  readonly log: PoolLog
}

const comesAgain = (signal: AbortSignal, error: unknown): boolean =>
  signal.reason instanceof ComesAgain || error instanceof ThreadEnded

interface LeftUpload {
  readonly spec: MoveSpec
  readonly upload: Upload
}

const keyOf = ({ id }: MoveSpec, { path }: Large): string => `${id}/${path.toString('latin1')}`

/** How the jobs of one item are run. */
interface JobLimits {
  readonly signal: AbortSignal
  /** Its threads ended before. */
  readonly isAlone: boolean
}

/** Has large files copied in parts: by all threads of this process, or together with other workers. */
export class LargeFiles {
  readonly #pool: ThreadPool
  readonly #log: PoolLog
  /** Begun here, and left with their parts when their work was stopped; by migration and path. */
  readonly #left = new Map<string, LeftUpload>()

  constructor({ pool, log }: LargeFilesOptions) {
    this.#pool = pool
    this.#log = log
  }

  /** As `Mover.transfer`, of the item of a large file. */
  async transfer(job: ItemJob, signal: AbortSignal, share: Share | undefined): Promise<ItemResult> {
    const item = decodeItem(job.item)
    if (item.kind !== 'large') throw malformed(`a ${item.kind}, not a large file`)
    const result = await this.#transfer(job, item, signal, share)
    const { counts } = result
    if (counts.filesMigrated + counts.filesSkipped > 0)
      countFound(counts, item.foundBytes, counts.bytesMigrated + counts.bytesSkipped)
    return result
  }

  async #transfer(
    job: ItemJob,
    item: Large,
    signal: AbortSignal,
    share: Share | undefined,
  ): Promise<ItemResult> {
    const { spec } = job
    const mayShare = item.spread !== undefined || (share !== undefined && isFirstTry(spec, item))
    const isAlone = hasEndedThreads(job.item)
    const key = keyOf(spec, item)
    const left = this.#left.get(key)
    this.#left.delete(key)
    let copy: LargeCopy | undefined
    try {
      const begin = { kind: 'begin', mayShare, takesOver: left !== undefined, ...job } as const
      const begun = await this.#pool.run(begin, { signal, priority: 'files', isAlone })
      if (begun.kind === 'result') {
        if (left !== undefined) await this.#abandon(left.spec, left.upload)
        return begun.result
      }
      if (begun.kind !== 'begun') throw new Error(`a thread answered ${begun.kind} to begin`)
      copy = begun.copy
      if (!copy.isShared) new MeterView(spec.meter).bytes(writtenBytes(copy))
      if (item.spread !== undefined && item.spread.token !== copy.upload.token)
        throw new SpreadOver('changed', 'the file changed while it was copied')
      return await (copy.isShared
        ? this.#look(spec, item, copy, { signal, share, isAlone })
        : this.#copyAll(spec, copy, { signal, isAlone }))
    } catch (error) {
      const crash = error instanceof ThreadEnded ? failureOf(job.item, error) : undefined
      if (crash !== undefined) return this.#failed(spec, item, copy?.upload ?? left?.upload, crash)
      const own = copy === undefined ? left : copy.isShared ? undefined : { spec, upload: copy.upload }
      if (own !== undefined && comesAgain(signal, error)) this.#left.set(key, own)
      if (error instanceof StoreError && !signal.aborted) {
        // What one worker alone had begun it has removed itself.
        const isLeft = copy?.isShared === true || item.spread !== undefined
        return this.#failed(spec, item, isLeft ? copy?.upload : undefined, error)
      }
      throw error
    }
  }

  /** Removes what was left of files of a migration when it was stopped, as nobody will go on with it. */
  forget(id: string): Promise<void> {
    return this.#forget((spec) => spec.id === id)
  }

  /** The same of generations before this one. */
  forgetOlder({ id, generation }: MoveSpec): Promise<void> {
    return this.#forget((spec) => spec.id === id && spec.generation < generation)
  }

  async #forget(isOver: (spec: MoveSpec) => boolean): Promise<void> {
    const over = [...this.#left].filter(([, { spec }]) => isOver(spec))
    for (const [key] of over) this.#left.delete(key)
    await Promise.all(over.map(([, { spec, upload }]) => this.#abandon(spec, upload)))
  }

  /** Commits a file that others copy too when all of its parts are there; else sees to it that somebody copies them. */
  async #look(
    spec: MoveSpec,
    item: Large,
    copy: LargeCopy,
    { signal, share, isAlone }: JobLimits & { readonly share: Share | undefined },
  ): Promise<ItemResult> {
    const left = partsLeft(copy)
    if (left.length > 0) {
      if (item.spread === undefined) await share?.(partsItems(item, copy, left))
      return lookAgain(item, copy, left.length, Date.now())
    }
    const result = resultOf(
      await this.#pool.run({ kind: 'commit', spec, copy }, { signal, priority: 'parts', isAlone }),
    )
    if (item.spread !== undefined) {
      result.counts.bytesResumed = item.spread.resumedBytes
      result.counts.bytesSharedOver = item.spread.sizeBytes
    }
    return result
  }

  /** What others have written is kept as long as it is of use. */
  async #failed(
    spec: MoveSpec,
    item: Large,
    begun: Upload | undefined,
    error: StoreError,
  ): Promise<ItemResult> {
    const { spread } = item
    const isOver = spread === undefined || error instanceof SpreadOver || error.failure === 'changed'
    const result = failedLarge(spec, isOver ? alone(item) : item, error)
    if (spread !== undefined && (isOver || result.retry === undefined))
      result.counts.bytesSharedOver = spread.sizeBytes
    if (isOver || result.retry === undefined) {
      if (begun !== undefined) await this.#abandon(spec, begun)
      if (spread !== undefined && spread.token !== begun?.token)
        await this.#abandon(spec, ofToken(spread.token))
    }
    return result
  }

  /** As `Mover.transfer`, of an item of parts. */
  async copyParts(spec: MoveSpec, bytes: Uint8Array, signal: AbortSignal): Promise<ItemResult> {
    const item = decodeItem(bytes)
    if (item.kind !== 'parts') throw malformed(`a ${item.kind}, not parts of a file`)
    const copy = copyOf(spec, item)
    const isAlone = hasEndedThreads(bytes)
    try {
      const written = { kind: 'written', spec, copy } as const
      const there = await this.#pool.run(written, { signal, priority: 'parts', isAlone })
      if (there.kind !== 'written') throw new Error(`a thread answered ${there.kind} to written`)
      if (there.parts !== undefined)
        await this.#copyEach(spec, copy, missingOf(item, there.parts), {
          signal,
          isAlone,
          weight: weightOf(spec, halfWeight),
          atOnce: partsOfItemAtOnce,
        })
      return { counts: { ...noCounts(), bytesShared: bytesOfParts(item) }, failures: [] }
    } catch (error) {
      const crash = error instanceof ThreadEnded ? failureOf(bytes, error) : undefined
      if (crash !== undefined) return failedParts(spec, item, crash)
      if (error instanceof StoreError && !signal.aborted) return failedParts(spec, item, error)
      throw error
    }
  }

  async #copyEach(
    spec: MoveSpec,
    copy: PartsOf,
    indices: readonly number[],
    { atOnce, ...options }: JobLimits & { readonly weight: number; readonly atOnce: number },
  ): Promise<void> {
    await concurrently(indices, atOnce, async (index) => {
      await this.#pool.run({ kind: 'part', spec, copy, index }, { priority: 'parts', ...options })
    })
  }

  async #copyAll(spec: MoveSpec, copy: LargeCopy, { signal, isAlone }: JobLimits): Promise<ItemResult> {
    const weight = weightOf(spec, copy.isDirect ? fullWeight : halfWeight)
    const inThread = copy.isDirect ? partsPerThread.direct : partsPerThread.remote
    const most = weight === noWeight ? slowPartsAtOnce : this.#pool.size * inThread
    const atOnce = copy.isSequential ? 1 : most
    try {
      await this.#copyEach(spec, copy, partsLeft(copy), { signal, isAlone, weight, atOnce })
      const commit = { kind: 'commit', spec, copy } as const
      return resultOf(await this.#pool.run(commit, { signal, priority: 'parts', isAlone }))
    } catch (error) {
      if (!comesAgain(signal, error)) await this.#abandon(spec, copy.upload)
      throw error
    }
  }

  /** Removes what a large file left behind; the failure that led here is the one that counts. */
  async #abandon(spec: MoveSpec, upload: Upload): Promise<void> {
    const signal = AbortSignal.timeout(abandonTimeoutMs)
    try {
      await this.#pool.run({ kind: 'abandon', spec, upload }, { signal, priority: 'parts', weight: noWeight })
    } catch (error) {
      this.#log.error({ err: error, migration: spec.id }, 'the parts of a large file could not be removed')
    }
  }
}

/** Whether nothing has gone wrong with a file yet: after that one worker copies it, and finds out. What mostly waits gains nothing. */
const isFirstTry = ({ limits = [] }: MoveSpec, { attempt }: Large): boolean =>
  attempt === 1 && !isSlow(limits)

const ofToken = (token: string): Upload => ({ token, sizeBytes: 0 })

/** What mostly waits for its limits takes no place in a thread from what has none. */
export const weightOf = ({ limits = [] }: MoveSpec, weight = fullWeight): number =>
  isSlow(limits) ? noWeight : weight

/** Throws when a thread answered something else. */
export function resultOf(reply: Reply): ItemResult {
  if (reply.kind !== 'result') throw new Error(`a thread answered ${reply.kind} to a job that has a result`)
  return reply.result
}
