import type { Collection } from '../../../broker/state/collection.ts'
import type { Log } from '../../../broker/common/log.ts'
import { every, type Task } from '../../../broker/tasks/tasks.ts'
import type { CountedFirst, Held } from '../live/on-hold.ts'
import type { Live } from '../../engine/run/run.ts'
import type { MoveSpec } from '../../engine/mover.ts'
import { percentOf } from './guard.ts'
import { planAll, Planned, type Planning } from './plan-walk.ts'
import { trashOf } from './match-target.ts'
import { type Left, type MigrationRecord, workIdOf } from '../lifecycle/record.ts'
import { applyTransition } from '../lifecycle/transition.ts'
import { RemovalGuard, unasked, windowMs } from './removal-guard.ts'

export interface RemovalGuardsOptions {
  readonly records: Collection<typeof MigrationRecord>
  readonly mover: Planning
  /** See `walkAll`. */
  readonly spillFolder: string
  readonly log: Log
}

interface Guarded {
  readonly workId: string
  readonly guard: RemovalGuard
  /** When the target was counted last, or that was begun. */
  countedMs: number | undefined
}

/** The guards of the live migrations of this process. */
export class RemovalGuards {
  readonly #options: RemovalGuardsOptions
  /** By internal id. */
  readonly #guarded = new Map<string, Guarded>()
  #task: Task | undefined

  constructor(options: RemovalGuardsOptions) {
    this.#options = options
  }

  start(): void {
    const look = () => {
      for (const { guard } of this.#guarded.values()) guard.look(performance.now())
    }
    this.#task = every('removals.guards', look)
  }

  stop(): void {
    this.#task?.stop()
  }

  /** How a live migration removes, for the engine. */
  specOf(record: MigrationRecord): Pick<Live, 'budget' | 'trash'> {
    const { budget } = this.#of(record).guard
    return { budget, ...(record.removals?.trash === true ? { trash: trashOf(record) } : {}) }
  }

  /** The work on a live migration begins: what somebody approved of may go, and what was held is looked for again. */
  async begin(record: MigrationRecord): Promise<void> {
    const { migrationId, approvedDeletions, deletions } = record
    if (approvedDeletions !== undefined || deletions !== undefined)
      await this.#options.records.update(migrationId, (current) => {
        const { approvedDeletions: _approved, deletions: _held, ...rest } = current
        return workIdOf(current) === workIdOf(record) ? rest : undefined
      })
    this.set(record)
    if (approvedDeletions !== undefined) this.#of(record).guard.approve(approvedDeletions, performance.now())
  }

  /** The settings of a live migration hold from now on. */
  set(record: MigrationRecord): void {
    this.#of(record).guard.set(record.removals ?? {}, record.entriesAtTarget, performance.now())
  }

  /** How much a live migration may still remove without approval; Infinity without a limit. */
  left(record: MigrationRecord): number {
    const nowMs = performance.now()
    const known = this.#guarded.get(record.internalId)
    // A record of before a reset must not take the place of what is kept for the work on it now.
    const guard = known?.workId === workIdOf(record) ? known.guard : new RemovalGuard({}, nowMs)
    return guard.left(record.removals ?? {}, record.entriesAtTarget, nowMs)
  }

  /** How removals are counted before they are made, for a live migration whose source is compared from another host. */
  countingFirst(record: MigrationRecord, spec: MoveSpec): CountedFirst {
    const { guard } = this.#of(record)
    return {
      begin: () => guard.countFirst(performance.now()),
      isOn: () => guard.countsFirst,
      allows: async (count, signal) => {
        const isFew = count <= Math.max(unasked.entries, guard.approved(performance.now()) - guard.removed)
        if (!isFew && !(await this.#isMinorPart(record, spec, count, signal))) return false
        guard.allow(count, performance.now())
        return true
      },
      end: () => guard.allow(0, performance.now()),
    }
  }

  /** Whether so many are not more than the share of the target that goes without asking. */
  async #isMinorPart(
    record: MigrationRecord,
    spec: MoveSpec,
    count: number,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { mover, spillFolder } = this.#options
    const planned = new Planned()
    // A match looks into what is at the target only, which is what this is about.
    await planAll(mover, spec, { by: { as: 'match' }, planned, spillFolder, signal })
    const { entriesAtTarget } = planned.counts
    this.#of(record).guard.counted(entriesAtTarget, performance.now())
    return percentOf(count, entriesAtTarget) <= unasked.percent
  }

  /**
   * Everything was compared: what the target has is counted, if that is due, which a share is of. Resolves when it is
   * noted; never rejects.
   */
  async count(record: MigrationRecord, spec: MoveSpec, signal: AbortSignal): Promise<void> {
    if (record.removals?.maxDeletionPercent === undefined) return
    const guarded = this.#of(record)
    const nowMs = performance.now()
    if (guarded.countedMs !== undefined && nowMs < guarded.countedMs + windowMs) return
    guarded.countedMs = nowMs
    const { records, mover, spillFolder, log } = this.#options
    const { migrationId } = record
    try {
      const planned = new Planned()
      await planAll(mover, spec, { by: { as: 'scan' }, planned, spillFolder, signal })
      const { entriesAtTarget } = planned.counts
      guarded.guard.counted(entriesAtTarget, performance.now())
      await records.update(migrationId, (current) =>
        workIdOf(current) === guarded.workId ? { ...current, entriesAtTarget } : undefined,
      )
    } catch (err) {
      guarded.countedMs = undefined
      if (!signal.aborted)
        log.warn({ err, migration: migrationId }, 'The files of a target could not be counted; retrying.')
    }
  }

  /** There is more to be removed than may be without approval: the migration stops for it. */
  async hold(record: MigrationRecord, held: Held, left: Left): Promise<void> {
    const { records, log } = this.#options
    const { migrationId } = record
    const { files, folders, bytes, samples } = held
    const { guard } = this.#of(record)
    const { entries } = guard
    const deletions = {
      isHeld: true,
      files,
      folders,
      bytes,
      ...(entries === undefined
        ? {}
        : { percent: percentOf(files + folders, entries), entriesAtTarget: entries }),
      removedWithinHour: guard.removed,
      samples: [...samples],
      time: new Date().toISOString(),
    }
    const workId = workIdOf(record)
    await applyTransition(records, migrationId, 'aborted', (current) =>
      workIdOf(current) === workId
        ? { ...current, ...left, deletions, resumable: true, abortReason: 'AUTO_ABORTED' }
        : undefined,
    )
    log.warn(
      { migration: migrationId, deletions },
      'The number of deletions exceeds the limit; they wait for approval.',
    )
  }

  #of(record: MigrationRecord): Guarded {
    const workId = workIdOf(record)
    const known = this.#guarded.get(record.internalId)
    if (known?.workId === workId) return known
    const guard = new RemovalGuard(record.removals ?? {}, performance.now())
    const made = { workId, guard, countedMs: undefined }
    this.#guarded.set(record.internalId, made)
    return made
  }
}
