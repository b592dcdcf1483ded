import { headers, type Msg, type NatsConnection, type Subscription } from '@nats-io/transport-node'
import type { Caller, Contract } from '../../subjects/kit/contract.ts'
import { serviceQueue } from '../../subjects/kit/names.ts'
import { callerOf } from '../messages/caller.ts'
import { endpointInfo, infoReply, pingReply } from './discovery.ts'
import type { FloodGuard } from '../limits/flood-guard.ts'
import type { Identity } from '../identity/identity.ts'
import type { Log } from '../common/log.ts'

/** A service that does not answer discovery itself. */
export interface KnownService {
  readonly name: string
  readonly id: string
  readonly version: string
  readonly description: string
  readonly endpoints: readonly Contract[]
}

export interface OthersOptions {
  readonly identity: Pick<Identity, 'GANTRY' | 'AGENTS'>
  /** Those that a caller may know of. */
  readonly knownTo: (caller: Caller) => Promise<readonly KnownService[]>
  /** Whether a service answers itself. */
  readonly isOurs: (name: string) => boolean
  readonly floods: Pick<FloodGuard, 'judge'>
  readonly log: Log
}

const replies = {
  PING: (service: KnownService) => pingReply(service),
  INFO: (service: KnownService) =>
    infoReply(service, service.description, service.endpoints.map(endpointInfo)),
}

/**
 * Answers `$SRV.PING` and `$SRV.INFO` for services of others, to each caller for those that it may know of; what they have
 * done (`STATS`) they alone know. One node answers.
 */
export function announceOthers(
  connection: NatsConnection,
  { identity, knownTo, isOurs, floods, log }: OthersOptions,
): Subscription[] {
  const answer = async (kind: keyof typeof replies, message: Msg): Promise<void> => {
    const [, , name, id] = message.subject.split('.')
    const caller = callerOf(message, identity)
    const known = caller === undefined ? [] : await knownTo(caller)
    const asked = known.filter(
      (one) => (name === undefined || one.name === name) && (id === undefined || one.id === id),
    )
    for (const service of asked) message.respond(JSON.stringify(replies[kind](service)))
    // As the broker says it of a name that nobody answers to; our subscription is for all names.
    if (asked.length === 0 && name !== undefined && !isOurs(name))
      message.respond('', { headers: headers(503, 'No Responders') })
  }
  return (['PING', 'INFO'] as const).flatMap((kind) =>
    [`$SRV.${kind}`, `$SRV.${kind}.*`, `$SRV.${kind}.*.*`].map((subject) =>
      connection.subscribe(subject, {
        queue: serviceQueue,
        callback: (error: Error | null, message: Msg) => {
          if (error === null && floods.judge(message) === 'answer')
            answer(kind, message).catch((err: unknown) =>
              log.warn({ err }, 'Extensions could not be discovered.'),
            )
        },
      }),
    ),
  )
}
