import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { type Page, type StorePath, StoreError } from '../../../services/drivers/contract/driver.ts'
import { LocalDriver } from '../../../services/drivers/local/local.ts'
import { Planned, planAll } from '../../../services/migrations/removals/plan-walk.ts'
import { needsApproval } from '../../../services/migrations/removals/guard.ts'
import { packRules, type RuleLists } from '../../../services/engine/run/rules.ts'
import type { MoveSpec } from '../../../services/engine/mover.ts'
import { Matcher, undeletedPaths } from '../../../services/engine/walk/match.ts'
import { Planner, type PlannedPath, plannedPaths } from '../../../services/engine/walk/plan.ts'
import type { PlanBy } from '../../../services/engine/walk/plan-by.ts'
import { walk } from '../../../services/engine/walk/walk.ts'
import { encodeFolder } from '../../../services/engine/walk/walk-folder.ts'
import { walkAll } from '../../../services/engine/walk/walk-all.ts'
import { azuriteOptions } from '../../support/azure-driver.ts'
import { containerName, sharedAzurite } from '../../support/azurite.ts'
import { walkTree } from '../../support/compare-trees.ts'
import { createFolder } from '../../support/migrations.ts'
import { createMove } from './move-folder.ts'
import { RemoteFolder } from './remote-folder.ts'
import { createRun } from './runs.ts'

type Move = ReturnType<typeof createMove>
const { signal } = new AbortController()

function fill(root: string, ...files: string[]): void {
  for (const file of files) {
    mkdirSync(dirname(join(root, file)), { recursive: true })
    writeFileSync(join(root, file), file)
  }
}

const pathsIn = (root: string): string[] => [...walkTree(root)].map(({ path }) => path.toString()).toSorted()

async function plan(
  move: Move,
  { by = { as: 'match' }, ...changes }: Partial<MoveSpec> & { by?: PlanBy } = {},
) {
  const planned = new Planned()
  const spec = { ...move.spec, ...changes }
  await planAll(move.mover, spec, { by, planned, spillFolder: move.at('spill'), signal })
  const counts = Object.fromEntries(Object.entries(planned.counts).filter(([, count]) => count > 0))
  const samples = planned.samples.map(({ action, path }) => `${action} ${path}`).toSorted()
  return {
    counts,
    samples,
    planned: planned.counts,
    reasons: planned.samples.flatMap(({ reason }) => reason ?? []),
  }
}

async function match(move: Move, { trash, ...changes }: Partial<MoveSpec> & { trash?: string } = {}) {
  const counts: Record<string, number> = {}
  const undeleted: string[] = []
  await walkAll({
    start: [encodeFolder({ path: Buffer.alloc(0), side: 'unknown' })],
    atOnce: 2,
    spillFolder: move.at('spill'),
    step: (folders, take, stop) =>
      move.mover.match(
        { ...move.spec, ...changes },
        trash === undefined ? {} : { trash },
        folders,
        take,
        stop,
      ),
    take: async (found) => {
      for (const [name, more] of Object.entries(found.counts)) counts[name] = (counts[name] ?? 0) + more
      undeleted.push(...(found.lines[undeletedPaths] ?? '').split('\n').filter(Boolean))
    },
    signal,
  })
  return { counts, undeleted }
}

const rulesOf = (lists: Partial<RuleLists>) => {
  const rules = packRules({ exclusions: [], inclusions: [], ...lists })
  return rules === undefined ? {} : { rules }
}

