import type { Collection } from '../../../broker/state/collection.ts'
import { type Emission, emission } from '../../../broker/state/events.ts'
import { isGantryError } from '../../../subjects/kit/errors.ts'
import { migrationEvents } from '../../../subjects/migrations/events.ts'
import { move } from '../../kit/transition.ts'
import type { MigrationState } from '../../../subjects/migrations/model/model.ts'
import { entered, factOf, type MigrationRecord } from './record.ts'
import { type Command, type Happening, next, requireNext } from './states.ts'

type Records = Collection<typeof MigrationRecord>

/** What else changes with the state; `undefined`: nothing, the state neither. Pure: it may run several times. */
export type Change = (current: MigrationRecord) => MigrationRecord | undefined

/** The facts about a change that happened. */
type Facts = (changed: MigrationRecord, previous: MigrationState) => readonly Emission[]

/** Does what somebody asks for, and tells of it. @throws GantryError NOT_ALLOWED_IN_STATE, NOT_FOUND */
export async function command(
  records: Records,
  migrationId: string,
  trigger: Exclude<Command, 'delete'>,
  change: Change,
  facts: Facts = entryFacts,
): Promise<MigrationRecord> {
  const to = (current: MigrationRecord) => requireNext(migrationId, current, trigger)
  return (await move(records, migrationId, to, noting(to, change), facts)).record
}

/**
 * Changes the record as something that happened says, and tells of it; resolves to undefined when the migration is in no
 * state in which that means anything, or gone, because somebody else was faster.
 */
export async function applyTransition(
  records: Records,
  migrationId: string,
  trigger: Happening,
  change: Change,
  facts: Facts = entryFacts,
): Promise<MigrationRecord | undefined> {
  const to = (current: MigrationRecord) => next(current, trigger)
  try {
    const { record, happened } = await move(records, migrationId, to, noting(to, change), facts)
    return happened ? record : undefined
  } catch (error) {
    if (isGantryError(error, 'NOT_FOUND')) return undefined
    throw error
  }
}

/** The change with the state that is entered among those that are kept; who stays in one enters none. */
const noting =
  (to: (current: MigrationRecord) => MigrationState | 'gone' | undefined, change: Change): Change =>
  (current) => {
    const [state, changed] = [to(current), change(current)]
    if (changed === undefined || state === undefined || state === 'gone' || state === current.state)
      return changed
    return entered(changed, state, new Date())
  }

/** The event of a state that was entered; completion has figures of its own, and nothing enters NONSCHEDULED. */
const entryEvents = {
  SCHEDULED: migrationEvents.scheduled,
  RECURRENCE_SCHEDULED: migrationEvents.scheduled,
  RUNNING: migrationEvents.started,
  LIVE: migrationEvents.live,
  STOPPING: migrationEvents.stopping,
  STOPPED: migrationEvents.stopped,
  WAITING_FOR_NEXT_RECURRENCE: migrationEvents.waiting,
} as const

/** That a state was entered; nothing when it is the same as before. */
export function entryFacts(changed: MigrationRecord, previous: MigrationState): Emission[] {
  const { state, migrationId } = changed
  if (state === previous || state === 'NONSCHEDULED' || state === 'COMPLETED') return []
  return [emission(entryEvents[state], migrationId, { ...factOf(changed), previous })]
}
