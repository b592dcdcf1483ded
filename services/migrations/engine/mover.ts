import { StoreError } from '../../drivers/driver.ts'
import { concurrently } from './concurrently.ts'
import type { ChildBatch } from './children.ts'
import type { ItemResult } from './counts.ts'
import { decodeItem } from './item-decode.ts'
import { kindOf, malformed } from './items.ts'
import type { Batch, Job, Reply } from './jobs.ts'
import { failedLarge, type LargeCopy, partsLeft } from './large.ts'
import { isSlow } from './pace.ts'
import { fullWeight, halfWeight, noWeight, ThreadPool, type PoolLog, type Urgency } from './pool.ts'
import { firstGeneration, type MoveSpec } from './run.ts'
import type { CleaningStep } from './walk/clean.ts'
import type { Comparison } from './walk/compare.ts'
import type { Findings } from './walk/findings.ts'
import type { Match } from './walk/match.ts'

export type { ChildBatch, ItemResult, MoveSpec }
export type { Counts, Failure } from './counts.ts'
export type { Urgency } from './pool.ts'

/**
 * Reason of an abort after which the same items come again, as when the platform stops: the parts of large files that are
 * written stay, and are gone on with.
 */
export class ComesAgain extends Error {}

/** A store that does not answer must not hold up the failure of a file; what is left is swept later. */
const abandonTimeoutMs = 10_000

/** Under a limit one part waits while another is moved; more would only wait. */
const slowPartsAtOnce = 2

/** Parts of a file under way in each thread: local ones are copied one by one, the others wait for the network. */
const partsPerThread = { local: 2, remote: 4 } as const

export interface MoverOptions {
  readonly threads?: number
  readonly log: PoolLog
  readonly onPart?: ((bytes: number) => void) | undefined
}

/**
 * Lists and copies files in worker threads. The calling thread only hands items over and stores what comes back; it is
 * never blocked.
 */
export class Mover implements AsyncDisposable {
  readonly #pool: ThreadPool
  readonly #log: PoolLog
  readonly #onPart: MoverOptions['onPart']

  /** @param options `threads`: default one for each core; `onPart`: told of each part of a large file that was copied */
  constructor({ threads, log, onPart }: MoverOptions) {
    this.#log = log
    this.#onPart = onPart
    this.#pool = new ThreadPool({ threads, log, entry: new URL('./thread.ts', import.meta.url) })
  }

  /** How urgent the jobs of a migration (a spec's `id`) are from now on; those that wait keep their place. */
  setUrgency(id: string, urgency: Urgency): void {
    this.#pool.setUrgency(id, urgency)
  }

