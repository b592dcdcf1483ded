import type { Admit } from '../../broker/callout/auth-callout.ts'
import { addressMarks } from '../../broker/messages/client-address.ts'
import type { NatsConnection } from '../../broker/rpc/connection.ts'
import { disconnectAtOnce } from '../../broker/callout/disconnects.ts'
import { type Flood, FloodGuard } from '../../broker/limits/flood-guard.ts'
import type { Identity } from '../../broker/identity/identity.ts'
import { KeyConnections } from '../../broker/callout/key-connections.ts'
import type { Log } from '../../broker/common/log.ts'
import { type SlowReader, watchPending } from '../../broker/callout/pending.ts'
import { serviceNames } from './serve-all.ts'

export interface GuardOptions {
  readonly system: NatsConnection
  readonly identity: Identity
  readonly onFlood: (flood: Flood) => void
  readonly onSlowReader: (reader: SlowReader) => void
  readonly log: Log
}

/** What keeps one key from taking the platform from all others. */
export function startGuards({ system, identity, onFlood, onSlowReader, log }: GuardOptions) {
  const marks = addressMarks(identity)
  const floods = new FloodGuard({
    marks,
    disconnect: (connection) => disconnectAtOnce(system, connection, log),
    onFlood,
    log,
  })
  const connections = new KeyConnections(system, identity)
  const pending = watchPending(system, {
    identity,
    marks,
    services: serviceNames,
    onBehind: (isBehind) => (floods.isBehind = isBehind),
    onSlowReader,
    log,
  })
  const admit: Admit = async (key, opening) => {
    floods.belongs(key.id, key.owner)
    if (opening === undefined) return undefined
    return floods.isOut(key.id)
      ? 'the key flooded the services a moment ago'
      : connections.admit(key, opening)
  }
  return {
    floods,
    admit,
    stop: () => {
      pending.stop()
      connections.stop()
    },
  }
}
