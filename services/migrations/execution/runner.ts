import { isDeepStrictEqual } from 'node:util'
import { pauseAfter, retry } from '../../../broker/common/retry.ts'
import type { Collection } from '../../../broker/state/collection.ts'
import { emission } from '../../../broker/state/events.ts'
import type { Log } from '../../../broker/common/log.ts'
import { maxTextLength } from '../../../subjects/kit/schemas.ts'
import { shortened } from '../../../subjects/kit/shortened.ts'
import { isGantryError } from '../../../subjects/kit/errors.ts'
import { migrationEvents } from '../../../subjects/migrations/events.ts'
import type { Movers } from '../../../subjects/migrations/agents.ts'
import type { MigrationPriority } from '../../../subjects/migrations/model/model.ts'
import { abortedFor } from '../lifecycle/abort.ts'
import { ActiveMigration } from './active.ts'
import type { Assignments } from '../assignments/assignments.ts'
import type { Changes } from '../live/changes.ts'
import type { ChangesView } from '../live/following.ts'
import type { WorkState } from '../progress/conditions.ts'
import type { StoreBounds } from '../../drivers/contract/bounds.ts'
import { ComesAgain, type Mover, type MoveSpec, type Urgency } from '../../engine/mover.ts'
import type { InFlightProgress } from '../progress/in-flight-progress.ts'
import type { RemovalGuards } from '../removals/removal-guards.ts'
import { RemovalsHeld } from '../live/on-hold.ts'
import { drained, halted, sweep } from './clearing.ts'
import { flushTarget, flushWithin, needsFlush, thisBoot } from './flush-target.ts'
import {
  leftOf,
  changesViewOf,
  ended,
  type Followed,
  gapOf,
  isLost,
  isNews,
  newFollowed,
  problemOf,
  settingsKey,
  stateOf,
} from './followed.ts'
import {
  doubted,
  flushed,
  restarted,
  factOf,
  found,
  listed,
  type MigrationRecord,
  read,
  scanForgotten,
  scanned,
  withLost,
  workIdOf,
} from '../lifecycle/record.ts'
import { matchedTarget } from '../removals/matched-target.ts'
import { type Loss, lossText, WorkLostError } from '../progress/proof.ts'
import type { RuleBook } from '../rules/book.ts'
import { excludedFailures } from '../failures/excluded-failures.ts'
import { hasQueued, hasUnqueued, isUntouched, queueRegions, unqueued } from './regions.ts'
import { type Identities, isRootReplaced, Roots, SourceChanged } from './roots.ts'
import { rescansOf, settleFailures } from './settled-failures.ts'
import { isActive, isBetweenScans, isWorkedOn } from '../lifecycle/states.ts'
import { entryFacts, applyTransition } from '../lifecycle/transition.ts'
import { countsOf } from '../progress/with-figures.ts'
import { forgetScan, forgetWork, type WorkStores } from '../progress/work.ts'
import type { CountListener } from '../progress/checkpoint-writer.ts'

/** Of items that the broker has lost. */
const lostFact = (record: MigrationRecord, { items }: Loss) =>
  emission(migrationEvents['work-lost'], record.migrationId, {
    ...factOf(record),
    ...(items === undefined ? {} : { items }),
  })

/** What is noted of where the work is done. */
type Begun = Identities & Pick<MigrationRecord, 'unflushedBoot'>

const unflushed = async (spec: MoveSpec): Promise<Pick<MigrationRecord, 'unflushedBoot'>> =>
  thisBoot !== undefined && (await needsFlush(spec)) ? { unflushedBoot: thisBoot } : {}

export interface RunnerOptions extends WorkStores {
  readonly records: Collection<typeof MigrationRecord>
  readonly mover: Mover
  /** Where stores may be. */
  readonly bounds: StoreBounds | undefined
  readonly threads: number
  /** See `walkAll`. */
  readonly spillFolder: string
  /** The stores of a migration, ready to be opened. */
  readonly resolve: (record: MigrationRecord) => Promise<MoveSpec>
  /** What is excluded by now is not tried again. */
  readonly rules: Pick<RuleBook, 'known'>
  /** What tells of the changes at the source of a live migration. */
  readonly changes: (
    record: MigrationRecord,
    spec: MoveSpec,
    gapSinceMs: number | undefined,
  ) => Promise<Changes>
  /** Who moves the files of a migration. */
  readonly movedBy: (record: MigrationRecord) => Promise<Movers>
  readonly agents: Assignments
  /** What live migrations remove at their targets. */
  readonly guards: RemovalGuards
  readonly onCount: CountListener
  readonly inFlight: InFlightProgress
  readonly log: Log
}

