import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { reconcileItems } from '../../../services/engine/items/changed-folders.ts'
import type { HeldRemoval } from '../../../services/engine/run/counts.ts'
import { decodeItem } from '../../../services/engine/items/item-decode.ts'
import type { ChangedFolder } from '../../../services/engine/items/items.ts'
import type { ChangeScope } from '../../../services/drivers/feeds/dirty-folders.ts'
import { Mover } from '../../../services/engine/mover.ts'
import { newRemovalBudget, RemovalBudgetView } from '../../../services/engine/run/removal-budget.ts'
import { RemovalGuard, windowMs } from '../../../services/migrations/removals/removal-guard.ts'
import { createFolder } from '../../support/migrations.ts'
import { liveSpec } from './local-spec.ts'
import { changed } from './reconcile-folder.ts'

const mover = new Mover({ threads: 2, log: { error: () => undefined } })
afterAll(() => mover.close())

/** A live migration that may remove so much at its target. */
function createGuarded(options: { allowed?: number; trash?: string; isOlder?: boolean } = {}) {
  const folder = createFolder('from', 'to')
  const { allowed, trash, isOlder = false } = options
  const budget = newRemovalBudget()
  const view = new RemovalBudgetView(budget)
  view.allow(allowed)
  const minuteMs = isOlder ? 60_000 : -60_000
  const live = { startedMs: Date.now() + minuteMs, budget, ...(trash === undefined ? {} : { trash }) }
  const spec = { ...liveSpec(folder), live }
  const work = async (item: Uint8Array) => {
    const children: Uint8Array[] = []
    const take = async ({ regions }: { regions: Uint8Array[] }) => void children.push(...regions)
    const result = await mover.scan(spec, item, take, new AbortController().signal)
    return { ...result, children }
  }
  return {
    allow: (total: number) => view.allow(total),
    removed: () => view.removed,
    work,
    /** Works on one item. */
    apply: (...groups: ChangedFolder[]) =>
      work(reconcileItems(groups, { attempt: 1, notBeforeMs: 0 })[0] ?? new Uint8Array()),
    fillTarget: (...paths: string[]) => {
      for (const path of paths) {
        mkdirSync(join(folder.to, path, '..'), { recursive: true })
        writeFileSync(join(folder.to, path), 'x')
      }
    },
    from: (path: string) => join(folder.from, path),
    to: (path: string) => join(folder.to, path),
    listed: (path = '') =>
      readdirSync(join(folder.to, path), { recursive: true, encoding: 'utf8' }).toSorted(),
    [Symbol.dispose]: folder[Symbol.dispose],
  }
}

const sumOf = (held: readonly HeldRemoval[] = []) =>
  held.reduce((sum, { files, bytes }) => ({ files: sum.files + files, bytes: sum.bytes + bytes }), {
    files: 0,
    bytes: 0,
  })

const everything = (scope: ChangeScope = 'folder') => changed('', { scope })

describe('a budget for removals', () => {
  test('ends them: what waits is counted, and told names stay in the queue until they may go', async () => {
    using move = createGuarded({ allowed: 2, isOlder: true })
    move.fillTarget('tree/1', 'tree/below/2', 'tree/below/3', 'file')
    const first = await move.apply(changed('', { names: ['file'], trees: ['tree'] }))
    expect(first.counts).toMatchObject({ filesRemoved: 2, foldersRemoved: 0 })
    expect(sumOf(first.held)).toMatchObject({ files: 2, bytes: 2 })
    expect(move.listed()).toHaveLength(4)
    const [waiting] = first.children
    expect(decodeItem(waiting!)).toMatchObject({ notBeforeMs: expect.toSatisfy((ms) => ms > Date.now()) })

    move.allow(6)
    const second = await move.work(waiting!)
    expect([second.held, second.children]).toEqual([undefined, []])
    expect(move.listed()).toEqual([])
    expect(move.removed()).toBe(6)
  })

  test('counts the folders that would go with what waits in them, and no failure', async () => {
    using move = createGuarded({ allowed: 0 })
    move.fillTarget('tree/1', 'tree/below/2', 'other/3')
    writeFileSync(move.from('other'), 'a file by now')
    const { held, failures, children } = await move.apply(changed('', { names: ['tree', 'other'] }))
    expect(held?.toSorted((a, b) => a.path.localeCompare(b.path))).toEqual([
      { path: '/other', files: 1, folders: 1, bytes: 1 },
      { path: '/tree', files: 2, folders: 2, bytes: 2 },
    ])
    expect(failures).toEqual([])
    expect(children).toHaveLength(1)
  })

  test('holds for comparisons, which find again what waits', async () => {
    using move = createGuarded({ allowed: 1 })
    writeFileSync(move.from('stays'), 'x')
    move.fillTarget('gone1', 'gone2', 'gone3')
    const { held, children } = await move.apply(everything())
    expect([sumOf(held).files, children]).toEqual([2, []])
    move.allow(3)
    await move.apply(everything())
    expect(move.listed()).toEqual(['stays'])
  })

  test('is enough for all that goes, though two come upon the same at once', async () => {
    using move = createGuarded({ allowed: 101 })
    move.fillTarget(...Array.from({ length: 100 }, (_, index) => `tree/${index}`))
    const told = () => move.apply(changed('', { trees: ['tree'] }))
    const results = await Promise.all([told(), told(), told(), move.apply(everything('tree'))])
    expect(results.flatMap(({ held = [] }) => held)).toEqual([])
    expect([move.removed(), move.listed()]).toEqual([101, []])
  })

  test('is not charged for what is gone already', async () => {
    using move = createGuarded({ allowed: 1 })
    move.fillTarget('file')
    await move.apply(changed('', { names: ['never was', 'file'] }))
    expect([move.removed(), move.listed()]).toEqual([1, []])
  })
})

