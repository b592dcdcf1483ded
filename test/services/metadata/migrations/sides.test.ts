import { expect, test } from 'vitest'
import { Sides } from '../../../../services/metadata/migrations/reconcile/sides.ts'
import type { Table } from '../../../../subjects/metadata/objects.ts'
import { plainStorage } from '../../../support/catalog-conformance.ts'
import { DocumentLake } from '../../../support/document-lake.ts'

const table = (location: string, more: Partial<Table> = {}): Table => ({
  database: 'sales',
  name: 'orders',
  type: 'EXTERNAL_TABLE',
  columns: [],
  partitionKeys: [],
  storage: plainStorage(location),
  parameters: {},
  ...more,
})
const owner = { name: 'ada', type: 'user' } as const

test.each<[string, Table, Table, boolean]>([
  ['an empty authority', table('file:///lake/a'), table('file:/lake/a'), true],
  ['another authority', table('hdfs://one/lake/a'), table('hdfs:/lake/a'), false],
  ['another folder', table('file:///lake/a'), table('file:/lake/b'), false],
  ['an owner that nobody asked for', table('file:/lake/a'), table('file:/lake/a', { owner }), true],
  ['no owner where one was asked for', table('file:/lake/a', { owner }), table('file:/lake/a'), false],
])('%s', async (_, wanted, found, isSame) => {
  using lake = new DocumentLake()
  const [source, target] = await Promise.all([lake.open('source', '/'), lake.open('target', '/')])
  const sides = new Sides(source, target, {
    locations: { from: [], to: undefined, mappings: [] },
    statistics: 'all',
  })
  expect(sides.isSame(wanted, found)).toBe(isSame)
  expect(sides.differences(wanted, found)).toHaveLength(isSame ? 0 : 1)
  const [one, other] = [wanted, found].map(({ storage: { location } }) => table(location!))
  expect(sides.digest(one!) === sides.digest(other!)).toBe(
    isSame || one!.storage.location === other!.storage.location,
  )
  source.close()
  target.close()
})
