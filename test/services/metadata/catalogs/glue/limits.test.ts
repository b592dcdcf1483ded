import { expect, test } from 'vitest'
import { refusalOf } from '../../../../../services/metadata/catalogs/glue/limits.ts'
import type { Table } from '../../../../../subjects/metadata/objects.ts'

const column = { name: 'id', type: 'bigint' }
const storage = { compressed: false, bucketCount: -1, bucketColumns: [], sortColumns: [], parameters: {} }
const table: Table = {
  database: 'lake',
  name: 'orders',
  type: 'EXTERNAL_TABLE',
  columns: [column],
  partitionKeys: [],
  storage,
  parameters: {},
}

test.each<Partial<Table>>([
  {},
  { type: 'MANAGED_TABLE', parameters: { transactional: 'false', comment: 'Two\nlines' } },
  { type: 'VIRTUAL_VIEW' },
  { columns: [{ ...column, comment: 'ü'.repeat(127) }] },
])('Glue holds a table with %j', (more) => {
  expect(refusalOf({ ...table, ...more })).toBeUndefined()
})

test.each<[Partial<Table>, string]>([
  [{ type: 'MATERIALIZED_VIEW' }, 'does not support materialized views'],
  [{ type: 'RESOURCE_LINK' }, 'does not support tables of type RESOURCE_LINK'],
  [{ parameters: { transactional: 'TRUE' } }, 'transactions'],
  [{ name: 'x'.repeat(256) }, 'its name has more than 255 bytes'],
  [
    { columns: [{ ...column, comment: 'ü'.repeat(128) }] },
    'the comment on the column id has more than 255 bytes',
  ],
  [{ partitionKeys: [{ ...column, comment: 'two\nlines' }] }, 'the comment on the column id has line breaks'],
  [
    { storage: { ...storage, location: `s3://${'x'.repeat(2_060)}` } },
    'its location has more than 2056 bytes',
  ],
  [{ parameters: { ['k'.repeat(300)]: '' } }, 'has more than 255 bytes'],
  [
    { storage: { ...storage, parameters: { big: 'x'.repeat(512_001) } } },
    'the parameter big has more than 512000',
  ],
])('Glue refuses a table with %j', (more, reason) => {
  expect(refusalOf({ ...table, ...more })).toContain(reason)
})
