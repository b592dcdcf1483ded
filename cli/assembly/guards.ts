import type { Admit } from '../../broker/callout/auth-callout.ts'
import { disconnectAtOnce } from '../../broker/callout/disconnects.ts'
import { KeyConnections } from '../../broker/callout/key-connections.ts'
import { watchPending } from '../../broker/callout/pending.ts'
import { type Violation, watchViolations } from '../../broker/callout/violations.ts'
import type { Log } from '../../broker/common/log.ts'
import type { Identity } from '../../broker/identity/identity.ts'
import { FloodGuard } from '../../broker/limits/flood-guard.ts'
import { addressMarks } from '../../broker/messages/client-address.ts'
import type { NatsConnection } from '../../broker/rpc/connection.ts'
import type { BrokerServer } from '../../broker/server/server.ts'
import type { Notices } from '../../services/kit/notices.ts'
import { part } from '../../services/kit/part.ts'
import { contracts, internalContracts } from '../../subjects/index.ts'

/** Names of the connections on which services are asked; see `connectServices`. */
const serviceNames: ReadonlySet<string> = new Set(
  [...contracts, ...internalContracts].map(({ resource }) => resource),
)

interface FloodNeeds {
  readonly broker: Pick<BrokerServer, 'processorMs'>
  readonly connections: { readonly system: NatsConnection }
  readonly identity: Identity
  readonly notices: Notices
  readonly log: Log
}

/** What keeps one key from taking the platform from all others. */
export const floodGuard = part({
  name: 'flood guard',
  tasks: ['broker.pending'],
  start: ({ broker, connections: { system }, identity, notices, log }: FloodNeeds) => {
    const marks = addressMarks(identity)
    const floods = new FloodGuard({
      marks,
      disconnect: (connection) => disconnectAtOnce(system, connection, log),
      onFlood: (flood) => notices.emit('flood', flood),
      log,
    })
    const connections = new KeyConnections(system, identity)
    const pending = watchPending(system, {
      identity,
      marks,
      services: serviceNames,
      processorMs: () => broker.processorMs(),
      onBehind: (isBehind) => (floods.isBehind = isBehind),
      onSlowReader: (reader) => notices.emit('slowReader', reader),
      log,
    })
    const admit: Admit = async (key, opening) => {
      floods.belongs(key.id, key.owner)
      if (opening === undefined) return undefined
      return floods.isOut(key.id)
        ? 'the key has just flooded the services with requests'
        : connections.admit(key, opening)
    }
    return {
      gives: { floods, admit },
      stop: () => {
        pending.stop()
        connections.stop()
      },
    }
  },
})

interface ViolationNeeds {
  /** Path of nats-server's own log. */
  readonly brokerLog: string
  readonly identity: Identity
  readonly notices: Notices
  readonly log: Log
}

/** Tells of what nats-server does not let keys do, by its log. After those who record it, so that it ends before them. */
export const violationWatch = part({
  name: 'violations',
  tasks: ['broker.log'],
  start: async ({ brokerLog, identity, notices, log }: ViolationNeeds) => {
    const marks = addressMarks(identity)
    const onViolation = (violation: Violation) => notices.emit('violation', violation)
    const watching = await watchViolations(brokerLog, { marks, onViolation, log })
    return { stop: () => watching.stop() }
  },
})
