import { mkdirSync, readdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Driver } from '../../../services/drivers/contract/driver.ts'
import { LocalDriver } from '../../../services/drivers/local/local.ts'
import { Children } from '../../../services/engine/items/children.ts'
import { Mover } from '../../../services/engine/mover.ts'
import { reconcile } from '../../../services/engine/reconcile/reconcile.ts'
import { boundsOf, openSpec } from '../../../services/engine/run/run.ts'
import { Matcher } from '../../../services/engine/walk/match.ts'
import { walk } from '../../../services/engine/walk/walk.ts'
import { encodeFolder } from '../../../services/engine/walk/walk-folder.ts'
import { createFolder } from '../../support/migrations.ts'
import { sourceAt } from '../../support/source-at.ts'
import { liveSpec } from './local-spec.ts'
import { changed, reconcile as reconcileBy } from './reconcile-folder.ts'
import { createRun } from './runs.ts'

const names = ['a', 'b', 'c']

/** A migration whose target has what the source has. */
async function createCopied() {
  const folder = createFolder('from', 'to')
  for (const side of [folder.from, folder.to])
    for (const name of names) {
      mkdirSync(join(side, name))
      writeFileSync(join(side, name, 'file'), name)
    }
  const { mark } = (await sourceAt(folder.from).look())!
  const spec = liveSpec(folder, { sourceMark: mark })
  return {
    ...folder,
    spec,
    /** As an unmount or a renaming does it: something else stands at the path of the source. */
    replace: () => {
      renameSync(folder.from, join(folder.root, 'away'))
      mkdirSync(folder.from)
      writeFileSync(join(folder.from, 'stray'), 'x')
    },
    bringBack: () => {
      renameSync(folder.from, join(folder.root, 'stray'))
      renameSync(join(folder.root, 'away'), folder.from)
    },
    there: () => readdirSync(folder.to, { recursive: true, encoding: 'utf8' }).toSorted(),
    [Symbol.dispose]: folder[Symbol.dispose],
  }
}

/** A job of the test's own, at whose first look at the source this happens. */
function createJob({ spec, from, to }: Awaited<ReturnType<typeof createCopied>>, happens: () => void) {
  let hasHappened = false
  const source = new Proxy<Driver>(new LocalDriver({ fsRoot: from }), {
    get: (driver, name) => {
      const value: unknown = Reflect.get(driver, name, driver)
      if (typeof value !== 'function') return value
      return (...args: unknown[]) => {
        if ((name === 'list' || name === 'stat') && !hasHappened) {
          hasHappened = true
          happens()
        }
        return Reflect.apply(value, driver, args) as unknown
      }
    },
  })
  return createRun(source, new LocalDriver({ fsRoot: to }), { spec: openSpec(spec) })
}

/** A job whose source is another folder from its first look on, until so many of the names were looked for in it. */
function createJobWhileAway(copied: Awaited<ReturnType<typeof createCopied>>, looks: number) {
  let left = looks
  let isAway = false
  const source = new Proxy<Driver>(new LocalDriver({ fsRoot: copied.from }), {
    get: (driver, name) => {
      const value: unknown = Reflect.get(driver, name, driver)
      if (typeof value !== 'function') return value
      return (...args: unknown[]) => {
        if (!isAway && (name === 'list' || name === 'stat')) {
          isAway = true
          copied.replace()
        }
        const answer: unknown = Reflect.apply(value, driver, args)
        if (name !== 'stat' || !names.includes(String(args[0]))) return answer
        return (answer as Promise<unknown>).finally(() => {
          if (--left === 0) copied.bringBack()
        })
      }
    },
  })
  return createRun(source, new LocalDriver({ fsRoot: copied.to }), { spec: openSpec(copied.spec) })
}

const isAway = { failure: 'unreachable', side: 'source' }

test.each([
  ['told names', changed('', { trees: names })],
  ['a comparison', changed('', { scope: 'tree' })],
])(
  '%s: what is missing in a folder that took the place of the source stays at the target',
  async (_, group) => {
    using copied = await createCopied()
    const before = copied.there()
    const run = createJob(copied, copied.replace)
    const children = new Children(() => Promise.resolve(), boundsOf(run), 'Overwrite')
    const item = { kind: 'reconcile', attempt: 1, notBeforeMs: 0, groups: [group] } as const
    await expect(reconcile(run, item, children)).rejects.toMatchObject(isAway)
    expect(copied.there().filter((path) => path !== 'stray')).toEqual(before)
  },
)

test('a match of the target: the same, and nothing of it is a failure', async () => {
  using copied = await createCopied()
  const before = copied.there()
  const run = createJob(copied, copied.replace)
  const found: unknown[] = []
  const folders = [encodeFolder({ path: Buffer.alloc(0), side: 'both' })]
  const matched = walk(run, new Matcher(run, {}), folders, async ({ counts, lines }) => {
    found.push(...Object.keys(counts), ...Object.keys(lines))
  })
  await expect(matched).rejects.toMatchObject(isAway)
  expect(found).toEqual([])
  expect(copied.there()).toEqual(before)
})

test('an item that begins when the source has been replaced does nothing, and comes again', async () => {
  using copied = await createCopied()
  await using mover = new Mover({ threads: 1, log: { error: () => undefined } })
  const before = copied.there()
  copied.replace()
  const work = reconcileBy(mover, copied.spec, [changed('', { scope: 'tree', trees: names })])
  await expect(work).rejects.toMatchObject(isAway)
  expect(copied.there()).toEqual(before)
})

test.each([
  ['told names', changed('', { trees: names })],
  ['a comparison', changed('', { scope: 'tree' })],
])('%s: what was missing while the source was away stays, though it is back in time', async (_, group) => {
  using copied = await createCopied()
  const before = copied.there()
  const run = createJobWhileAway(copied, names.length)
  const children = new Children(() => Promise.resolve(), boundsOf(run), 'Overwrite')
  await reconcile(run, { kind: 'reconcile', attempt: 1, notBeforeMs: 0, groups: [group] }, children)
  expect(copied.there().filter((path) => path !== 'stray')).toEqual(before)
})

test('a match: what was missing while the source was away stays, though it is back in time', async () => {
  using copied = await createCopied()
  const before = copied.there()
  // One is removed before the next is looked for.
  const run = createJobWhileAway(copied, 1)
  const folders = [encodeFolder({ path: Buffer.alloc(0), side: 'both' })]
  await walk(run, new Matcher(run, {}), folders, () => Promise.resolve())
  expect(copied.there()).toEqual(before)
})