test('a plan tells what would be copied, skipped, left out, refused and deleted, and touches nothing', async () => {
  await using move = createMove({ policy: 'SkipIfSizeMatch' })
  fill(move.from, 'new', 'same', 'other', 'folder/in', 'left/out', 'clash')
  fill(move.to, 'same', 'extra/deep/file', 'clash/in')
  writeFileSync(join(move.to, 'other'), 'of another size')
  const before = pathsIn(move.to)
  const rules = rulesOf({ exclusions: [{ id: 'no-left', type: 'paths', paths: ['/left'] }] })
  const planned = await plan(move, rules)
  expect(planned.samples).toEqual([
    'COPY /folder',
    'COPY /folder/in',
    'COPY /new',
    'DELETE /extra',
    'DELETE /extra/deep',
    'DELETE /extra/deep/file',
    'EXCLUDE /left',
    'REFUSE /clash',
    'REPLACE /other',
    'SKIP /same',
  ])
  expect(planned.counts).toEqual({
    filesToCopy: 2,
    bytesToCopy: 'new'.length + 'folder/in'.length,
    filesToReplace: 1,
    bytesToReplace: 'other'.length,
    filesToSkip: 1,
    bytesToSkip: 'same'.length,
    foldersToMake: 1,
    foldersExcluded: 1,
    pathsRefused: 1,
    filesToDelete: 1,
    bytesToDelete: 'extra/deep/file'.length,
    foldersToDelete: 2,
    entriesAtTarget: 7,
  })
  expect(planned.reasons).toEqual(
    expect.arrayContaining(['excluded by no-left', 'the target has a folder there']),
  )
  expect(pathsIn(move.to)).toEqual(before)

  const kept = await plan(move, { ...rules, by: { as: 'scan' } })
  expect(kept.samples.filter((one) => /^(KEEP|DELETE)/.test(one))).toEqual(['KEEP /extra'])
})

test('what is at the target only goes, but nothing that is excluded, and no folder that has such in it', async () => {
  await using move = createMove()
  fill(move.from, 'kept/file', 'same')
  fill(move.to, 'kept/file', 'kept/old', 'same', 'extra/a/b', 'extra/precious', 'gone/x', 'precious')
  symlinkSync('same', join(move.to, 'gone/link'))
  const rules = rulesOf({
    exclusions: [{ id: 'p', type: 'regex', patternType: 'GLOB', regex: '**precious' }],
  })
  const { counts, undeleted } = await match(move, rules)
  expect(pathsIn(move.to)).toEqual(['extra', 'extra/precious', 'kept', 'kept/file', 'precious', 'same'])
  expect(counts).toEqual({
    filesDeleted: 4,
    bytesDeleted: 'kept/old'.length + 'extra/a/b'.length + 'gone/x'.length,
    foldersDeleted: 2,
  })
  expect(undeleted).toEqual([])
  // What went from it has moved its time.
  expect(statSync(join(move.to, 'kept')).mtimeMs).toBeCloseTo(statSync(join(move.from, 'kept')).mtimeMs, 2)
})

test('a folder that stays for what is in it is not counted as deleted, so that no approval is asked for again', async () => {
  await using move = createMove()
  fill(move.from, 'f1', 'f2')
  fill(
    move.to,
    'f1',
    'f2',
    'k1/x.log',
    'k2/deep/x.log',
    'k2/old',
    'k3/.gantry~other~00000000.1.0123456789ab.shared~1',
    'gone/deep/old',
  )
  const rules = rulesOf({
    exclusions: [{ id: 'logs', type: 'regex', patternType: 'GLOB', regex: '**.log' }],
  })
  const before = await plan(move, rules)
  expect(before.samples.filter((one) => /^(KEEP|DELETE)/.test(one))).toEqual([
    'DELETE /gone',
    'DELETE /gone/deep',
    'DELETE /gone/deep/old',
    'DELETE /k2/old',
    'KEEP /k1',
    'KEEP /k1/x.log',
    'KEEP /k2',
    'KEEP /k2/deep',
    'KEEP /k2/deep/x.log',
    'KEEP /k3',
  ])
  expect(before.counts).toMatchObject({ foldersToDelete: 2, filesToDelete: 2, pathsKept: 6 })
  expect(before.reasons).toEqual(expect.arrayContaining(['something in it stays', 'excluded by logs']))
  expect((await match(move, rules)).counts).toMatchObject({ foldersDeleted: 2, filesDeleted: 2 })
  const { planned } = await plan(move, rules)
  expect(planned).toMatchObject({ foldersToDelete: 0, filesToDelete: 0 })
  expect(needsApproval({ targetMatch: { maxDeletions: 0, maxDeletionPercent: 0 } }, planned)).toBe(false)
})

