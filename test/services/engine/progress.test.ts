import { afterEach, expect, test, vi } from 'vitest'
import { StoreError } from '../../../services/drivers/contract/driver.ts'
import { Comparer } from '../../../services/engine/walk/compare.ts'
import type { Findings } from '../../../services/engine/walk/findings.ts'
import { encodeFolder } from '../../../services/engine/walk/walk-folder.ts'
import { walk } from '../../../services/engine/walk/walk.ts'
import { ObjectStoreDoubleDriver } from '../../support/object-store-double/driver.ts'
import { ObjectStoreDouble } from '../../support/object-store-double/store.ts'
import { createRun } from './runs.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

/** What a comparison of a folder of five files tells, message by message. @param failures of its listing, each after the first file */
async function toldOf(failures: readonly StoreError[]): Promise<Findings[]> {
  using store = new ObjectStoreDouble('from', 'to')
  const [source, target] = ['from', 'to'].map(
    (bucket) => new ObjectStoreDoubleDriver({ store: store.name, bucket }),
  ) as [ObjectStoreDoubleDriver, ObjectStoreDoubleDriver]
  for (const driver of [source, target])
    for (const name of ['a', 'b', 'c', 'd', 'e']) await driver.put(Buffer.from(name), Buffer.from('x'), {})
  const list = source.list.bind(source)
  const left = [...failures]
  source.list = async function* (...asked) {
    for await (const { entries, ...page } of list(...asked)) {
      for (const entry of entries) {
        yield { ...page, entries: [entry] }
        const failure = left.shift()
        if (failure !== undefined) throw failure
      }
    }
  }
  const told: Findings[] = []
  const run = createRun(source, target)
  const root = encodeFolder({ path: Buffer.alloc(0), side: 'both' })
  await walk(run, new Comparer(run, { level: 'size' }), [root], async (findings) => {
    told.push(findings)
  })
  await source.close()
  await target.close()
  return told
}

/** Each look at the clock is a second later. */
function hurryClock(): void {
  let now = 0
  vi.spyOn(performance, 'now').mockImplementation(() => (now += 1_000))
}

const sum = (told: readonly Findings[], name: string) =>
  told.reduce((total, { counts }) => total + (counts[name] ?? 0), 0)

test('a comparison counts within a folder', async () => {
  hurryClock()
  const told = await toldOf([])
  const counted = told.filter(({ lines }) => Object.keys(lines).length === 0)
  expect(counted.slice(0, 5).map(({ counts }) => counts['filesOnSource'])).toEqual([1, 1, 1, 1, 1])
  expect(sum(told, 'filesOnSource')).toBe(5)
})

test('what is counted of a folder that is tried again counts once', async () => {
  hurryClock()
  const told = await toldOf([new StoreError('throttled', 'slow down')])
  expect(sum(told, 'filesOnSource')).toBe(5)
  expect(sum(told, 'matchedPathCount')).toBe(5)
  expect(sum(told, 'bytesOnTarget')).toBe(5)
})

test('what is counted of a folder that cannot be read does not count', async () => {
  hurryClock()
  const told = await toldOf([new StoreError('permission', 'not for you')])
  expect(sum(told, 'filesOnSource')).toBe(0)
  expect(sum(told, 'unreadablePaths')).toBe(1)
})
