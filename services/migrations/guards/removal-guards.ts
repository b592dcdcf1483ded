import type { Collection } from '../../../broker/collection.ts'
import type { Log } from '../../../broker/log.ts'
import type { Held } from '../changes/on-hold.ts'
import type { Live } from '../engine/run/run.ts'
import type { MoveSpec } from '../engine/mover.ts'
import { percentOf } from '../plans/guard.ts'
import { planAll, Planned, type Planning } from '../plans/plan-walk.ts'
import { trashOf } from '../plans/match-target.ts'
import { type MigrationRecord, workIdOf } from '../record.ts'
import { happen } from '../transition.ts'
import { RemovalGuard, windowMs } from './removal-guard.ts'

export interface RemovalGuardsOptions {
  readonly records: Collection<typeof MigrationRecord>
  readonly mover: Planning
  /** See `walkAll`. */
  readonly spillFolder: string
  readonly log: Log
}

/** So often what was removed before the window is let go of. */
const lookEveryMs = 60_000

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
  #timer: NodeJS.Timeout | undefined

  constructor(options: RemovalGuardsOptions) {
    this.#options = options
  }

  start(): void {
    const look = () => {
      for (const { guard } of this.#guarded.values()) guard.look(performance.now())
    }
    this.#timer = setInterval(look, lookEveryMs).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  /** How a live migration removes, for the engine. */
  specOf(record: MigrationRecord): Pick<Live, 'budget' | 'trash'> {
    const { budget } = this.#of(record).guard
    return { budget, ...(record.removals?.trash === true ? { trash: trashOf(record) } : {}) }
  }

  /** The work on a live migration begins: what somebody approved of may go, and what was held is looked for anew. */
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
    const { migrationId, removals } = record
    try {
      const planned = new Planned()
      await planAll(mover, spec, { by: { as: 'scan' }, planned, spillFolder, signal })
      const { entriesAtTarget } = planned.counts
      guarded.guard.set(removals, entriesAtTarget, performance.now())
      await records.update(migrationId, (current) =>
        workIdOf(current) === guarded.workId ? { ...current, entriesAtTarget } : undefined,
      )
    } catch (err) {
      guarded.countedMs = undefined
      if (!signal.aborted)
        log.warn({ err, migration: migrationId }, 'A target could not be counted; trying on.')
    }
  }

  /** There is more to be removed than may be without approval: the migration stops for it. */
  async hold(
    record: MigrationRecord,
    held: Held,
    behind: Pick<MigrationRecord, 'behindSince'>,
  ): Promise<void> {
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
      ...(entries === undefined ? {} : { percent: percentOf(files + folders, entries) }),
      removedWithinHour: guard.removed,
      samples: [...samples],
      time: new Date().toISOString(),
    }
    const workId = workIdOf(record)
    await happen(records, migrationId, 'aborted', (current) =>
      workIdOf(current) === workId
        ? { ...current, ...behind, deletions, resumable: true, abortReason: 'AUTO_ABORTED' }
        : undefined,
    )
    log.warn({ migration: migrationId, deletions }, 'There are too many deletions to make without approval.')
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
