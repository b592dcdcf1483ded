import { expect, test } from 'vitest'
import {
  type LocationRules,
  Locations,
} from '../../../../services/metadata/migrations/reconcile/locations.ts'
import type { Table } from '../../../../subjects/metadata/objects.ts'
import { plainStorage } from '../../../support/catalog-conformance.ts'

const rules: LocationRules = {
  from: ['hdfs://nameservice1', 'webhdfs://nameservice1'],
  to: 's3a://lake',
  mappings: [
    { sourcePath: '/warehouse', targetPath: '/wh' },
    { sourcePath: '/warehouse/special/', targetPath: '/other' },
    { sourcePath: '/ware', targetPath: '/wrong' },
  ],
}

const tableAt = (location: string | undefined, parameters = {}): Table => ({
  database: 'db',
  name: 'table',
  type: 'EXTERNAL_TABLE',
  columns: [],
  partitionKeys: [],
  storage: plainStorage(location),
  parameters,
})
const rewritten = (location: string, its: LocationRules = rules): string | undefined =>
  new Locations(its).table(tableAt(location)).storage.location

test.each([
  ['hdfs://nameservice1/data/x', 's3a://lake/data/x'],
  ['hdfs://nameservice1:8020/data/x', 's3a://lake/data/x'],
  ['webhdfs://nameservice1/data/x/', 's3a://lake/data/x'],
  ['hdfs://nameservice1//data///x', 's3a://lake/data/x'],
  ['hdfs://nameservice1/', 's3a://lake'],
  ['hdfs://nameservice1/warehouse/db', 's3a://lake/wh/db'],
  ['hdfs://nameservice1/warehouse', 's3a://lake/wh'],
  ['hdfs://nameservice1/warehouse/special/t', 's3a://lake/other/t'],
  ['hdfs://nameservice1/warehouses/db', 's3a://lake/warehouses/db'],
  ['HDFS://nameservice1/data/x', 's3a://lake/data/x'],
  ['hdfs://nameservice2/data/x', 'hdfs://nameservice2/data/x'],
  ['hdfs://nameservice1.example/data', 'hdfs://nameservice1.example/data'],
  ['s3a://lake/data', 's3a://lake/data'],
  ['/data/x', '/data/x'],
])('%s becomes %s', (location, expected) => {
  expect(rewritten(location)).toBe(expected)
})

test('a root below a bucket or folder is taken off, and put on', () => {
  const its = {
    from: ['file:/srv/lake', 'file:///srv/lake'],
    to: 'abfss://c@account.dfs.core.windows.net/in/',
    mappings: [],
  }
  expect(rewritten('file:/srv/lake/a', its)).toBe('abfss://c@account.dfs.core.windows.net/in/a')
  expect(rewritten('file:///srv/lake/a', its)).toBe('abfss://c@account.dfs.core.windows.net/in/a')
  expect(rewritten('file:/srv/lakes/a', its)).toBe('file:/srv/lakes/a')
})

test('what another cluster on the same host has is not of the source', () => {
  const its = { from: ['hdfs://one:9000', 'webhdfs://one'], to: 'hdfs://one:9001', mappings: [] }
  expect(rewritten('hdfs://one:9000/a', its)).toBe('hdfs://one:9001/a')
  expect(rewritten('hdfs://one/a', its)).toBe('hdfs://one:9001/a')
  expect(rewritten('webhdfs://one:9870/a', its)).toBe('hdfs://one:9001/a')
  expect(rewritten('hdfs://one:9001/a', its)).toBe('hdfs://one:9001/a')
  expect(rewritten('hdfs://one:9002/a', its)).toBe('hdfs://one:9002/a')
  expect(new Locations(its).pathAtSource('hdfs://one:9001/a')).toBeUndefined()
})

test('without a source filesystem, the start of each table’s own location is replaced', () => {
  const its = { from: [], to: 'gs://bucket', mappings: [] }
  expect(rewritten('hdfs://anything:9000/a/b', its)).toBe('gs://bucket/a/b')
  const { parameters } = new Locations(its).table(
    tableAt('hdfs://one/a', { same: 'hdfs://one/b', other: 'hdfs://two/b' }),
  )
  expect(parameters).toEqual({ same: 'gs://bucket/b', other: 'hdfs://two/b' })
})

test('without a target, everything stays', () => {
  expect(rewritten('hdfs://nameservice1//a', { ...rules, to: undefined })).toBe('hdfs://nameservice1//a')
})

test('paths in parameters, serdes and skew change as well; other texts do not', () => {
  const table = tableAt('hdfs://nameservice1/t', {
    metadata_location: 'hdfs://nameservice1/t/metadata/1.json',
    comment: 'files are in hdfs://nameservice1/t',
    note: 'hdfs://nameservice1/t is where files are',
  })
  const { storage, parameters } = new Locations(rules).table({
    ...table,
    storage: {
      ...table.storage,
      serde: { parameters: { 'avro.schema.url': 'hdfs://nameservice1/schemas/t.avsc' } },
      skew: {
        columns: ['a'],
        values: [['1']],
        locations: [{ values: ['1'], location: 'hdfs://nameservice1/t/a=1' }],
        inSubfolders: true,
      },
    },
  })
  expect(parameters).toEqual({
    metadata_location: 's3a://lake/t/metadata/1.json',
    comment: 'files are in hdfs://nameservice1/t',
    note: 'hdfs://nameservice1/t is where files are',
  })
  expect(storage.serde?.parameters).toEqual({ 'avro.schema.url': 's3a://lake/schemas/t.avsc' })
  expect(storage.skew?.locations).toEqual([{ values: ['1'], location: 's3a://lake/t/a=1' }])
})

test('the path of a table in the source’s filesystem', () => {
  const locations = new Locations(rules)
  expect(locations.pathAtSource('hdfs://nameservice1/warehouse/t/')).toBe('/warehouse/t')
  expect(locations.pathAtSource('hdfs://elsewhere/warehouse/t')).toBeUndefined()
  expect(locations.pathAtSource(undefined)).toBeUndefined()
})