test('a source that is not there deletes nothing', async () => {
  await using move = createMove({ root: Buffer.from('data') })
  fill(move.from, 'data/a')
  fill(move.to, 'data/a', 'data/b')
  rmSync(join(move.from, 'data'), { recursive: true })
  expect((await plan(move)).counts).toEqual({ unreadablePaths: 1, entriesAtTarget: 1 })
  const { undeleted } = await match(move)
  expect(undeleted.join()).toContain('the folder of the migration is not there')
  expect(pathsIn(move.to)).toEqual(['data', 'data/a', 'data/b'])
})

test('what cannot be deleted is listed with the class and the words of its cause', async () => {
  using folder = createFolder('from', 'to')
  fill(folder.to, 'locked', 'goes')
  class WithLocked extends RemoteFolder {
    override async remove(path: StorePath): Promise<boolean> {
      if (path.equals(Buffer.from('locked'))) throw new StoreError('permission', 'operation not permitted')
      return super.remove(path)
    }
  }
  const run = createRun(new LocalDriver({ fsRoot: folder.from }), new WithLocked(folder.to))
  const lines: string[] = []
  const root = encodeFolder({ path: Buffer.alloc(0), side: 'both' })
  await walk(run, new Matcher(run, {}), [root], async (found) => {
    lines.push(...(found.lines[undeletedPaths] ?? '').split('\n').filter(Boolean))
  })
  expect(lines.map((line): unknown => JSON.parse(line))).toEqual([
    {
      path: '/locked',
      failure: 'permission',
      message: 'target: operation not permitted; not deleted',
      attempts: 1,
      isRemoval: true,
    },
  ])
  expect(pathsIn(folder.to)).toEqual(['locked'])
})

test('a plan lists what would go, asks of nothing by itself, and tells which folder could not be listed', async () => {
  using folder = createFolder('from', 'to')
  fill(folder.to, 'old/locked/file', 'old/beside/file', 'old/file')
  class WithLocked extends RemoteFolder {
    override async *list(path: StorePath, stop: AbortSignal): AsyncGenerator<Page> {
      if (path.equals(Buffer.from('old/locked'))) throw new StoreError('permission', 'not permitted')
      yield* super.list(path, stop)
    }
  }
  const target = new WithLocked(folder.to)
  const stats = vi.spyOn(target, 'stat')
  const run = createRun(new LocalDriver({ fsRoot: folder.from }), target)
  const counts: Record<string, number> = {}
  const lines: string[] = []
  const old = encodeFolder({ path: Buffer.from('old'), side: 'target', there: Buffer.from('old') })
  await walk(run, new Planner(run, { as: 'match' }), [old], async (found) => {
    Object.assign(counts, found.counts)
    lines.push(...(found.lines[plannedPaths] ?? '').split('\n').filter(Boolean))
  })
  const planned = lines.map((line) => JSON.parse(line) as PlannedPath)
  expect(planned.map(({ action, path }) => `${action} ${path}`).toSorted()).toEqual([
    'DELETE /old/beside',
    'DELETE /old/beside/file',
    'DELETE /old/file',
    'KEEP /old',
    'UNREADABLE /old/locked',
  ])
  expect(counts).toMatchObject({ entriesAtTarget: 4, filesToDelete: 2, foldersToDelete: 1, pathsKept: 1 })
  expect(stats).not.toHaveBeenCalled()
})

test('what is deleted can be kept in the trash, each scan’s for itself, and the trash is no part of the target', async () => {
  await using move = createMove()
  fill(move.from, 'a')
  fill(move.to, 'a', 'old/file', 'single')
  expect(await match(move, { trash: 'first' })).toMatchObject({ undeleted: [] })
  expect(readFileSync(join(move.to, '.gantry-trash/first/old/file'), 'utf8')).toBe('old/file')
  expect(existsSync(join(move.to, 'single'))).toBe(false)
  fill(move.to, 'single')
  expect((await plan(move)).samples).toContain('KEEP /.gantry-trash')
  await match(move, { trash: 'first' })
  await match(move, { trash: 'second' })
  expect(readdirSync(join(move.to, '.gantry-trash/first')).toSorted()).toEqual(['old', 'single', 'single~2'])
  expect(readdirSync(move.to).toSorted()).toEqual(['.gantry-trash', 'a'])
})

