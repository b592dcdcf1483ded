import { expect, test } from 'vitest'
import { partitionsAtOnce } from '../../../../../services/metadata/catalogs/contract/catalog.ts'
import type { Metastore } from '../../../../../services/metadata/catalogs/hive/metastore.ts'
import { HiveWriter } from '../../../../../services/metadata/catalogs/hive/writer.ts'
import { type FailureClass, StoreError } from '../../../../../services/drivers/contract/store-error.ts'
import { partition } from '../filesystem/document-catalog-suite.ts'

const never = new AbortController().signal
const days = { database: 'sales', name: 'days' }
const partitions = Array.from({ length: partitionsAtOnce }, (_, index) => partition(`d${index}`))

/** A metastore that fails calls. @param refuses by the values of the partitions of a call */
function writerOf(refuses: (values: readonly string[]) => FailureClass | undefined) {
  const added: string[] = []
  const calls: number[] = []
  const metastore = {
    what: (operation: string) => () => operation,
    change: async (
      _method: object,
      { request }: { request: { parts: { values: string[] }[] } },
      what: () => string,
    ) => {
      const values = request.parts.flatMap((one) => one.values)
      calls.push(values.length)
      const failure = refuses(values)
      if (failure !== undefined) throw new StoreError(failure, `${what()}: it failed`)
      added.push(...values)
    },
  } as unknown as Metastore
  const beyond = {} as ConstructorParameters<typeof HiveWriter>[1]
  return { writer: new HiveWriter(metastore, beyond), added, calls }
}

test('a metastore that fails for many partitions at once gets fewer, from then on', async () => {
  const { writer, added, calls } = writerOf(({ length }) => (length > 300 ? 'io' : undefined))
  await writer.addPartitions(days, partitions, never)
  expect(added).toHaveLength(partitionsAtOnce)
  expect(calls).toEqual([1_000, 500, 250, 250, 500, 250, 250])
  calls.length = 0
  await writer.addPartitions(days, partitions, never)
  expect(calls).toEqual([250, 250, 250, 250])
})

test('a partition that is refused fails alone', async () => {
  const { writer, added, calls } = writerOf((values) => (values.includes('d7') ? 'unsupported' : undefined))
  await expect(writer.addPartitions(days, partitions, never)).rejects.toMatchObject({
    failure: 'unsupported',
    message: 'adding partition d7 to sales.days: it failed',
  })
  expect(added).toHaveLength(partitionsAtOnce - 1)
  expect(calls.length).toBeLessThan(25)
  calls.length = 0
  // It was not their number.
  await writer.addPartitions(days, partitions.slice(10, 900), never)
  expect(calls).toEqual([890])
})

test.for(['io', 'unreachable'] as const)('where all fail, not all are tried alone: %s', async (failure) => {
  const { writer, calls } = writerOf(() => failure)
  await expect(writer.addPartitions(days, partitions, never)).rejects.toMatchObject({ failure })
  expect(calls.length).toBeLessThan(failure === 'io' ? 40 : 2)
})
