import type { Renamed, RenamedThere } from '../drivers/feeds/dirty-folders.ts'
import type { ChildBatch } from './items/children.ts'
import type { ItemResult } from './run/counts.ts'
import { kindOf } from './items/items.ts'
import type { EngineThreadOptions } from './threads/engine-thread.ts'
import type { Batch, ItemJob, Job, Reply } from './threads/jobs.ts'
import { LargeFiles, resultOf, type Share, weightOf } from './large-files.ts'
import { noWeight, ThreadPool, type PoolLog, type Urgency } from './threads/pool.ts'
import { firstGeneration, type MoveSpec } from './run/run.ts'
import type { CleaningStep } from './walk/clean.ts'
import type { Comparison } from './walk/compare.ts'
import type { Findings } from './walk/findings.ts'
import type { Match } from './walk/match.ts'
import type { PlanBy } from './walk/plan-by.ts'
import { hasEndedThreads, unlessThreadEnds } from './thread-ends.ts'

export type { ChildBatch, ItemResult, MoveSpec }
export type { Counts, Failure } from './run/counts.ts'
export type { Urgency } from './threads/pool.ts'
export { ComesAgain } from './large-files.ts'

export interface MoverOptions extends EngineThreadOptions {
  readonly threads?: number
  readonly log: PoolLog
}

/**
 * Lists and copies files in worker threads. The calling thread only hands items over and stores what comes back; it is
 * never blocked.
 */
export class Mover implements AsyncDisposable {
  readonly #pool: ThreadPool
  readonly #large: LargeFiles

  /** @param options `threads`: default one for each core */
  constructor(options: MoverOptions) {
    this.#pool = new ThreadPool({ ...options, entry: new URL('./threads/thread.ts', import.meta.url) })
    this.#large = new LargeFiles({ pool: this.#pool, log: options.log })
  }

  /** How urgent the jobs of a migration (a spec's `id`) are from now on; those that wait keep their place. */
  setUrgency(id: string, urgency: Urgency): void {
    this.#pool.setUrgency(id, urgency)
  }

  /**
   * Lists the folders of a region item and makes them at the target, or compares those of a reconcile item with it. What is found comes as batches of encoded items,
   * eight batches at once at most; resolves when every `publish` has resolved, rejects when one has rejected. Rejects
   * also with the signal's reason, and when a driver cannot be opened (GantryError INVALID_INPUT); such an item is to come
   * again. Where the thread ended, the result is the same item to be tried again, and after the third time failures.
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
    // It was begun from the start again.
    if (isScan) await this.#large.forgetOlder(spec)
    const hasLeftovers = redelivered || hasEndedThreads(item) || (isScan && spec.generation > firstGeneration)
    const kind = isScan ? 'scan' : 'reconcile'
    const job = { kind, ...this.#itemJob(spec, item, hasLeftovers) } as const
    return this.#surviving(job, (isAlone) =>
      this.#pool.run(job, {
        signal,
        priority: isScan ? 'scans' : 'changes',
        publish: storing(publish),
        weight: weightOf(spec),
        isAlone,
      }),
    )
  }

  /** Has an item done, in a thread of its own if it has ended one before. */
  #surviving(job: ItemJob, run: (isAlone: boolean) => Promise<Reply>): Promise<ItemResult> {
    return unlessThreadEnds(job, async () => resultOf(await run(hasEndedThreads(job.item))))
  }

  /**
   * Copies the files of a transfer item: each appears at the target whole and verified, or not at all. Large files go in
   * parts through all threads. Rejects as `scan` does.
   * @param share publishes items of parts, for others who take part in the work; undefined when nobody does
   */
  async transfer(
    spec: MoveSpec,
    item: Uint8Array,
    signal: AbortSignal,
    redelivered = false,
    share?: Share,
  ): Promise<ItemResult> {
    const kind = kindOf(item)
    if (kind === 'large') {
      const job = this.#itemJob(spec, item, redelivered)
      return unlessThreadEnds(job, () => this.#large.transfer(job, signal, share))
    }
    if (kind === 'parts')
      return unlessThreadEnds({ spec, item }, () => this.#large.copyParts(spec, item, signal))
    const hasLeftovers = redelivered || hasEndedThreads(item)
    const job = { kind: 'transfer', ...this.#itemJob(spec, item, hasLeftovers) } as const
    return this.#surviving(job, (isAlone) =>
      this.#pool.run(job, { signal, priority: 'files', weight: weightOf(spec), isAlone }),
    )
  }

  /**
   * Gives the folders of an item their attributes, once nothing else is left to be done. Of a deep one, folders that it has
   * no time for come as items. Resolves and rejects as `scan` does.
   */
  async finishFolders(
    spec: MoveSpec,
    item: Uint8Array,
    publish: (children: ChildBatch) => Promise<void>,
    signal: AbortSignal,
  ): Promise<ItemResult> {
    // Another worker had copied what was left of large files here.
    await this.forget(spec.id)
    // What arrives late, and its removal, would move their times once more.
    await this.#pool.runInEach({ kind: 'settle', spec }, signal)
    const job = { kind: 'folders', ...this.#itemJob(spec, item, false) } as const
    return this.#surviving(job, (isAlone) =>
      this.#pool.run(job, { signal, priority: 'files', publish: storing(publish), isAlone }),
    )
  }

  /** See `renameAtTarget`. Rejects with the signal's reason, and with what a store says. */
  async rename(
    spec: MoveSpec,
    renamed: readonly Renamed[],
    signal: AbortSignal,
  ): Promise<readonly RenamedThere[]> {
    const reply = await this.#pool.run({ kind: 'rename', spec, renamed }, { signal, priority: 'changes' })
    return reply.kind === 'renamed' ? reply.renamed : []
  }

  /** Removes what died writers of an item left under construction: nobody will go on with it. Rejects as `scan` does. */
  async sweep(spec: MoveSpec, item: Uint8Array, signal: AbortSignal): Promise<void> {
    await this.forget(spec.id)
    await this.#pool.run({ kind: 'sweep', ...this.#itemJob(spec, item, true) }, { signal, priority: 'files' })
  }

  /** Removes what was left of large files of a migration (a spec's `id`) when it was stopped: nobody will go on with it. */
  async forget(id: string): Promise<void> {
    await this.#large.forget(id)
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

  /** Says what a migration would do with folders, one level; like `compare`. */
  async plan(
    spec: MoveSpec,
    by: PlanBy,
    folders: readonly string[],
    take: (findings: Findings) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#walk({ kind: 'plan', spec, by, folders }, take, signal)
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

  #itemJob(spec: MoveSpec, item: Uint8Array, hasLeftovers: boolean): ItemJob {
    const liveThreads = hasLeftovers ? this.#pool.liveThreads() : undefined
    // A copy of its own: cloning a part of a larger buffer, as the broker's client makes them, would clone all of it.
    return { spec, item: item.slice(), liveThreads }
  }
}

const storing = (publish: (children: ChildBatch) => Promise<void>) => (batch: Batch) =>
  batch.type === 'children' ? publish(batch.children) : Promise.reject(unexpected(batch.type))

const unexpected = (type: Batch['type']) =>
  new Error(`a thread handed over ${type} that its job does not make`)
