import { isGantryError } from '../../subjects/kit/errors.ts'
import type { MigrationState } from '../../subjects/migrations/model/model.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import type { Session } from '../sign-in/session.ts'
import type { Info } from '../../subjects/migrations/rate.ts'

/** Of these nothing more is to be expected unless somebody asks for it. */
export const ended: readonly MigrationState[] = ['NONSCHEDULED', 'STOPPED', 'COMPLETED']

/** Which migrations of files are watched. */
interface Named {
  /** How far each is, those included that ended since the last look. @throws GantryError */
  look(session: Pick<Session, 'call'>): Promise<Info[]>
  has(migrationId: string): boolean
  /** A migration began, or goes on. */
  begun(migrationId: string): void
}

/** One, whatever its state. */
export class OneNamed implements Named {
  readonly #migrationId: string

  constructor(migrationId: string) {
    this.#migrationId = migrationId
  }

  async look(session: Pick<Session, 'call'>): Promise<Info[]> {
    return [await session.call(migrations.progress, { migrationId: this.#migrationId })]
  }

  has(migrationId: string): boolean {
    return migrationId === this.#migrationId
  }

  begun(): void {
    // It is watched in any case.
  }
}

/** All that run, wait for their turn, or for their next scan: whoever is in such a state at a look. */
export class AllStarted implements Named {
  /** Those whose end was not seen yet. */
  readonly #going = new Set<string>()

  async look(session: Pick<Session, 'call'>): Promise<Info[]> {
    // What begins meanwhile is for the next look, which an event like that wakes.
    const before = [...this.#going]
    const { running, live, recurrenceScheduled, waitingForNextRecurrence } = await session.call(
      migrations.summary,
      {},
    )
    const going = [running, live, recurrenceScheduled, waitingForNextRecurrence].flatMap(
      (list) => list.migrations,
    )
    const isGoing = new Set(going.map(({ id }) => id))
    const others = await Promise.all(
      before.filter((id) => !isGoing.has(id)).map((id) => progressOf(session, id)),
    )
    const seen = [...going, ...others.filter((info) => info !== undefined)]
    for (const id of before) this.#going.delete(id)
    for (const { id, state } of seen) if (!ended.includes(state)) this.#going.add(id)
    return seen
  }

  has(migrationId: string): boolean {
    return this.#going.has(migrationId)
  }

  /** It may be done before the next look. */
  begun(migrationId: string): void {
    this.#going.add(migrationId)
  }
}

/** Undefined for one that was deleted meanwhile. */
async function progressOf(session: Pick<Session, 'call'>, migrationId: string): Promise<Info | undefined> {
  try {
    return await session.call(migrations.progress, { migrationId })
  } catch (error) {
    if (isGantryError(error, 'NOT_FOUND')) return undefined
    throw error
  }
}
