import { expect, onTestFinished, test, vi } from 'vitest'
import { StoreError } from '../../../../services/drivers/contract/store-error.ts'
import type { Catalog, CatalogWriter } from '../../../../services/metadata/catalogs/contract/catalog.ts'
import { reconcilePartitions } from '../../../../services/metadata/migrations/reconcile/partitions.ts'
import { Sides } from '../../../../services/metadata/migrations/reconcile/sides.ts'
import type { Partition } from '../../../../subjects/metadata/objects.ts'
import { partition, table } from '../catalogs/filesystem/document-catalog-suite.ts'

const never = new AbortController().signal
const days = { database: 'sales', name: 'days' }
const nameOf = ({ values }: Partition) => `day=${values.join()}`

/** A catalog of one table's partitions, one of which cannot be added. */
function catalogOf(partitions: readonly Partition[], refused?: string): Catalog {
  const has = new Map(partitions.map((one) => [nameOf(one), one]))
  const writer: Partial<CatalogWriter> = {
    isOwnParameter: () => false,
    addPartitions: async (_, added) => {
      for (const one of added) if (nameOf(one) !== refused) has.set(nameOf(one), one)
      if (added.some((one) => nameOf(one) === refused)) throw new StoreError('io', `${refused} failed`)
    },
  }
  return {
    place: 'the catalog',
    partitionNames: async () => [...has.keys()].toSorted(),
    partitions: async (_: object, names: readonly string[]) => names.flatMap((name) => has.get(name) ?? []),
    writer,
  } as unknown as Catalog
}

test('partitions of a table arrive though one of them fails, which is told with the last of them', async () => {
  const all = Array.from({ length: 2_500 }, (_, index) => partition(`d${String(index).padStart(4, '0')}`))
  const target = catalogOf([], 'day=d0007')
  const sides = new Sides(catalogOf(all), target, {
    locations: { from: [], to: undefined, mappings: [] },
    statistics: 'none',
  })
  const source = table(days.database, days.name)
  const asked = { table: days, source, isNew: true, maxDrops: 0, gates: [], isOver: () => false }
  expect(await reconcilePartitions(sides, asked, never)).toEqual({
    arrived: 2_499,
    written: 2_499,
    held: 0,
    failure: { failureClass: 'io', message: 'day=d0007 failed' },
  })
  expect(await target.partitionNames(days, never)).toHaveLength(2_499)
})

test('a target is not asked for partitions that it does not have', async () => {
  const all = Array.from({ length: 2_500 }, (_, index) => partition(`d${String(index).padStart(4, '0')}`))
  const target = catalogOf(all.slice(0, 10))
  const asked: number[] = []
  const partitions = target.partitions.bind(target)
  target.partitions = (table, names, signal) => {
    asked.push(names.length)
    return partitions(table, names, signal)
  }
  const sides = new Sides(catalogOf(all), target, {
    locations: { from: [], to: undefined, mappings: [] },
    statistics: 'none',
  })
  const source = table(days.database, days.name)
  const of = { table: days, source, isNew: false, maxDrops: 0, gates: [], isOver: () => false }
  expect(await reconcilePartitions(sides, of, never)).toEqual({ arrived: 2_500, written: 2_490, held: 0 })
  expect(asked).toEqual([10])
})

test.for([
  ['ends after a batch once its time is over', 0, 300, { arrived: 1_000, after: 'day=d0999' }],
  ['goes on where listing all names again would take longer than that', 200, 0, { arrived: 2_500 }],
] as const)('a look at partitions %s', async ([, listingMs, batchMs, done]) => {
  const all = Array.from({ length: 2_500 }, (_, index) => partition(`d${String(index).padStart(4, '0')}`))
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const from = catalogOf(all)
  const partitionNames = from.partitionNames.bind(from)
  const partitions = from.partitions.bind(from)
  from.partitionNames = async (...asked) => {
    vi.advanceTimersByTime(listingMs)
    return partitionNames(...asked)
  }
  from.partitions = async (...asked) => {
    vi.advanceTimersByTime(batchMs)
    return partitions(...asked)
  }
  const sides = new Sides(from, catalogOf([]), {
    locations: { from: [], to: undefined, mappings: [] },
    statistics: 'none',
  })
  const source = table(days.database, days.name)
  const of = { table: days, source, isNew: true, maxDrops: 0, gates: [], isOver: () => true }
  const { after, arrived } = await reconcilePartitions(sides, of, never)
  expect({ arrived, ...(after !== undefined && { after }) }).toEqual(done)
})

test('a partition that was made after its table was seen waits for its own files', async () => {
  const all = ['one', 'two', 'three'].map((value, index) => ({
    ...partition(value),
    storage: { ...partition(value).storage, location: `hdfs://here/lake/days/${value}` },
    createdMs: 1_000 * index,
  }))
  const target = catalogOf([])
  const sides = new Sides(catalogOf(all), target, {
    locations: { from: ['hdfs://here'], to: undefined, mappings: [] },
    statistics: 'none',
  })
  const source = table(days.database, days.name)
  const of = { table: days, source, maxDrops: 0, isOver: () => false }
  const gate = { migrationId: 'lake', path: '/lake', state: 'LIVE' }
  // A metastore has the second: the second one may have been made a moment before the third second began.
  const first = await reconcilePartitions(
    sides,
    { ...of, isNew: true, gates: [{ ...gate, arrivedUntilMs: 1_999 }] },
    never,
  )
  expect(first).toEqual({
    arrived: 1,
    written: 1,
    held: 0,
    waiting: 'day=three: its files are copied by the migration lake, which is LIVE and not up to date',
  })
  expect(await target.partitionNames(days, never)).toEqual(['day=one'])
  const then = { ...of, isNew: false, gates: [{ ...gate, arrivedUntilMs: 3_000 }] }
  expect(await reconcilePartitions(sides, then, never)).toEqual({ arrived: 3, written: 2, held: 0 })
})