  /**
   * Lists the folders of a region item and makes them at the target, or compares those of a reconcile item with it. What is found comes as batches of encoded items,
   * eight batches at once at most; resolves when every `publish` has resolved, rejects when one has rejected. Rejects
   * also with the signal's reason, when the thread ended, and when a driver cannot be opened (GantryError
   * INVALID_INPUT); such an item is to come again.
   * @param redelivered a worker that was killed may have had the item: what it left under temporary names in the item's
   *   folders is removed
   */
  async scan(
    spec: MoveSpec,
    item: Uint8Array,
    publish: (children: ChildBatch) => Promise<void>,
    signal: AbortSignal,
    redelivered = false,
  ): Promise<ItemResult> {
    const isScan = kindOf(item) === 'region'
    const hasLeftovers = redelivered || (isScan && spec.generation > firstGeneration)
    const kind = isScan ? 'scan' : 'reconcile'
    const job = { kind, ...this.#itemJob(spec, item, hasLeftovers) } as const
    const store = (batch: Batch) =>
      batch.type === 'children' ? publish(batch.children) : Promise.reject(unexpected(batch.type))
    return resultOf(
      await this.#pool.run(job, {
        signal,
        priority: isScan ? 'scans' : 'changes',
        publish: store,
        weight: weightOf(spec),
      }),
    )
  }

  /**
   * Copies the files of a transfer item: each appears at the target whole and verified, or not at all. Large files go in
   * parts through all threads. Rejects as `scan` does.
   */
  async transfer(
    spec: MoveSpec,
    item: Uint8Array,
    signal: AbortSignal,
    redelivered = false,
  ): Promise<ItemResult> {
    if (kindOf(item) === 'large') return this.#transferLarge(spec, item, signal, redelivered)
    const job = { kind: 'transfer', ...this.#itemJob(spec, item, redelivered) } as const
    return resultOf(await this.#pool.run(job, { signal, priority: 'files', weight: weightOf(spec) }))
  }

  /** Gives the folders of an item their attributes, once nothing else is left to be done. Rejects as `scan` does. */
  async finishFolders(spec: MoveSpec, item: Uint8Array, signal: AbortSignal): Promise<ItemResult> {
    const job = { kind: 'folders', ...this.#itemJob(spec, item, false) } as const
    return resultOf(await this.#pool.run(job, { signal, priority: 'files' }))
  }

  /** Removes what died writers of an item left under construction: nobody will go on with it. Rejects as `scan` does. */
  async sweep(spec: MoveSpec, item: Uint8Array, signal: AbortSignal): Promise<void> {
    await this.#pool.run({ kind: 'sweep', ...this.#itemJob(spec, item, true) }, { signal, priority: 'files' })
  }

  /** Walks so many folders at once, one in each thread. */
  get walksAtOnce(): number {
    return this.#pool.size
  }

  /**
   * Compares folders of source and target, one level, and never writes anything. What is found comes in pieces, eight
   * at once at most; resolves when every `take` has resolved. Rejects with the signal's reason, and when the thread ended.
   * @param folders encoded by `encodeFolder`
   */
  async compare(
    spec: MoveSpec,
    comparison: Comparison,
    folders: readonly string[],
    take: (findings: Findings) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#walk({ kind: 'compare', spec, comparison, folders }, take, signal)
  }

  /** Says what a migration would do with folders, one level; like `compare`. @param matchesTarget see `Planner` */
  async plan(
    spec: MoveSpec,
    matchesTarget: boolean,
    folders: readonly string[],
    take: (findings: Findings) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#walk({ kind: 'plan', spec, matchesTarget, folders }, take, signal)
  }

  /** Deletes what is only at the target in folders, one level of those that are on both sides; like `compare`. */
  async match(
    spec: MoveSpec,
    match: Match,
    folders: readonly string[],
    take: (findings: Findings) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#walk({ kind: 'match', spec, match, folders }, take, signal)
  }

  /** Removes at the source what is at the target in folders, one level; like `compare`. What it found is told even if it ends early. */
  async clean(
    spec: MoveSpec,
    step: CleaningStep,
    folders: readonly string[],
    take: (findings: Findings) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#walk({ kind: 'clean', spec, step, folders }, take, signal)
  }

  async #walk(job: Job, take: (findings: Findings) => Promise<void>, signal: AbortSignal): Promise<void> {
    const publish = (batch: Batch) =>
      batch.type === 'findings' ? take(batch.findings) : Promise.reject(unexpected(batch.type))
    await this.#pool.run(job, { signal, priority: 'walks', weight: noWeight, publish })
  }

  /** Stops all work, whose promises reject, and ends the threads. */
  async close(): Promise<void> {
    await this.#pool.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #itemJob(spec: MoveSpec, item: Uint8Array, hasLeftovers: boolean) {
    const liveThreads = hasLeftovers ? this.#pool.liveThreads() : undefined
    // A copy of its own: cloning a part of a larger buffer, as the broker's client makes them, would clone all of it.
    return { spec, item: item.slice(), liveThreads }
  }

  async #transferLarge(
    spec: MoveSpec,
    bytes: Uint8Array,
    signal: AbortSignal,
    redelivered: boolean,
  ): Promise<ItemResult> {
    const item = decodeItem(bytes)
    if (item.kind !== 'large') throw malformed(`a ${item.kind}, not a large file`)
    try {
      const job = { kind: 'begin', ...this.#itemJob(spec, bytes, redelivered) } as const
      const begun = await this.#pool.run(job, { signal, priority: 'files' })
      if (begun.kind === 'result') return begun.result
      if (begun.kind !== 'begun') throw new Error(`a thread answered ${begun.kind} to begin`)
      return await this.#copyLarge(spec, begun.copy, signal)
    } catch (error) {
      if (error instanceof StoreError && !signal.aborted) return failedLarge(spec, item, error)
      throw error
    }
  }

  async #copyLarge(spec: MoveSpec, copy: LargeCopy, signal: AbortSignal): Promise<ItemResult> {
    const weight = weightOf(spec, copy.isLocal ? fullWeight : halfWeight)
    const inThread = copy.isLocal ? partsPerThread.local : partsPerThread.remote
    const atOnce = weight === noWeight ? slowPartsAtOnce : this.#pool.size * inThread
    try {
      await concurrently(partsLeft(copy), atOnce, async (index) => {
        await this.#pool.run({ kind: 'part', spec, copy, index }, { signal, priority: 'parts', weight })
        this.#onPart?.(Math.min(copy.partBytes, copy.sizeBytes - index * copy.partBytes))
      })
      return resultOf(await this.#pool.run({ kind: 'commit', spec, copy }, { signal, priority: 'parts' }))
    } catch (error) {
      if (!(signal.reason instanceof ComesAgain)) await this.#abandon(spec, copy)
      throw error
    }
  }

  /** Removes what a large file left behind; the failure that led here is the one that counts. */
  async #abandon(spec: MoveSpec, copy: LargeCopy): Promise<void> {
    const signal = AbortSignal.timeout(abandonTimeoutMs)
    try {
      await this.#pool.run({ kind: 'abandon', spec, copy }, { signal, priority: 'parts' })
    } catch (error) {
      this.#log.error({ err: error, migration: spec.id }, 'the parts of a large file could not be removed')
    }
  }
}

/** What mostly waits for its limits takes no place in a thread from what has none. */
const weightOf = ({ limits = [] }: MoveSpec, weight = fullWeight): number =>
  isSlow(limits) ? noWeight : weight

const unexpected = (type: Batch['type']) =>
  new Error(`a thread handed over ${type} that its job does not make`)

function resultOf(reply: Reply): ItemResult {
  if (reply.kind !== 'result') throw new Error(`a thread answered ${reply.kind} to a job that has a result`)
  return reply.result
}