/** When work ends halfway, its target is flushed for so long at most: whoever stops the platform waits for it. */
const flushAtEndMs = 10_000

/** What the engine calls them. */
const urgencies = {
  HIGH: 'high',
  NORMAL: 'normal',
  LOW: 'low',
} as const satisfies Record<MigrationPriority, Urgency>

/**
 * Works on every migration whose record says RUNNING or LIVE, and on no other: follows the records, and changes them only
 * when all that was there is copied, or when its work has ended because somebody stopped it (STOPPED).
 */
export class Runner {
  readonly #options: RunnerOptions
  /** By internal id. */
  readonly #followed = new Map<string, Followed>()
  /** Live ones that nobody works on, by name. */
  readonly #left = new Map<string, MigrationRecord>()
  readonly #working = new Set<Promise<void>>()
  /** Queues that whoever worked on them has left: those of before this process, and those of removals that are held. */
  readonly #inherited = new Set<string>()
  readonly #closing = new AbortController()
  #watch: { stop(): Promise<void> } | undefined

  constructor(options: RunnerOptions) {
    this.#options = options
  }

  /** Clears what processes that died have left, and begins to follow the records. */
  async start(): Promise<void> {
    for (const name of await sweep(this.#options)) this.#inherited.add(name)
    this.#watch = await this.#options.records.watch((name, record) => {
      if (record?.behindSince !== undefined && !isActive(record.state)) this.#left.set(name, record)
      else this.#left.delete(name)
      if (record !== undefined) this.#follow(record)
    })
  }

  /** Hands back all work; it goes on when the platform starts again. */
  async stop(): Promise<void> {
    this.#closing.abort(new ComesAgain('the platform is stopping'))
    await this.#watch?.stop()
    await Promise.all(this.#working)
  }

  /** How a live migration follows its source, or how long nobody has. */
  changesOf(record: MigrationRecord): ChangesView | undefined {
    // Work on a migration that was stopped goes on to its end for a moment; the record is the truth by then.
    const followed = isActive(record.state) ? this.#followed.get(record.internalId) : undefined
    return changesViewOf(followed ?? newFollowed(record))
  }

  /** How the work on each migration goes, also on live ones that were left. */
  states(): WorkState[] {
    return [...this.#followed.values(), ...this.#left.values().map(newFollowed)].map(stateOf)
  }

  #follow(record: MigrationRecord): void {
    const { migrationId, internalId, state } = record
    const known = this.#followed.get(internalId)
    if (known !== undefined) {
      known.changes += 1
      // What was in the way before it was asked to run again is over, or is found again.
      if (known.record.scheduled !== record.scheduled) known.problem = undefined
      known.record = record
      this.#prioritise(record)
      const isAnother = known.work !== undefined && known.work.workId !== workIdOf(record)
      // It goes on at once, by the settings that it has now.
      const hasOthers = known.settings !== undefined && known.settings !== settingsKey(record)
      if (!isWorkedOn(state) || isAnother || hasOthers)
        known.halt.abort(new ComesAgain('the migration was stopped'))
      else known.work?.changed(record)
      return
    }
    if (!isActive(state) || this.#closing.signal.aborted) return
    const followed = newFollowed(record)
    this.#followed.set(internalId, followed)
    const working = this.#keepWorking(migrationId, internalId, followed).finally(() =>
      this.#working.delete(working),
    )
    this.#working.add(working)
  }

  #prioritise({ internalId, priority }: Pick<MigrationRecord, 'internalId' | 'priority'>): void {
    this.#options.mover.setUrgency(internalId, urgencies[priority])
  }