describe('the trash of a live migration', () => {
  test('takes what goes, each version under a name of its own; it is no part of the target', async () => {
    using move = createGuarded({ trash: 'live' })
    move.fillTarget('tree/below/1')
    await move.apply(changed('', { trees: ['tree'] }))
    for (let i = 0; i < 6; i++) {
      move.fillTarget('file')
      await move.apply(changed('', { names: ['file'] }))
    }
    // What was in folders that nobody else could open is there in others.
    expect(statSync(move.to('.gantry-trash')).mode & 0o777).toBe(0o700)
    const names = ['', '~2', '~3', '~4', '~5', '~6'].map((number) => `file${number}`)
    expect(move.listed('.gantry-trash/live')).toEqual([...names, 'tree', 'tree/below', 'tree/below/1'])
    expect(move.listed().filter((path) => !path.startsWith('.gantry-trash'))).toEqual([])

    // An empty source is told of only where something else was copied from it.
    expect((await move.apply(everything('tree'))).deferral).toBeUndefined()
    writeFileSync(move.from('other'), 'x')
    await move.apply(everything('tree'))
    await move.apply(changed('', { trees: ['.gantry-trash'] }))
    expect(existsSync(move.to('.gantry-trash/live/file'))).toBe(true)
  })

  test('takes a file or a folder that gives way to something of another type', async () => {
    using move = createGuarded({ trash: 'live' })
    move.fillTarget('was a folder/1', 'was a file')
    writeFileSync(move.from('was a folder'), 'x')
    mkdirSync(move.from('was a file'))
    writeFileSync(move.from('was a file/2'), 'x')
    await move.apply(changed('was a file', { names: ['2'] }), changed('', { names: ['was a folder'] }))
    expect(move.listed('.gantry-trash/live')).toEqual(['was a file', 'was a folder', 'was a folder/1'])
  })

  test('takes a folder whose name it has as a file from before, and names of any length', async () => {
    using move = createGuarded({ trash: 'live' })
    const long = 'x'.repeat(255)
    for (const path of ['a', 'a/b', 'a/b/c', 'a/b/d', long, long]) {
      move.fillTarget(path)
      const { failures } = await move.apply(changed('', { trees: ['a', long] }))
      expect(failures).toEqual([])
    }
    expect(move.listed('.gantry-trash/live')).toEqual(
      ['a', 'a~2', 'a~2/b', 'a~2/b~2', 'a~2/b~2/c', 'a~2/b~2/d', long, `${long.slice(2)}~2`].toSorted(),
    )
    expect(move.listed().filter((path) => !path.startsWith('.gantry-trash'))).toEqual([])
  })
})

describe('the guard of a live migration', () => {
  const charged = (guard: RemovalGuard, tries: number) => {
    const view = new RemovalBudgetView(guard.budget)
    return Array.from({ length: tries }, () => view.charge()).filter(Boolean).length
  }

  test('allows so much within an hour, whenever that begins', () => {
    const guard = new RemovalGuard({ maxDeletions: 10 }, 0)
    expect(charged(guard, 6)).toBe(6)
    guard.look(windowMs / 2)
    expect(charged(guard, 6)).toBe(4)
    expect(guard.removed).toBe(10)
    guard.look(windowMs - 1)
    expect(charged(guard, 1)).toBe(0)
    guard.look(windowMs * 1.5)
    expect([guard.removed, charged(guard, 10)]).toEqual([4, 6])
    // When they went between two looks is not known: they count from the second on.
    guard.look(windowMs * 3)
    expect(charged(guard, 20)).toBe(4)
    guard.look(windowMs * 4)
    expect(charged(guard, 20)).toBe(6)
  })

  test('holds a share of what the target has once that is counted, the smaller of both limits', () => {
    const guard = new RemovalGuard({ maxDeletionPercent: 20 }, 0)
    expect(charged(guard, 50)).toBe(50)
    guard.set({ maxDeletionPercent: 20 }, 304, 1)
    expect(charged(guard, 50)).toBe(10)
    guard.set({ maxDeletionPercent: 20, maxDeletions: 15 }, 304, windowMs * 2)
    guard.look(windowMs * 4)
    expect(charged(guard, 50)).toBe(15)
  })

  test('allows what somebody approved of within an hour from then, and no less than ever', () => {
    const guard = new RemovalGuard({ maxDeletions: 10 }, 0)
    expect(charged(guard, 20)).toBe(10)
    guard.approve(25, 1)
    expect([guard.removed, charged(guard, 50)]).toEqual([0, 25])
    guard.approve(2, 2)
    expect(charged(guard, 50)).toBe(10)
    guard.look(windowMs * 2)
    guard.look(windowMs * 3)
    expect(charged(guard, 50)).toBe(10)
  })
})
