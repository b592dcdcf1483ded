import { Collection } from '../../broker/state/collection.ts'
import type { Events } from '../../broker/state/events.ts'
import type { NatsConnection } from '../../broker/rpc/connection.ts'
import type { RecordJournals } from '../../broker/state/books/record-journal.ts'
import { Assignment } from '../../subjects/access/assignments.ts'
import { Role } from '../../subjects/access/roles.ts'
import { defaultSettings, Settings } from '../../subjects/access/settings.ts'
import { User } from '../../subjects/access/users.ts'
import { type KeyCollection, openKeys } from './keys/keys.ts'

/** All that is stored of who may do what. */
export interface AccessState {
  readonly keys: KeyCollection
  readonly roles: Collection<typeof Role>
  /** By group. */
  readonly assignments: Collection<typeof Assignment>
  /** By subject. */
  readonly users: Collection<typeof User>
  /** One document. */
  readonly settings: Collection<typeof Settings>
}

/** Settings that a release before did not know have their defaults. */
const withDefaults = (document: unknown) => ({ ...defaultSettings, ...(document as object) })

/** @param events where changes of settings are told */
export async function openState(
  connection: NatsConnection,
  events?: Events,
  journals?: RecordJournals,
): Promise<AccessState> {
  const [keys, roles, assignments, users, settings] = await Promise.all([
    openKeys(connection, journals),
    Collection.open(connection, { bucket: 'roles', schema: Role, version: 1, journals }),
    Collection.open(connection, { bucket: 'assignments', schema: Assignment, version: 1, journals }),
    Collection.open(connection, { bucket: 'users', schema: User, version: 1, journals }),
    Collection.open(connection, {
      bucket: 'settings',
      schema: Settings,
      version: 5,
      upcasters: { 1: withDefaults, 2: withDefaults, 3: withDefaults, 4: withDefaults },
      journals,
      ...(events === undefined ? {} : { events }),
    }),
  ])
  return { keys, roles, assignments, users, settings }
}

/** The settings, those that nobody has changed by their defaults. */
export async function readSettings({ settings }: Pick<AccessState, 'settings'>): Promise<Settings> {
  return { ...defaultSettings, ...(await settings.get(settingsId)) }
}

export const settingsId = 'settings'
