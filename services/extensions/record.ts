import { type Static, Type } from 'typebox'
import { Collection } from '../../broker/state/collection.ts'
import type { NatsConnection } from '../../broker/rpc/connection.ts'
import type { RecordJournals } from '../../broker/state/books/record-journal.ts'
import {
  InstanceId,
  LogEntry,
  maxLogEntries,
  Prefix,
  registrationFields,
} from '../../subjects/extensions/model.ts'
import { KeyId } from '../../subjects/access/keys.ts'
import { list, strict, Subject, Timestamp } from '../../subjects/kit/schemas.ts'

/** Whose a prefix is; it stays so when no instance is there, as does what is stored for it. */
const OwnedPrefix = strict({
  prefix: Prefix,
  owner: Subject('Owner of the key that registered it first'),
  created: Timestamp('When'),
  lost: Type.Optional(Timestamp('When its last instance went without a goodbye')),
})

/** An instance that is there. */
export const InstanceRecord = strict({
  instance: InstanceId,
  prefix: Prefix,
  owner: OwnedPrefix.properties.owner,
  key: KeyId,
  registered: Timestamp('When'),
  connection: strict({
    server: Type.String({ maxLength: 200 }),
    id: Type.Integer(),
    started: Type.String({ maxLength: 60 }),
  }),
  registration: strict(registrationFields),
})
export type InstanceRecord = Static<typeof InstanceRecord>

/** By the same id as the instance: small, as it is written every few seconds. */
const Heartbeat = strict({ seen: Timestamp('Last sign of life') })

const LogPage = strict({ entries: list(LogEntry, maxLogEntries) })

/** All that is stored of extensions, but for what they store themselves. */
export interface ExtensionState {
  readonly owned: Collection<typeof OwnedPrefix>
  readonly instances: Collection<typeof InstanceRecord>
  readonly heartbeats: Collection<typeof Heartbeat>
  readonly logs: Collection<typeof LogPage>
}

export async function openState(
  connection: NatsConnection,
  journals: RecordJournals,
): Promise<ExtensionState> {
  const version = 1
  const [owned, instances, heartbeats, logs] = await Promise.all([
    Collection.open(connection, {
      bucket: 'extension-prefixes',
      schema: OwnedPrefix,
      version,
      groupOf: ({ owner }) => owner,
      journals,
    }),
    Collection.open(connection, { bucket: 'extension-instances', schema: InstanceRecord, version }),
    Collection.open(connection, { bucket: 'extension-heartbeats', schema: Heartbeat, version }),
    Collection.open(connection, { bucket: 'extension-logs', schema: LogPage, version }),
  ])
  return { owned, instances, heartbeats, logs }
}

/** Instances choose their ids, so they are told apart by prefix as well. */
export const instanceKey = ({ prefix, instance }: Pick<InstanceRecord, 'prefix' | 'instance'>): string =>
  `${prefix}/${instance}`