  /** Works until the record says that there is nothing to do; what fails is tried again. Never rejects. */
  async #keepWorking(migrationId: string, internalId: string, followed: Followed): Promise<void> {
    const { records, log } = this.#options
    const { signal } = this.#closing
    for (let attempt = 1; !signal.aborted; attempt++) {
      const {
        changes,
        record: { scheduled },
      } = followed
      try {
        followed.halt = new AbortController()
        const record = await records.get(migrationId)
        // It was changed while the question was on its way.
        if (followed.changes !== changes) continue
        if (record === undefined || record.internalId !== internalId || !isActive(record.state)) break
        await this.#work(record, followed, AbortSignal.any([signal, followed.halt.signal]))
        attempt = 0
      } catch (error) {
        if (signal.aborted) break
        if (await abortedFor(this.#options, { migrationId, internalId, ...leftOf(followed) }, error, attempt))
          break
        // The record says so, for as long as nobody has accepted it.
        const reason = problemOf(error)
        if (followed.record.scheduled === scheduled)
          followed.problem = error instanceof SourceChanged ? undefined : reason
        // What the conditions of the migration say needs no trace.
        const told = isGantryError(error) ? { reason } : { err: error }
        if (isNews(followed, reason))
          log.warn(
            { ...told, migration: migrationId },
            'A migration cannot continue at the moment; retrying.',
          )
        await pauseAfter(attempt, signal)
      } finally {
        ended(followed)
      }
    }
    this.#followed.delete(internalId)
    this.#prioritise({ internalId, priority: 'NORMAL' })
  }

  async #work(record: MigrationRecord, followed: Followed, signal: AbortSignal): Promise<void> {
    try {
      await this.#workOn(record, followed, signal)
    } catch (error) {
      if (!(error instanceof WorkLostError)) throw error
      // Whoever stopped it was faster: the loss is found again when it goes on, and is told then.
      if (!(await this.#lost(record, error.loss))) await halted(this.#options, record, leftOf(followed))
    }
  }

  async #workOn(record: MigrationRecord, followed: Followed, signal: AbortSignal): Promise<void> {
    const { records, resolve, changes, failures, rules, movedBy, guards } = this.#options
    if (record.state === 'STOPPING') return drained(this.#options, record, leftOf(followed))
    if (isRootReplaced(record, followed.roots)) {
      followed.roots.isRootReplaced = !(await this.#lost(record))
      return
    }
    if (record.unflushedBoot !== undefined && record.unflushedBoot !== thisBoot) {
      await this.#lost(record, 'power')
      return
    }
    const { migrationId, target } = record
    followed.settings = settingsKey(record)
    const workId = workIdOf(record)
    if (record.scanToForget === true) {
      // Whoever was to forget it was killed, or somebody asked for more before it had.
      await forgetScan(this.#options, workId)
      await records.update(migrationId, (current) =>
        workIdOf(current) === workId ? scanForgotten(current) : undefined,
      )
    }
    followed.work = { workId, changed: () => undefined }
    this.#prioritise(record)
    const takeBack = this.#inherited.has(workId)
    const [resolved, movers] = await Promise.all([resolve(record), movedBy(record)])
    using roots = await this.#watchRoots(record, followed, resolved)
    const spec = { ...resolved, ...roots.spec }
    followed.following =
      record.kind === 'live' ? await changes(record, spec, gapOf({ ...followed, record })) : undefined
    const who = { workId, migrationId, target, movedBy: movers }
    const onListed = (isStill: () => boolean) => this.#listed(migrationId, workId, isStill)
    const options = { ...who, spec, takeBack, signal, changes: followed.following, onListed }
    const active = await ActiveMigration.open({ ...this.#options, ...options })
    this.#inherited.delete(workId)
    followed.active = { work: active, sinceMs: performance.now() }
    if (active.isNew && isLost(record)) throw new WorkLostError({ isBroken: true })
    // Nobody works on what is in the queue before the record says what source and target are.
    if (!record.seeded) await active.seed()
    await this.#noteBegun(record, { ...roots.identities, ...(await unflushed(spec)) })
    const isUnqueued = active.isNew && hasQueued(record)
    const pendingRegions = isUnqueued ? record.pendingRegions.map(unqueued) : record.pendingRegions
    const queue = async (one: MigrationRecord) =>
      queueRegions(records, one, active, failures, excludedFailures(await rules.known(one), one))
    await queue({ ...record, pendingRegions })
    const noteScanned = () => this.#scanned(migrationId, workId)
    if (record.kind === 'live') {
      // The latest record, as a live migration is worked on for as long as it lives.
      let latest = record
      const changed = (next: MigrationRecord) => {
        latest = next
        guards.set(next)
        if (!hasUnqueued(next)) return
        queue(next).catch((error: unknown) => followed.halt.abort(error))
      }
      followed.work = { workId, changed }
      await guards.begin(record)
      const counting = new AbortController()
      // What changed while it was being opened, nobody was told.
      changed((await records.get(migrationId)) ?? record)
      try {
        await active.run({
          onScanned: async () => {
            if (latest.state === 'RUNNING') {
              await flushTarget(spec, signal)
              await noteScanned()
            } else await this.#compared(latest)
            void guards.count(latest, spec, AbortSignal.any([signal, counting.signal]))
          },
          onLost: (loss) => this.#lostSome(record, loss),
        })
      } catch (error) {
        if (!(error instanceof RemovalsHeld)) throw error
        this.#inherited.add(workId)
        return await guards.hold(record, error.held, leftOf(followed))
      } finally {
        counting.abort()
      }
    } else if (await active.run()) {
      await roots.check()
      try {
        if (await matchedTarget(this.#options, record, options.spec, signal)) {
          await flushTarget(spec, signal)
          await noteScanned()
        }
        return
      } catch (error) {
        if (!signal.aborted) throw error
      }
    }
    await this.#flushAtEnd(record, spec)
    if (!this.#closing.signal.aborted) await halted(this.#options, record, leftOf(followed))
  }

  /** The work has ended before its time: what was written need not be read again when the host starts anew meanwhile. */
  async #flushAtEnd(record: MigrationRecord, spec: MoveSpec): Promise<void> {
    const { records, log } = this.#options
    const { migrationId } = record
    const workId = workIdOf(record)
    const change = (next: (current: MigrationRecord) => MigrationRecord) =>
      records.update(migrationId, (current) =>
        current.unflushedBoot !== undefined && workIdOf(current) === workId ? next(current) : undefined,
      )
    try {
      await flushWithin(spec, flushAtEndMs)
      await change(flushed)
    } catch (err) {
      const unflushed = { since: new Date().toISOString(), reason: shortened(problemOf(err), maxTextLength) }
      await change((current) => ({ ...current, unflushed })).catch(() => undefined)
      log.warn(
        { err, migration: migrationId },
        'Copied files may not be on disk yet; if this host restarts, source and target are compared by content when the migration continues.',
      )
    }
  }

  /** Looks whether source and target are what they were, and goes on looking; that the source is not is kept in the record. */
  async #watchRoots(record: MigrationRecord, followed: Followed, spec: MoveSpec): Promise<Roots> {
    const { isRootReplaced: wasRootReplaced } = followed.roots
    let roots: Roots
    try {
      roots = await Roots.watch(
        spec,
        record,
        followed.roots,
        (reason) => followed.halt.abort(reason),
        this.#options.bounds,
      )
    } catch (error) {
      if (!(error instanceof SourceChanged)) throw error
      // Of a scan that is over nothing was done elsewhere, and its figures and failures stay.
      if (isUntouched(record)) followed.roots.isRootReplaced = wasRootReplaced
      // Whoever goes on knows of it only by the record.
      if (isRootReplaced(record, followed.roots)) await this.#lost(record)
      const since = new Date().toISOString()
      await this.#options.records.update(record.migrationId, (current) => {
        if (current.internalId !== record.internalId) return undefined
        const sourceChanged = { since: current.sourceChanged?.since ?? since, ...error.told }
        return isDeepStrictEqual(current.sourceChanged, sourceChanged)
          ? undefined
          : { ...current, sourceChanged }
      })
      throw error
    }
    followed.roots.isRootReplaced = false
    if (record.sourceChanged !== undefined) followed.problem = undefined
    return roots
  }

  /** Keeps in the record that its root is in the queue, and what source, target and host are, before anything is done with them. */
  async #noteBegun(record: MigrationRecord, begun: Begun): Promise<void> {
    const { migrationId, internalId } = record
    const noted = { ...begun, seeded: true }
    if (record.sourceChanged === undefined && isDeepStrictEqual({ ...record, ...noted }, record)) return
    await this.#options.records.update(migrationId, ({ sourceChanged: _over, ...current }) => {
      if (current.internalId !== internalId) return undefined
      // Another run begins with a root of its own.
      return { ...current, ...begun, ...(workIdOf(current) === workIdOf(record) && { seeded: true }) }
    })
  }

  /**
   * The queue of a migration does not have all that it should, or some of its work was done in other folders.
   * @param loss what is gone from the queue; `power`: of what was written to the target
   * @returns whether it restarts; what is kept of its work is needed as long as it does not
   */
  async #lost(record: MigrationRecord, loss?: Loss | 'power'): Promise<boolean> {
    const { records, log } = this.#options
    const { migrationId } = record
    const begun = await applyTransition(
      records,
      migrationId,
      'lost',
      (current) => {
        if (workIdOf(current) !== workIdOf(record)) return undefined
        const next = { ...restarted(current), pendingRegions: current.pendingRegions.map(unqueued) }
        if (loss === 'power') return doubted(next)
        return loss === undefined ? next : withLost(next, loss, new Date())
      },
      (changed, previous) => [
        ...(loss === undefined || loss === 'power' ? [] : [lostFact(changed, loss)]),
        ...entryFacts(changed, previous),
      ],
    )
    if (begun === undefined) return false
    const queue = workIdOf(record)
    if (loss === 'power')
      log.warn(
        { migration: migrationId, queue },
        'This host failed before copied files were flushed to disk; source and target are scanned and compared by content.',
      )
    else if (loss === undefined)
      log.warn(
        { migration: migrationId, queue },
        'The work of a migration was lost; it is scanned from the start.',
      )
    else
      log.error(
        { migration: migrationId, queue, ...loss },
        `The migration is scanned from the start: ${lossText(loss)}. Check the disk of the broker’s store.`,
      )
    await forgetWork(this.#options, queue)
    return true
  }

  /** The queue of a live migration does not have all that it should: what is missing is found by comparing everything. */
  async #lostSome(record: MigrationRecord, loss: Loss): Promise<void> {
    const { records, log } = this.#options
    const { migrationId } = record
    log.error(
      { migration: migrationId, queue: workIdOf(record), ...loss },
      `Source and target are compared: ${lossText(loss)}. Check the disk of the broker’s store.`,
    )
    await records.update(
      migrationId,
      (current) => (workIdOf(current) === workIdOf(record) ? withLost(current, loss, new Date()) : undefined),
      (changed) => [lostFact(changed, loss)],
    )
  }