test('path mappings: what comes from elsewhere in the source stays', async () => {
  const bytes = (text: string) => Buffer.from(text)
  await using move = createMove({
    mappings: [
      { from: bytes('a/deep'), to: bytes('all/elsewhere') },
      { from: bytes(''), to: bytes('all') },
    ],
  })
  fill(move.from, 'a/one', 'a/deep/two')
  await move.run()
  fill(move.to, 'all/elsewhere/old', 'all/old', 'beside')
  await match(move)
  expect(pathsIn(move.to).filter((path) => !path.endsWith('deep'))).toEqual([
    'all',
    'all/a',
    'all/a/one',
    'all/elsewhere',
    'all/elsewhere/two',
    'beside',
  ])
})

test('path mappings: what the target has at the place of a folder that goes elsewhere stays, also when the folder is gone', async () => {
  const mappings = [
    ['p/r', 'deep/r'],
    ['a', 'm'],
    ['', ''],
  ].map(([from = '', to = '']) => ({ from: Buffer.from(from), to: Buffer.from(to) }))
  await using move = createMove({ mappings })
  fill(move.from, 'a/1', 'p/r/2', 'stays')
  await move.run()
  fill(move.to, 'a/theirs', 'p/r/theirs')
  const left = ['a', 'a/theirs', 'deep', 'p', 'p/r', 'p/r/theirs', 'stays']
  expect((await plan(move)).counts).not.toHaveProperty('filesToDelete')
  for (const path of ['a', 'p']) rmSync(join(move.from, path), { recursive: true })
  expect((await plan(move)).samples.filter((one) => one.startsWith('DELETE'))).toEqual([
    'DELETE /a',
    'DELETE /a/1',
    'DELETE /p/r',
    'DELETE /p/r/2',
  ])
  await match(move)
  expect(pathsIn(move.to)).toEqual(left)
})

test('path mappings: what they led elsewhere goes with its folders, as planned, with what is at its place only', async () => {
  const mappings = [
    ['p/r', 'deep/r'],
    ['c', 'm/c'],
    ['a', 'm'],
    ['p', 'n'],
    ['', ''],
  ].map(([from = '', to = '']) => ({ from: Buffer.from(from), to: Buffer.from(to) }))
  await using move = createMove({ mappings })
  fill(move.from, 'a/1/2', 'c/3', 'p/5', 'p/r/6', 'stays')
  await move.run()
  expect((await plan(move)).counts).not.toHaveProperty('filesToDelete')
  for (const path of ['a', 'p']) rmSync(join(move.from, path), { recursive: true })
  const { counts, samples } = await plan(move)
  expect(counts).toMatchObject({ filesToDelete: 3, foldersToDelete: 3 })
  expect(samples).toEqual(
    expect.arrayContaining(['DELETE /a/1/2', 'DELETE /p/5', 'DELETE /p/r/6', 'KEEP /a']),
  )
  const matched = await match(move)
  expect(matched).toMatchObject({ counts: { filesDeleted: 3, foldersDeleted: 3 }, undeleted: [] })
  expect(pathsIn(move.to)).toEqual(['deep', 'm', 'm/c', 'm/c/3', 'stays'])
  expect((await plan(move)).counts).not.toHaveProperty('filesToDelete')
})

test('in Azure, too', { timeout: 120_000 }, async () => {
  const azurite = await sharedAzurite()
  const name = containerName()
  await azurite.createContainer(name)
  const container = azurite.service.getContainerClient(name)
  const target = { kind: 'adls2-shared-key', options: azuriteOptions(azurite, name) } as const
  await using move = createMove({ target })
  fill(move.from, 'a/one', 'two')
  await move.run()
  for (const name of ['a/old', 'extra/x/y', 'three']) await container.getBlockBlobClient(name).upload('', 0)
  expect((await plan(move)).counts).toMatchObject({ filesToDelete: 3, foldersToDelete: 2 })
  expect((await match(move)).undeleted).toEqual([])
  const names: string[] = []
  for await (const { name } of container.listBlobsFlat()) names.push(name)
  expect(names).toEqual(['a', 'a/one', 'two'])
})
