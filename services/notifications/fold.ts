import type { StoredFact } from '../../broker/state/events.ts'
import type { Payload } from '../../subjects/kit/contract.ts'
import { maxTextLength } from '../../subjects/kit/schemas.ts'
import { shortened } from '../../subjects/kit/shortened.ts'
import { cleanupEvents } from '../../subjects/migrations/cleanups.ts'
import { migrationEvents } from '../../subjects/migrations/events.ts'
import { brokenReasons, type ConditionReason } from '../../subjects/migrations/model/condition-terms.ts'
import { plural } from '../../subjects/kit/plural.ts'
import { verificationEvents } from '../../subjects/migrations/verifications.ts'
import { alertEvents } from '../../subjects/observability/alerts.ts'
import type {
  Notification,
  NotificationLevel,
  NotificationType,
} from '../../subjects/observability/notifications.ts'

/** The events that notifications are made of. */
export const toldEvents = [
  migrationEvents.created,
  migrationEvents.started,
  migrationEvents.live,
  migrationEvents.completed,
  migrationEvents.stopped,
  migrationEvents.reset,
  migrationEvents.deleted,
  migrationEvents['conditions-changed'],
  verificationEvents.finished,
  cleanupEvents.finished,
  alertEvents.fired,
  alertEvents.resolved,
] as const

/** Conditions of migrations in order: they pass by themselves, and nobody has to do anything. */
const ordinary: ReadonlySet<ConditionReason> = new Set<ConditionReason>([
  'WAITS_FOR_TURN',
  'WAITS_FOR_WINDOW',
  'BANDWIDTH_LIMITED',
  'SOURCE_THROTTLED',
  'TARGET_THROTTLED',
  'COMPARING',
  'TRYING_AGAIN',
  'BEING_WRITTEN',
  'HARD_LINKS',
])

/**
 * The notifications of a row of facts, in their order. The same facts make the same notifications, ids included, in
 * every process.
 */
export class NotificationFold {
  readonly #most: number
  /** By id, the oldest first, with the sequence of the fact that each was made of. */
  readonly #all = new Map<string, { readonly sequence: number; readonly notification: Notification }>()
  /** Ids of problems that are not over, by what they are about. */
  readonly #open = new Map<string, string>()

  /** @param most how many are kept, the newest */
  constructor(most: number) {
    this.#most = most
  }

  /** The newest first. */
  all(): Notification[] {
    return Array.from(this.#all.values(), ({ notification }) => notification).toReversed()
  }

  get(id: string): Notification | undefined {
    return this.#all.get(id)?.notification
  }

  /**
   * Forgets what was made of facts before this one, which are not kept any more.
   * @returns false when a problem among them is not over: it is told by a later fact then, for whoever reads all anew
   */
  forgetBefore(sequence: number): boolean {
    const open = new Set(this.#open.values())
    for (const [id, one] of this.#all) {
      if (one.sequence >= sequence) return true
      if (open.has(id)) return false
      this.#all.delete(id)
    }
    return true
  }

  take(fact: StoredFact): void {
    const { event, payload } = fact
    switch (event) {
      case migrationEvents.created:
        return this.#aboutMigration(fact, 'migration-added', 'info', 'was created')
      case migrationEvents.live:
        return this.#aboutMigration(fact, 'migration-live', 'info', 'now follows its source')
      case migrationEvents.completed:
        return this.#completed(fact, payload as Payload<typeof migrationEvents.completed>)
      case migrationEvents.stopped:
        return this.#stopped(fact, payload as Payload<typeof migrationEvents.stopped>)
      case migrationEvents.started:
      case migrationEvents.reset:
        return this.#resolve(fact, stopOf(payload as Migrating))
      case migrationEvents.deleted:
        return this.#deleted(fact, payload as Migrating)
      case migrationEvents['conditions-changed']:
        return this.#conditions(fact, payload as Payload<(typeof migrationEvents)['conditions-changed']>)
      case verificationEvents.finished:
        return this.#verified(fact, payload as Payload<typeof verificationEvents.finished>)
      case cleanupEvents.finished:
        return this.#cleaned(fact, payload as Payload<typeof cleanupEvents.finished>)
      case alertEvents.fired:
        return this.#fired(fact, payload as Payload<typeof alertEvents.fired>)
      case alertEvents.resolved:
        return this.#resolve(fact, `alert ${(payload as Payload<typeof alertEvents.resolved>).id}`)
      default:
    }
  }

  #completed(fact: StoredFact, { failedPathCount }: Payload<typeof migrationEvents.completed>): void {
    if (failedPathCount === 0)
      return this.#aboutMigration(fact, 'migration-completed', 'info', 'has completed')
    const paths = plural(failedPathCount, 'path')
    const what = `has completed, but ${paths} ${failedPathCount === 1 ? 'was' : 'were'} not copied`
    this.#aboutMigration(fact, 'migration-completed', 'warning', what, { failedPathCount })
  }

  #stopped(fact: StoredFact, payload: Payload<typeof migrationEvents.stopped>): void {
    // Who is asked to stop is stopping first.
    if (payload.previous === 'STOPPING') return
    const what = 'was stopped because it cannot continue: check its conditions and failures'
    this.#aboutMigration(fact, 'migration-auto-stopped', 'error', what, {}, stopOf(payload))
  }

