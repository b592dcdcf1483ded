import { type Static, Type } from 'typebox'
import { Collection } from '../../../../broker/state/collection.ts'
import type { NatsConnection } from '../../../../broker/rpc/connection.ts'
import type { RecordJournals } from '../../../../broker/state/books/record-journal.ts'
import { PathMapping } from '../../../../subjects/migrations/model/path-mapping-model.ts'
import { strict, Subject } from '../../../../subjects/kit/schemas.ts'

/** A path mapping as it is stored. */
export const StoredMapping = strict({
  ...PathMapping.properties,
  owner: Type.Optional(Subject('Owner of the key that made it')),
})
export type StoredMapping = Static<typeof StoredMapping>

export type Mappings = Collection<typeof StoredMapping>

export const openMappings = (connection: NatsConnection, journals: RecordJournals): Promise<Mappings> =>
  Collection.open(connection, {
    bucket: 'path-mappings',
    schema: StoredMapping,
    version: 1,
    groupOf: ({ owner }) => owner,
    journals,
  })

/** A path mapping as callers see it, and as migrations take it over. */
export const publicMapping = ({ owner: _owner, ...mapping }: StoredMapping): PathMapping => mapping
