import { lstatSync, mkdirSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { ToldNames } from '../../../services/engine/walk/plan-by.ts'
import { Planned, planAll } from '../../../services/migrations/removals/plan-walk.ts'
import type { MoveSpec } from '../../../services/engine/mover.ts'
import { packRules } from '../../../services/engine/run/rules.ts'
import { until } from '../../support/until.ts'
import { sharedMoves } from './move-folder.ts'
import { changed, reconcile } from './reconcile-folder.ts'

const createMove = sharedMoves()

/** Files with their paths as content, last written to a minute ago. */
function fill(root: string, ...files: string[]): void {
  const then = new Date(Date.now() - 60_000)
  for (const file of files) {
    mkdirSync(dirname(join(root, file)), { recursive: true })
    writeFileSync(join(root, file), file)
    utimesSync(join(root, file), then, then)
  }
}

/** A live migration that was started when there was something at its target. */
async function createLive(older: readonly string[], source: readonly string[], rules?: MoveSpec['rules']) {
  const move = createMove(rules === undefined ? {} : { rules })
  fill(move.to, ...older)
  fill(move.from, ...source)
  const fileClock = () => {
    writeFileSync(move.at('probe'), '')
    const { birthtimeMs } = lstatSync(move.at('probe'))
    rmSync(move.at('probe'))
    return birthtimeMs
  }
  const beforeMs = fileClock()
  await until('files that are made are younger', () => fileClock() > beforeMs)
  const spec: MoveSpec = { ...move.spec, live: { startedMs: fileClock() } }
  await move.run({}, spec)
  const plan = async (told = new ToldNames()) => {
    const planned = new Planned()
    const by = { as: 'comparison', told: told.pack() } as const
    const { signal } = new AbortController()
    await planAll(move.mover, spec, { by, planned, spillFolder: move.at('spill'), signal })
    const paths = planned.samples.map(({ action, path }) => `${action} ${path}`).toSorted()
    return { counts: planned.counts, paths, reasons: planned.samples.map(({ reason }) => reason) }
  }
  return {
    ...move,
    plan,
    apply: (...groups: ReturnType<typeof changed>[]) => reconcile(move.mover, spec, groups),
  }
}

const everything = changed('', { scope: 'tree' })

test('a plan of a live migration tells what its comparison does then, and nothing else', async () => {
  const older = ['old/x', 'old-file', 'clash/x', 'd/older']
  const source = ['same', 'd/1', 'd/2', 'changed', 'mode', 'was-folder/in', 'was-file', 'gone']
  await using live = await createLive(older, source)
  symlinkSync('same', join(live.from, 'link'))
  await live.apply(everything)
  expect((await live.plan()).paths).toEqual([
    'KEEP /clash',
    'KEEP /d/older',
    'KEEP /old',
    'KEEP /old-file',
    ...['/changed', '/d/1', '/d/2', '/gone', '/link', '/mode', '/same', '/was-file', '/was-folder/in'].map(
      (path) => `SKIP ${path}`,
    ),
  ])
  const equal = ['same size and time', 'same link']
  expect((await live.plan()).reasons).toEqual(expect.arrayContaining(equal))

  renameSync(join(live.from, 'd'), join(live.from, 'e'))
  rmSync(join(live.from, 'gone'))
  fill(live.from, 'clash', 'new/file')
  writeFileSync(join(live.from, 'changed'), 'something else')
  rmSync(join(live.from, 'was-folder'), { recursive: true })
  fill(live.from, 'was-folder')
  rmSync(join(live.from, 'was-file'))
  fill(live.from, 'was-file/in')
  const { paths, counts, reasons } = await live.plan()
  expect(paths).toEqual([
    'COPY /e',
    'COPY /e/1',
    'COPY /e/2',
    'COPY /new',
    'COPY /new/file',
    'COPY /was-file',
    'COPY /was-file/in',
    'COPY /was-folder',
    'DELETE /gone',
    'DELETE /was-file',
    'DELETE /was-folder',
    'DELETE /was-folder/in',
    'KEEP /d',
    'KEEP /old',
    'KEEP /old-file',
    'REFUSE /clash',
    'REPLACE /changed',
    'SKIP /link',
    'SKIP /mode',
    'SKIP /same',
  ])
  expect(reasons).toContainEqual(expect.stringContaining('before the migration'))

  const done = await live.apply(everything)
  expect(done.failures.map(({ path }) => path)).toEqual(['/clash'])
  expect(done.counts).toMatchObject({
    filesRemoved: counts.filesToDelete,
    foldersRemoved: counts.foldersToDelete,
    filesMigrated: counts.filesToCopy + counts.filesToReplace,
    foldersMigrated: counts.foldersToMake,
  })
  expect((await live.plan()).paths.filter((path) => !/^(KEEP|SKIP)/.test(path))).toEqual(['REFUSE /clash'])
})

test.each([
  ['SkipIfSizeMatch', 'same size'],
  ['SkipIfSizeAndTimeMatch', 'same size and time'],
] as const)('a plan by %s says why files are skipped and kept', async (policy, why) => {
  await using move = createMove({ policy })
  fill(move.from, 'same')
  await move.run()
  fill(move.to, 'only')
  const planned = new Planned()
  const { signal } = new AbortController()
  const by = { as: 'scan' } as const
  await planAll(move.mover, move.spec, { by, planned, spillFolder: move.at('spill'), signal })
  expect(planned.samples).toEqual([
    { action: 'SKIP', path: '/same', reason: why },
    { action: 'KEEP', path: '/only', reason: 'only at the target' },
  ])
})

test.each([
  [100, 40, { files: 15, folders: 5 }],
  [100, 2, { files: 18, folders: 2 }],
  [3, 40, { files: 3, folders: 17 }],
])(
  'of %i files and %i folders a plan shows some of both, copied and excluded',
  async (files, folders, shown) => {
    const rules = packRules({
      exclusions: [{ id: 'skip', type: 'regex', regex: '/skip.*' }],
      inclusions: [],
    })
    await using move = createMove({ ...(rules && { rules }) })
    const names = (name: string, count: number) => Array.from({ length: count }, (_, at) => `${name}${at}`)
    for (const name of ['copied', 'skipped']) {
      for (const folder of names(`${name}-folder`, folders)) mkdirSync(join(move.from, folder))
      fill(move.from, ...names(`${name}-file`, files))
    }
    const planned = new Planned()
    const { signal } = new AbortController()
    const by = { as: 'scan' } as const
    await planAll(move.mover, move.spec, { by, planned, spillFolder: move.at('spill'), signal })
    for (const action of ['COPY', 'EXCLUDE'] as const) {
      const paths = planned.samples.filter((one) => one.action === action).map(({ path }) => path)
      const countOf = (kind: string) => paths.filter((path) => path.includes(kind)).length
      expect({ files: countOf('-file'), folders: countOf('-folder') }).toEqual(shown)
    }
  },
)

test('a plan counts what each exclusion leaves out, by the first that matches', async () => {
  const of = (id: string, regex: string) => ({ id, type: 'regex', patternType: 'GLOB', regex }) as const
  const exclusions = [
    of('logs', '/logs'),
    of('odd: name', '*.tmp'),
    of('none', '*.nothing'),
    of('late', 'b*'),
  ]
  const rules = packRules({ exclusions, inclusions: [] })
  await using move = createMove({ ...(rules && { rules }) })
  fill(move.from, 'a', 'b.tmp', 'c.tmp', 'logs/x.nothing', 'deep/d.tmp', 'deep/b/x')
  const planned = new Planned()
  const { signal } = new AbortController()
  const by = { as: 'scan' } as const
  await planAll(move.mover, move.spec, { by, planned, spillFolder: move.at('spill'), signal })
  expect(planned.excludedBy(exclusions.map(({ id }) => id))).toEqual([
    { id: 'logs', files: 0, folders: 1 },
    { id: 'odd: name', files: 3, folders: 0 },
    { id: 'none', files: 0, folders: 0 },
    { id: 'late', files: 0, folders: 1 },
  ])
  expect(planned.counts).toMatchObject({ filesExcluded: 3, foldersExcluded: 2, filesToCopy: 1 })
})

test('what goes from under a name that something has now which is left out is planned, too', async () => {
  const large = { id: 'large', type: 'fileSize', value: 10, unit: 'B' } as const
  await using live = await createLive([], ['folder/a'], packRules({ exclusions: [large], inclusions: [] }))
  rmSync(join(live.from, 'folder'), { recursive: true })
  writeFileSync(join(live.from, 'folder'), 'more than may be')
  expect((await live.plan()).paths).toEqual(['DELETE /folder', 'DELETE /folder/a', 'EXCLUDE /folder'])
  expect((await live.apply(everything)).counts).toMatchObject({ filesRemoved: 1, foldersRemoved: 1 })
})

test('what was told of and waits is planned as it goes, however old; an empty source removes nothing', async () => {
  await using live = await createLive(['old/x', 'file', 'folder/x'], ['made/1'])
  const told = new ToldNames()
  told.add(Buffer.from('old'), 'tree')
  for (const name of ['file', 'folder', 'made']) told.add(Buffer.from(name), 'name')
  rmSync(join(live.from, 'made'), { recursive: true })
  expect((await live.plan()).paths).toEqual(['KEEP /file', 'KEEP /folder', 'KEEP /made', 'KEEP /old'])
  const { paths, counts } = await live.plan(told)
  expect(paths).toEqual([
    'DELETE /file',
    'DELETE /made',
    'DELETE /made/1',
    'DELETE /old',
    'DELETE /old/x',
    'KEEP /folder',
  ])
  const { counts: done } = await live.apply(
    changed('', { names: ['file', 'folder', 'made'], trees: ['old'] }),
  )
  expect(done).toMatchObject({ filesRemoved: counts.filesToDelete, foldersRemoved: counts.foldersToDelete })
})