  #conditions(fact: StoredFact, payload: Payload<(typeof migrationEvents)['conditions-changed']>): void {
    const prefix = conditionsOf(payload)
    const told = payload.conditions.filter(({ reason }) => !ordinary.has(reason))
    const now = new Set(told.map(({ reason }) => `${prefix}${reason}`))
    for (const problem of this.#open.keys())
      if (problem.startsWith(prefix) && !now.has(problem)) this.#resolve(fact, problem)
    for (const [index, { reason, message }] of told.entries()) {
      const problem = `${prefix}${reason}`
      if (this.#open.has(problem)) continue
      const { migrationId, internalId } = payload
      this.#add(fact, {
        index,
        type: reason === 'WORK_LOST' ? 'work-lost' : 'migration-condition',
        level: brokenReasons.includes(reason) ? 'error' : 'warning',
        object: migrationId,
        message: `Migration “${migrationId}”: ${message}`,
        facts: { migrationId, internalId, reason },
        problem,
      })
    }
  }

  #deleted(fact: StoredFact, payload: Migrating): void {
    this.#resolve(fact, stopOf(payload))
    const prefix = conditionsOf(payload)
    for (const problem of this.#open.keys()) if (problem.startsWith(prefix)) this.#resolve(fact, problem)
  }

  #verified(fact: StoredFact, payload: Payload<typeof verificationEvents.finished>): void {
    const { migrationId, status, totalDiscrepancies } = payload
    const found = totalDiscrepancies > 0 ? ` with ${plural(totalDiscrepancies, 'difference')}` : ''
    this.#add(fact, {
      type: 'verification-finished',
      level: totalDiscrepancies > 0 ? 'warning' : 'info',
      object: migrationId,
      message: `The verification of migration “${migrationId}” has ended: ${status.toLowerCase()}${found}`,
      facts: payload,
    })
  }

  #cleaned(fact: StoredFact, payload: Payload<typeof cleanupEvents.finished>): void {
    const { migrationId, status, filesRemoved, filesKept } = payload
    this.#add(fact, {
      type: 'cleanup-finished',
      level: 'info',
      object: migrationId,
      message: `The source cleanup of migration “${migrationId}” has ended: ${status.toLowerCase()}, ${plural(filesRemoved, 'file')} removed, ${filesKept} kept`,
      facts: payload,
    })
  }

  #fired(fact: StoredFact, payload: Payload<typeof alertEvents.fired>): void {
    const { id, rule, kind, severity, migration } = payload
    this.#add(fact, {
      type: 'alert',
      level: severity === 'critical' ? 'error' : 'warning',
      object: id,
      // A built-in rule has the name of its kind.
      message: `Alert rule “${rule}”${rule === kind ? '' : ` (${kind})`} has fired${migration === undefined ? '' : ` for migration “${migration}”`}`,
      facts: { id, rule, kind, severity, ...(migration === undefined ? {} : { migration }) },
      problem: `alert ${id}`,
    })
  }

  #aboutMigration(
    fact: StoredFact,
    type: NotificationType,
    level: NotificationLevel,
    what: string,
    more: Notification['facts'] = {},
    problem?: string,
  ): void {
    const { migrationId, internalId, state } = fact.payload as Migrating
    this.#add(fact, {
      type,
      level,
      object: migrationId,
      message: `Migration “${migrationId}” ${what}`,
      facts: { migrationId, internalId, state, ...more },
      ...(problem === undefined ? {} : { problem }),
    })
  }

  #add({ sequence, storedMs }: StoredFact, { index = 0, problem, message, ...told }: Told): void {
    const id = idOf(storedMs, sequence, index)
    const created = new Date(storedMs).toISOString()
    const text = shortened(message, maxTextLength)
    const notification = { id, ...told, message: text, resolved: false, created, updated: created }
    this.#all.set(id, { sequence, notification })
    if (problem !== undefined) this.#open.set(problem, id)
    if (this.#all.size <= this.#most) return
    const [oldest = ''] = this.#all.keys()
    this.#all.delete(oldest)
  }

  #resolve({ storedMs }: StoredFact, problem: string): void {
    const id = this.#open.get(problem)
    if (id === undefined) return
    this.#open.delete(problem)
    const known = this.#all.get(id)
    if (known === undefined) return
    const updated = new Date(storedMs).toISOString()
    this.#all.set(id, { ...known, notification: { ...known.notification, resolved: true, updated } })
  }
}

type Migrating = Payload<typeof migrationEvents.created>

interface Told extends Pick<Notification, 'type' | 'level' | 'object' | 'message' | 'facts'> {
  /** Which of those that a fact makes. */
  readonly index?: number
  /** What is resolved later. */
  readonly problem?: string
}

const stopOf = ({ internalId }: Migrating): string => `stop ${internalId}`
const conditionsOf = ({ internalId }: Migrating): string => `condition ${internalId} `

/** A UUID of version 8 (RFC 9562): when the fact was stored, which of its notifications this is, and its sequence. */
function idOf(storedMs: number, sequence: number, index: number): string {
  const hex = (value: number, digits: number) => value.toString(16).padStart(digits, '0')
  const [time, place] = [hex(storedMs, 12), hex(sequence, 15)]
  return `${time.slice(0, 8)}-${time.slice(8)}-8${hex(index, 3)}-8${place.slice(0, 3)}-${place.slice(3)}`
}
