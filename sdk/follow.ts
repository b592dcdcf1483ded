import { type Msg, type NatsConnection, PermissionViolationError } from '@nats-io/nats-core'
import { deniedBy } from '../client/errors.ts'
import { isFact } from '../client/facts.ts'
import { GantryError } from '../subjects/kit/errors.ts'

/** What has happened on the platform: `gantry.events.v1.<resource>.<event>.<id>`, and what the event says. */
export interface PlatformEvent {
  readonly subject: string
  readonly body: unknown
}

/** Events that wait for the loop over them, at most: one that is slower than they come would take ever more memory. */
export const maxWaitingEvents = 10_000

/**
 * Events from the moment the promise resolves, until the loop over them ends or the signal aborts. The broker keeps none for a
 * client that is away: after a lost connection, events go on with the next one. The loop ends with OVERLOADED once it is so slow
 * that `maxWaitingEvents` wait for it.
 */
export async function follow(
  connection: NatsConnection,
  subject: string,
  signal: AbortSignal | undefined,
): Promise<AsyncGenerator<PlatformEvent>> {
  const waiting: Msg[] = []
  let ending: { readonly error?: Error } | undefined
  let wake = () => {}
  const end = (error?: Error) => {
    ending ??= error === undefined ? {} : { error }
    subscription.unsubscribe()
    wake()
  }
  const take = (error: Error | null, message: Msg) => {
    if (error !== null) end(error instanceof PermissionViolationError ? deniedBy(error) : error)
    else if (isFact(message) && ending === undefined) {
      if (waiting.length >= maxWaitingEvents) end(overtaken(subject))
      else waiting.push(message)
      wake()
    }
  }
  const subscription = connection.subscribe(subject, { callback: take })
  const abort = () => end()
  if (signal?.aborted) end()
  signal?.addEventListener('abort', abort, { once: true })
  void subscription.closed.then(abort, abort)
  await connection.flush()
  return (async function* () {
    try {
      for (;;) {
        const message = waiting.shift()
        if (message !== undefined) yield { subject: message.subject, body: message.json() }
        else if (ending?.error !== undefined) throw ending.error
        else if (ending !== undefined) return
        else await new Promise<void>((resolve) => (wake = resolve))
      }
    } finally {
      signal?.removeEventListener('abort', abort)
      end()
    }
  })()
}

const overtaken = (subject: string) =>
  new GantryError(
    'OVERLOADED',
    `${maxWaitingEvents} events of ${subject} wait for this program, and no more are kept: follow again, then request the current state; do slow work outside of the loop`,
  )
