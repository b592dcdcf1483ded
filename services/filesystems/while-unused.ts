import type { NatsConnection } from '../../broker/rpc/connection.ts'
import { migrationEvents } from '../../subjects/migrations/events.ts'
import { eventSubject } from '../../subjects/kit/names.ts'

/** A path of a filesystem. */
export interface Place {
  readonly fileSystemId: string
  readonly path: string
}

interface Uses {
  readonly connection: NatsConnection
  /** Migrations that work at a place, above or below it. */
  readonly workingAt: (place: Place) => Promise<string[]>
}

/** Migrations work at the place, or one has begun to: then some of the work may be done. */
export class PlaceInUse extends Error {
  readonly migrations: readonly string[]
  readonly isBegun: boolean

  constructor(migrations: readonly string[], isBegun: boolean) {
    super(`migrations work there: ${migrations.join(', ')}`)
    this.migrations = migrations
    this.isBegun = isBegun
  }
}

/**
 * Does work at a place while no migration works there. One that begins meanwhile aborts it.
 * @throws PlaceInUse, and what the work throws
 */
export async function whileUnused<T>(
  { connection, workingAt }: Uses,
  place: Place,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const used = new AbortController()
  const failed = (error: unknown) => used.abort(error)
  const look = async (isBegun: boolean) => {
    const migrations = await workingAt(place)
    if (migrations.length > 0) used.abort(new PlaceInUse(migrations, isBegun))
  }
  // From before the first look on: nothing begins between the two.
  const subject = eventSubject(migrationEvents.started.resource, '*', '*')
  const events = connection.subscribe(subject, { callback: () => void look(true).catch(failed) })
  try {
    await connection.flush()
    await look(false)
    used.signal.throwIfAborted()
    return await work(used.signal)
  } finally {
    events.unsubscribe()
  }
}
