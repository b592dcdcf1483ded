import { expect, test, vi } from 'vitest'
import { StoreError } from '../../../../services/drivers/contract/store-error.ts'
import type { Catalog } from '../../../../services/metadata/catalogs/contract/catalog.ts'
import type { Gate } from '../../../../services/metadata/migrations/reconcile/gates.ts'
import {
  reconcileTable,
  type TableAsked,
} from '../../../../services/metadata/migrations/reconcile/reconcile-table.ts'
import { Sides } from '../../../../services/metadata/migrations/reconcile/sides.ts'
import { maxAborted } from '../../../../services/metadata/migrations/reconcile/write-ids.ts'
import { Tables } from '../../../support/tables-in-memory.ts'
import { partition, table } from '../catalogs/filesystem/document-catalog-suite.ts'

const never = new AbortController().signal
const orders = { ...table('sales', 'orders'), partitionKeys: [], parameters: { transactional: 'true' } }
const closed: Gate = { migrationId: 'files', path: '/', state: 'RUNNING', arrivedUntilMs: 0 }

function ends() {
  const [source, target] = [new Tables(), new Tables()]
  source.put(orders, [])
  const root = 'hdfs://lake/'
  const sides = new Sides(source as unknown as Catalog, target as unknown as Catalog, {
    locations: { from: [root], to: root, mappings: [] },
    statistics: 'none',
  })
  const look = async (of: Partial<TableAsked>) => {
    const asked = {
      database: orders.database,
      name: orders.name,
      known: { isNoted: true },
      onConflict: 'report',
      gates: [],
      sinceMs: Date.now(),
      counted: 0,
      maxDrops: 0,
      isOver: () => false,
    } as const
    return (await reconcileTable(sides, { ...asked, ...of }, never)).outcome
  }
  return { source, target, look }
}

test('a table that is made anew at the source while its first writes are being set is made anew at the target', async () => {
  const { source, target, look } = ends()
  source.has.get(orders.name)!.writeIds = { highest: 3, open: [], aborted: [] }
  const first = await look({})
  expect(first).toMatchObject({ result: 'created', writeIds: { highest: 3 }, written: { upTo: 0 } })
  // A process was ended while it set them.
  target.has.get(orders.name)!.writeIds = { highest: 2, open: [], aborted: [] }
  source.put({ ...orders, createdMs: orders.createdMs! + 1_000 }, [])
  if (first.result !== 'created') throw new Error(first.result)
  const { settled, writeIds, written } = first
  const known = { ...settled, isNoted: true }
  const again = await look({ known, writeIds, written })
  expect(again).toMatchObject({ result: 'created', written: { upTo: 0 } })
  expect(target.has.get(orders.name)!.writeIds.highest).toBe(0)
})

test('what is overwritten is not dropped for write ids of which the source tells nothing', async () => {
  const { source, target, look } = ends()
  source.writeIds.of = async () => undefined
  target.put(orders, [])
  target.has.get(orders.name)!.writeIds = { highest: 3, open: [], aborted: [] }
  const drop = vi.spyOn(target.writer, 'dropTable')
  expect(await look({ onConflict: 'overwrite' })).toMatchObject({ result: 'same' })
  expect(drop).not.toHaveBeenCalled()
})

test.for([
  ['with too many aborted writes', { highest: maxAborted + 1, aborted: maxAborted + 1 }],
  ['whose writes cannot be read', undefined],
] as const)('a table %s waits for its files as any other', async ([, of]) => {
  const { source, look } = ends()
  if (of === undefined)
    source.writeIds.of = async () => {
      throw new StoreError('permission', 'not allowed')
    }
  else {
    const aborted = Array.from({ length: of.aborted }, (_, index) => index + 1)
    source.has.get(orders.name)!.writeIds = { highest: of.highest, open: [], aborted }
  }
  expect(await look({ gates: [closed] })).toMatchObject({ result: 'waiting' })
})

test('a table that waits for its writes, and a partition of which failed, is looked at as a whole', async () => {
  const { source, target, look } = ends()
  source.put({ ...orders, partitionKeys: table('sales', 'orders').partitionKeys }, [partition('d1')])
  source.has.get(orders.name)!.writeIds = { highest: 3, open: [], aborted: [] }
  target.writer.addPartitions = async () => {
    throw new StoreError('io', 'its folder cannot be made')
  }
  const outcome = await look({})
  expect(outcome).toMatchObject({ result: 'created', note: { failureClass: 'io' }, writeIds: { highest: 3 } })
  expect(outcome).not.toHaveProperty('isOfWrites')
})
