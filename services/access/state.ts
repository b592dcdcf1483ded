import { Collection } from '../../broker/collection.ts'
import type { Events } from '../../broker/events.ts'
import type { NatsConnection } from '../../broker/connection.ts'
import { Assignment } from '../../subjects/assignments.ts'
import { Role } from '../../subjects/roles.ts'
import { Settings } from '../../subjects/settings.ts'
import { User } from '../../subjects/users.ts'
import { type KeyCollection, openKeys } from './keys.ts'

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

/** Settings that a release before did not know. */
const settingsUpcasters = { 1: (document: unknown) => ({ maxRunningMigrations: 0, ...(document as object) }) }

/** @param events where changes of settings are told */
export async function openState(connection: NatsConnection, events?: Events): Promise<AccessState> {
  const [keys, roles, assignments, users, settings] = await Promise.all([
    openKeys(connection),
    Collection.open(connection, { bucket: 'roles', schema: Role, version: 1 }),
    Collection.open(connection, { bucket: 'assignments', schema: Assignment, version: 1 }),
    Collection.open(connection, { bucket: 'users', schema: User, version: 1 }),
    Collection.open(connection, {
      bucket: 'settings',
      schema: Settings,
      version: 2,
      upcasters: settingsUpcasters,
      ...(events === undefined ? {} : { events }),
    }),
  ])
  return { keys, roles, assignments, users, settings }
}
