import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { changesIn } from '../../../../../services/metadata/catalogs/hive/events.ts'

const of = { dbName: 'Sales', tableName: 'Orders', eventTime: 1_700_000_000 }
const at = { database: 'sales', table: 'orders', atMs: 1_700_000_000_000 }
/** Messages as releases 3 and 4 write them. */
const written = (message: unknown) => {
  const text = JSON.stringify(message)
  return [
    { message: text, messageFormat: 'json-0.2' },
    { message: gzipSync(text).toString('base64'), messageFormat: 'gzip(json-2.0)' },
  ]
}

test('partitions are told by their names, whatever the format', () => {
  const partitions = [
    { year: '2026', place: 'a/b' },
    { year: '2027', place: 'c' },
  ]
  for (const told of written({ db: 'sales', table: 'orders', partitions }))
    for (const eventType of ['ADD_PARTITION', 'DROP_PARTITION'])
      expect(changesIn({ ...of, ...told, eventType })).toEqual([
        { ...at, partitions: ['year=2026/place=a%2Fb', 'year=2027/place=c'] },
      ])
})

test('a partition that gets other values is told by both names', () => {
  const after = (...values: string[]) =>
    JSON.stringify({ '1': { lst: ['str', values.length, ...values] }, '2': { str: 'sales' } })
  const changed = (values: string[]) =>
    changesIn({
      ...of,
      ...written({ keyValues: { year: '2026', place: 'a' }, partitionObjAfterJson: after(...values) })[0],
      eventType: 'ALTER_PARTITION',
    })
  expect(changed(['2026', 'a'])).toEqual([{ ...at, partitions: ['year=2026/place=a'] }])
  expect(changed(['2026', 'b'])).toEqual([{ ...at, partitions: ['year=2026/place=a', 'year=2026/place=b'] }])
})

test('a table that is renamed is told by both names', () => {
  for (const told of written({ db: 'sales', table: 'old' }))
    expect(changesIn({ ...of, ...told, eventType: 'ALTER_TABLE' })).toEqual([
      { ...at, table: 'old', isGone: true },
      { ...at, renamedFrom: { database: 'sales', name: 'old' } },
    ])
  for (const told of written({ db: 'sales', table: 'orders' }))
    expect(changesIn({ ...of, ...told, eventType: 'ALTER_TABLE' })).toEqual([at])
})

test('functions, databases and transactions', () => {
  const { atMs, database } = at
  expect(changesIn({ dbName: 'sales', eventTime: of.eventTime, eventType: 'CREATE_FUNCTION' })).toEqual([
    { atMs, database, functions: true },
  ])
  expect(changesIn({ dbName: 'sales', eventTime: of.eventTime, eventType: 'ALTER_DATABASE' })).toEqual([
    { atMs, database },
  ])
  expect(changesIn({ dbName: 'sales', eventTime: of.eventTime, eventType: 'DROP_DATABASE' })).toEqual([
    { atMs, database, isGone: true },
  ])
  expect(changesIn({ ...of, eventType: 'DROP_TABLE' })).toEqual([{ ...at, isGone: true }])
  expect(changesIn({ eventTime: of.eventTime, eventType: 'OPEN_TXN' })).toEqual([])
  expect(changesIn({ ...of, eventType: 'NOT_KNOWN_YET' })).toEqual([at])
})

test.each([
  ['no JSON', 'json-0.2'],
  ['no base64', 'gzip(json-2.0)'],
  [gzipSync(Buffer.alloc(100 * 1024 * 1024)).toString('base64'), 'gzip(json-2.0)'],
  ['[]', 'json-0.2'],
  ['{"partitions":[{"year":7}]}', 'json-0.2'],
  ['{"partitions":[{}]}', 'json-0.2'],
  // Keys that are numbers would come in another order.
  ['{"partitions":[{"b":"x","1":"y"}]}', 'json-0.2'],
])('a message that is not understood tells the table', (message, messageFormat) => {
  expect(changesIn({ ...of, message, messageFormat, eventType: 'ADD_PARTITION' })).toEqual([at])
})
