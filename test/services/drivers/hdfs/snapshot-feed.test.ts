import { expect, test } from 'vitest'
import { StoreError } from '../../../../services/drivers/contract/store-error.ts'
import type { FeedListener } from '../../../../services/drivers/feeds/feed.ts'
import { SnapshotFeed } from '../../../../services/drivers/hdfs/snapshot-feed.ts'
import type { Difference, Snapshots } from '../../../../services/drivers/hdfs/snapshots.ts'
import { until } from '../../../support/until.ts'

/** A folder whose differences are said here, in the order of the looks. */
function scriptedSnapshots() {
  const names = new Set<string>()
  const script: Difference[][] = []
  let looks = 0
  const snapshots: Pick<Snapshots, 'names' | 'create' | 'remove' | 'differences'> = {
    names: async () => [...names],
    create: async (name) => void names.add(name),
    remove: async (name) => void names.delete(name),
    differences: async () => {
      looks++
      return script.shift() ?? []
    },
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the rest of it is private
  return { snapshots: snapshots as Snapshots, script, looks: () => looks }
}

/** A feed of them, and what it tells; `kept` is what it stores of where it is. */
function follower(snapshots: Snapshots, kept: { at?: string } = {}) {
  const feed = new SnapshotFeed({
    snapshots,
    place: 'a cluster',
    below: '',
    periodMs: 1,
    reason: 'a test',
    close: async () => undefined,
  })
  const told: { names: string[]; done: () => void }[] = []
  const listener: FeedListener = {
    changed: (folders, done) => {
      told.push({
        names: folders.flatMap(({ folder, names, scope }) => [
          ...names.map((name) => (folder === '' ? name : `${folder}/${name}`)),
          ...(scope === 'tree' ? [`all of ${folder}`] : []),
        ]),
        done: done ?? (() => undefined),
      })
    },
    behind: () => () => undefined,
    ended: (error) => {
      throw error
    },
    positions: {
      reader: 'r',
      isComplete: true,
      recall: async () => kept.at,
      readersOf: async () => [],
      keep: async (_stream, at) => void (kept.at = at),
    },
  }
  return { feed, listener, told }
}

test('what came or went is told again once it was looked at, until nothing has changed around a look', async () => {
  const { snapshots, script, looks } = scriptedSnapshots()
  const { feed, listener, told } = follower(snapshots)
  await feed.open(listener, new AbortController().signal)
  const after = async (differences: Difference[]) => {
    const before = told.length
    script.push(differences)
    await until('it is told', () => told.length > before)
    return told.at(-1)!
  }
  const nothingFor = async (count: number) => {
    const [before, from] = [told.length, looks()]
    await until('some looks are over', () => looks() > from + count)
    expect(told.length).toBe(before)
  }
  const first = await after([{ type: 'CREATE', path: 'a' }])
  // As long as nobody has looked, there is nothing to look at again.
  await nothingFor(3)
  first.done()
  await until('it is told again', () => told.length === 2)
  expect(told[1]!.names).toEqual(['a', 'all of a'])
  told[1]!.done()
  await until('it is told again', () => told.length === 3)
  expect(told[2]!.names).toEqual(['a', 'all of a'])
  // Something changes while it is looked at for the last time: its name is told once more, with that.
  const busy = await after([{ type: 'MODIFY', path: 'b' }])
  expect(busy.names).toEqual(['b'])
  told[2]!.done()
  const last = await after([{ type: 'MODIFY', path: 'b' }])
  expect(last.names.toSorted()).toEqual(['a', 'b'])
  busy.done()
  last.done()
  await nothingFor(3)
  await feed.close()
})

test('what is still to be looked at again is so after a restart too', async () => {
  const { snapshots, script } = scriptedSnapshots()
  const kept = {}
  const before = follower(snapshots, kept)
  await before.feed.open(before.listener, new AbortController().signal)
  script.push([{ type: 'CREATE', path: 'a' }])
  await until('it is told', () => before.told.length === 1)
  before.told[0]!.done()
  // The position is stored with the last answer, so nothing of it has to be told again but what was not looked at twice.
  await until('it is told again', () => before.told.length === 2)
  await before.feed.close()
  const after = follower(snapshots, kept)
  expect(await after.feed.open(after.listener, new AbortController().signal)).toBe(true)
  await until('it is told again', () => after.told.length === 1)
  expect(after.told[0]!.names).toEqual(['a', 'all of a'])
  await after.feed.close()
})

test('with too much to look at again, everything is compared after a restart', async () => {
  const { snapshots, script } = scriptedSnapshots()
  const kept = {}
  const before = follower(snapshots, kept)
  await before.feed.open(before.listener, new AbortController().signal)
  script.push(
    Array.from({ length: 900 }, (_, index) => ({ type: 'CREATE', path: `${'a'.repeat(200)}${index}` })),
  )
  await until('it is told', () => before.told.length === 1)
  before.told[0]!.done()
  await until('it is told again', () => before.told.length === 2)
  await before.feed.close()
  const after = follower(snapshots, kept)
  expect(await after.feed.open(after.listener, new AbortController().signal)).toBe(false)
  await after.feed.close()
})

test('what is to be looked at again is stored before it is told, and told once it can be stored', async () => {
  const { snapshots, script } = scriptedSnapshots()
  const { feed, listener, told } = follower(snapshots)
  let isAway = true
  const kept: string[] = []
  const keep = async (_stream: string, at: string) => {
    if (isAway && at.startsWith('{') && at.includes('CREATE')) {
      isAway = false
      script.push([{ type: 'CREATE', path: 'a' }])
      throw new StoreError('unreachable', 'the broker is away')
    }
    expect(told).toEqual([])
    kept.push(at)
  }
  await feed.open({ ...listener, positions: { ...listener.positions, keep } }, new AbortController().signal)
  script.push([{ type: 'CREATE', path: 'a' }])
  await until('it is told', () => told.length === 1)
  expect(isAway).toBe(false)
  expect(kept.at(-1)).toContain('CREATE')
  await feed.close()
})
