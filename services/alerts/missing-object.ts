import { call } from '../../broker/rpc/client.ts'
import type { NatsConnection } from '../../broker/rpc/connection.ts'
import { keysInternal } from '../../subjects/access/keys.ts'
import { extensionsInternal } from '../../subjects/extensions/extensions.ts'
import { isGantryError } from '../../subjects/kit/errors.ts'
import { metadataMigrations } from '../../subjects/metadata/migrations.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import type { AlertKindName } from '../../subjects/observability/alert-model.ts'
import type { StoredRule } from './record.ts'

/** What the object of a rule is, and how it is asked for; one that is not there is NOT_FOUND. */
interface Sought {
  readonly what: string
  readonly look: (connection: NatsConnection, object: string) => Promise<unknown>
}

const extension: Sought = {
  what: 'extension',
  look: async (connection, prefix) => {
    const lost = await call(connection, extensionsInternal.lost, {})
    if (lost.every((one) => one.prefix !== prefix))
      await call(connection, extensionsInternal.endpoints, { prefix })
  },
}
const key: Sought = {
  what: 'API key',
  look: (connection, id) => call(connection, keysInternal.permissions, { id }),
}
const migration: Sought = {
  what: 'migration',
  look: (connection, migrationId) => call(connection, migrations.get, { migrationId }),
}
const metadataMigration: Sought = {
  what: 'metadata migration',
  look: (connection, migrationName) => call(connection, metadataMigrations.get, { migrationName }),
}

/** Of the other kinds there is one object only. */
const objects: Readonly<Partial<Record<AlertKindName, Sought>>> = {
  'extension-lost': extension,
  'key-expiring': key,
  'migration-failed': migration,
  'migration-lagging': migration,
  'migration-differences': migration,
  'metadata-migration-failed': metadataMigration,
  'metadata-migration-lagging': metadataMigration,
}

/**
 * That a rule is about something that does not exist. It may come: files that are applied to a new platform have rules for
 * what is made later.
 */
export async function missingObject(
  connection: NatsConnection,
  { kind, object }: Pick<StoredRule, 'kind' | 'object'>,
): Promise<string | undefined> {
  const sought = objects[kind]
  if (object === undefined || sought === undefined) return undefined
  try {
    await sought.look(connection, object)
    return undefined
  } catch (error) {
    // Nothing can have an id that is none. What cannot be asked for at the moment may be there.
    if (!isGantryError(error, 'NOT_FOUND') && !isGantryError(error, 'INVALID_INPUT')) return undefined
    return `there is no ${sought.what} ${object}: the rule takes effect once it exists`
  }
}