  /** A live migration that follows changes has compared what was asked for. */
  async #compared({ migrationId, lost, inDoubt, ...record }: MigrationRecord): Promise<void> {
    if (lost === undefined && inDoubt === undefined) return
    const { records, failures } = this.#options
    const workId = workIdOf(record)
    const failedPathCount = await failures.count(workId)
    await records.update(migrationId, (current) => {
      if (workIdOf(current) !== workId) return undefined
      const compared = read(found(current), failedPathCount)
      return isDeepStrictEqual(compared, current) ? undefined : compared
    })
  }

  /** Nothing is left to be listed: from now on what was found is a whole, of which a share is done. */
  async #listed(migrationId: string, workId: string, isStill: () => boolean): Promise<void> {
    await this.#options.records.update(migrationId, (current) => {
      if (workIdOf(current) !== workId || !isStill()) return undefined
      const next = listed(current, new Date())
      return next === current ? undefined : next
    })
  }

  /** All that was in the queue is done. Nothing changes when somebody stopped it meanwhile, or asked for more. */
  async #scanned(migrationId: string, workId: string): Promise<void> {
    const { records, progress, failures, log } = this.#options
    const before = await records.get(migrationId)
    // A live migration's list is kept right by its items.
    if (before !== undefined && before.kind !== 'live' && workIdOf(before) === workId)
      await settleFailures(failures, workId, rescansOf(before.pendingRegions))
    const [totals, failedPathCount] = await Promise.all([progress.totals(), failures.count(workId)])
    const record = await applyTransition(
      records,
      migrationId,
      'scanned',
      (current) =>
        workIdOf(current) !== workId || hasUnqueued(current)
          ? undefined
          : scanned(current, { counts: countsOf(current, totals), failedPathCount }, new Date()),
      (changed, previous) =>
        changed.state === 'COMPLETED'
          ? [
              emission(migrationEvents.completed, migrationId, {
                ...factOf(changed),
                previous,
                failedPathCount,
              }),
            ]
          : entryFacts(changed, previous),
    )
    if (record === undefined) return
    log.info(
      { migration: migrationId, state: record.state, failedPathCount },
      'The scan of a migration is complete.',
    )
    if (!isBetweenScans(record.state)) return
    const { signal } = this.#closing
    signal.throwIfAborted()
    await retry(() => forgetScan(this.#options, workId), { signal })
  }
}
