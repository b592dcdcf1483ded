import fc from 'fast-check'
import { expect, test } from 'vitest'
import { EntryBudget } from '../../../services/engine/tree/entry-budget.ts'
import { type BesideOptions, lookBeside } from '../../../services/engine/tree/beside.ts'
import { listAll } from '../../conformance/driver-store.ts'
import { ObjectStoreDoubleDriver } from '../../support/object-store-double/driver.ts'
import { ObjectStoreDouble } from '../../support/object-store-double/store.ts'
import { createRun } from './runs.ts'

const noPath = Buffer.alloc(0)

/** Two buckets with these files, of which the second is read beside the first; counts how often either was asked for one name. */
async function createBuckets(from: readonly string[], to: readonly string[]) {
  const store = new ObjectStoreDouble('from', 'to')
  const drivers = (['from', 'to'] as const).map(
    (bucket) => new ObjectStoreDoubleDriver({ store: store.name, bucket }),
  )
  const [source, target] = drivers as [ObjectStoreDoubleDriver, ObjectStoreDoubleDriver]
  for (const [driver, names] of [
    [source, from],
    [target, to],
  ] as const)
    await Promise.all(names.map((name) => driver.put(Buffer.from(name), Buffer.alloc(0), {})))
  const asked = { names: 0 }
  for (const driver of drivers) {
    const stat = driver.stat.bind(driver)
    driver.stat = (path) => {
      asked.names++
      return stat(path)
    }
  }
  return {
    asked,
    run: createRun(source, target),
    [Symbol.asyncDispose]: async () => {
      for (const driver of drivers) await driver.close()
      store[Symbol.dispose]()
    },
  }
}

/** What is found beside the entries of the first, by name, and what only the second has. */
async function compare({ run }: Awaited<ReturnType<typeof createBuckets>>, options: BesideOptions) {
  using beside = await lookBeside(run, noPath, options)
  const found: string[] = []
  const said = ({ name, type }: { readonly name: Buffer; readonly type: string }) =>
    `${name.toString()} ${type}`
  for (const entries of batches(await listAll(run.source, noPath), 40))
    for (const [entry, there] of await beside!.find(entries)) found.push(`${said(entry)} ${said(there)}`)
  const rest = (await Array.fromAsync(beside!.rest())).flat().map(said)
  return { found: found.toSorted(), rest: rest.toSorted() }
}

const batches = <T>(all: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, index) =>
    all.slice(index * size, (index + 1) * size),
  )

const name = (index: number) => `file ${String(index).padStart(5, '0')}`

test('of large folders in order no name is asked for that both have, and each that one lacks once', async () => {
  const all = Array.from({ length: 1_000 }, (_, index) => name(index))
  const extra = ['file 00500 more', 'zzz']
  await using buckets = await createBuckets(all, [...all.slice(1), ...extra])
  expect(await compare(buckets, { limit: 200 })).toEqual({
    found: all.slice(1).map((one) => `${one} file ${one} file`),
    rest: extra.map((one) => `${one} file`),
  })
  expect(buckets.asked.names).toBe(1 + extra.length)
})

test('a part of a large folder is read side by side from the beginning, and what is held is let go', async () => {
  const all = Array.from({ length: 1_000 }, (_, index) => name(index))
  await using buckets = await createBuckets(all, all)
  const budget = new EntryBudget()
  const { found, rest } = await compare(buckets, { isPart: true, windowEntries: 600, budget })
  expect(found).toHaveLength(all.length)
  expect(rest).toEqual([])
  expect(buckets.asked.names).toBe(0)
  await compare(buckets, { limit: 200, budget })
  expect(budget.held).toBe(0)
})

test('however names and kinds differ, it is found and left as in memory', async () => {
  const part = fc.constantFrom(
    'a',
    'a!',
    'a-b',
    'a/x',
    'a!/x',
    'a-b/x',
    'a/y/z',
    'b',
    'ü',
    'z/z',
    'a0',
    'a/0',
  )
  const names = fc.uniqueArray(
    fc.tuple(part, fc.nat(20)).map(([one, index]) => `${index % 7}${one}`),
    { minLength: 1, maxLength: 60 },
  )
  const limits = fc.integer({ min: 1, max: 20 })
  await fc.assert(
    fc.asyncProperty(names, names, limits, limits, async (from, to, limit, windowEntries) => {
      // A name is a file or a folder at one side.
      const clean = (all: readonly string[]) =>
        all.filter((one) => !all.some((other) => other.startsWith(`${one}/`)))
      await using buckets = await createBuckets(clean(from), clean(to))
      expect(await compare(buckets, { limit, windowEntries })).toEqual(await compare(buckets, {}))
    }),
    { numRuns: 60 },
  )
})
