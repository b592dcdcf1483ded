import {
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { LocalDriver } from '../../../services/drivers/local/local.ts'
import type { ReadOptions, SourceFile, StorePath } from '../../../services/drivers/contract/driver.ts'
import { packRules } from '../../../services/engine/run/rules.ts'
import type { Mover, MoveSpec } from '../../../services/engine/mover.ts'
import { Cleaner, type CleaningStep, type CleanupRow } from '../../../services/engine/walk/clean.ts'
import type { Findings } from '../../../services/engine/walk/findings.ts'
import { walk } from '../../../services/engine/walk/walk.ts'
import { encodeFolder } from '../../../services/engine/walk/walk-folder.ts'
import { walkAll } from '../../../services/engine/walk/walk-all.ts'
import { azuriteOptions } from '../../support/azure-driver.ts'
import { containerName, sharedAzurite } from '../../support/azurite.ts'
import { walkTree } from '../../support/compare-trees.ts'
import { createMove, sharedMoves } from './move-folder.ts'
import { createRun } from './runs.ts'

const moved = sharedMoves()
const start = encodeFolder({ path: Buffer.alloc(0), side: 'unknown' })
const { signal } = new AbortController()

function fill(root: string, ...files: string[]): void {
  for (const file of files) {
    mkdirSync(dirname(join(root, file)), { recursive: true })
    writeFileSync(join(root, file), file)
  }
}

const pathsIn = (root: string): string[] => [...walkTree(root)].map(({ path }) => path.toString()).toSorted()

/** Rows as `result path`, in order, and what was counted. */
class Told {
  readonly rows: CleanupRow[] = []
  readonly counts: Record<string, number> = {}

  readonly take = async ({ lines, counts }: Pick<Findings, 'lines' | 'counts'>) => {
    for (const line of (lines['full.jsonl'] ?? '').split('\n').filter(Boolean))
      this.rows.push(JSON.parse(line) as CleanupRow)
    for (const [name, more] of Object.entries(counts)) this.counts[name] = (this.counts[name] ?? 0) + more
  }

  get results(): string[] {
    return this.rows.map(({ result, sourcePath }) => `${result} ${sourcePath}`).toSorted()
  }
}

async function clean(
  mover: Mover,
  spec: MoveSpec,
  spillFolder: string,
  ...steps: CleaningStep[]
): Promise<Told> {
  const told = new Told()
  for (const step of steps.length === 0 ? (['files', 'folders'] as const) : steps) {
    await walkAll({
      start: [start],
      atOnce: 2,
      spillFolder,
      step: (folders, take, stop) => mover.clean(spec, step, folders, take, stop),
      take: told.take,
      signal,
    })
  }
  return told
}

/** What is done to a file that was copied, and what a cleanup says of it then. */
const kept: [string, string, (from: string, to: string) => void, string?][] = [
  ['NOT_AT_TARGET', 'is no longer at the target', (_, to) => rmSync(to)],
  ['NOT_AT_TARGET', 'came to the source since', (from, to) => (rmSync(to), writeFileSync(from, 'new'))],
  ['DIFFERENT', 'was written since, as long as before', (from) => writeFileSync(from, 'FILE')],
  ['DIFFERENT', 'has grown since', (from) => writeFileSync(from, 'file and more')],
  ['DIFFERENT', 'is damaged at the target', (_, to) => writeFileSync(to, 'fil\0')],
  ['DIFFERENT', 'is cut off at the target', (_, to) => writeFileSync(to, 'fil')],
  ['NOT_AT_TARGET', 'is a folder at the target', (_, to) => (rmSync(to), mkdirSync(to))],
  ['DIFFERENT', 'is a link at the target', (from, to) => (rmSync(to), symlinkSync(from, to))],
  ['DIFFERENT', 'is now a link', (from) => (rmSync(from), symlinkSync('elsewhere', from))],
  ['SAME', 'is the very file that the target has', (from, to) => (rmSync(to), linkSync(from, to))],
]
test.each(kept)('%s: a file stays that %s', async (result, _why, change) => {
  await using move = moved()
  fill(move.from, 'file', 'other')
  await move.run()
  change(join(move.from, 'file'), join(move.to, 'file'))
  const told = await clean(move.mover, move.spec, move.at('spill'))
  expect(told.results).toEqual([`${result} /file`, 'REMOVED /other'].toSorted())
  expect(told.counts).toMatchObject({ filesKept: 1, filesRemoved: 1 })
  expect(pathsIn(move.from)).toEqual(['file'])
})

test('what arrived goes, with the folders that are empty then, but for the migration’s own', async () => {
  await using move = createMove({ root: Buffer.from('data') })
  fill(move.from, 'data/a/b/one', 'data/a/two', 'data/c/stays', 'data/three', 'beside')
  mkdirSync(join(move.from, 'data/empty'))
  symlinkSync('three', join(move.from, 'data/link'))
  await move.run()
  rmSync(join(move.to, 'data/c/stays'))
  mkdirSync(join(move.from, 'data/made-since'))
  const looked = await clean(move.mover, move.spec, move.at('spill'), 'look')
  expect(looked.results).toEqual([
    'NOT_AT_TARGET /data/c/stays',
    'NOT_AT_TARGET /data/made-since',
    ...['a/b/one', 'a/two', 'link', 'three'].map((path) => `REMOVABLE /data/${path}`),
  ])
  expect(existsSync(join(move.from, 'data/a/b/one'))).toBe(true)

  const told = await clean(move.mover, move.spec, move.at('spill'))
  expect(pathsIn(move.from)).toEqual(['beside', 'data', 'data/c', 'data/c/stays', 'data/made-since'])
  expect(told.counts).toMatchObject({
    filesRemoved: 4,
    foldersRemoved: 3,
    foldersNotAtTarget: 1,
    filesNotAtTarget: 1,
    filesKept: 1,
    bytesRemoved: ['data/a/b/one', 'data/a/two', 'data/three'].join('').length,
  })
  expect(readFileSync(join(move.to, 'data/a/b/one'), 'utf8')).toBe('data/a/b/one')
  // All that is left has its reason; there is nothing more to do.
  expect((await clean(move.mover, move.spec, move.at('spill'))).counts).not.toHaveProperty('filesRemoved')
})

test('what the rules leave out stays, though the target has it; path mappings lead to where it is', async () => {
  const rules = packRules({
    exclusions: [{ id: 'own', type: 'regex', patternType: 'GLOB', regex: '**.own' }],
    inclusions: [],
  })
  const mappings = [{ from: Buffer.from('in'), to: Buffer.from('elsewhere') }]
  await using move = createMove({ mappings, ...(rules && { rules }) })
  fill(move.from, 'in/one', 'in/two.own', 'in/deep.own/three', 'four')
  await move.run()
  fill(move.to, 'in/two.own', 'elsewhere/two.own')
  const told = await clean(move.mover, move.spec, move.at('spill'))
  expect(told.results).toEqual([
    'EXCLUDED /in/deep.own',
    'EXCLUDED /in/two.own',
    'REMOVED /four',
    'REMOVED /in/one',
  ])
  expect(pathsIn(move.from)).toEqual(['in', 'in/deep.own', 'in/deep.own/three', 'in/two.own'])
})

/** A folder where something happens at a moment that no test could choose from outside. */
class MeddledFolder extends LocalDriver {
  atRemoval: () => void = () => undefined
  atPersist: () => void = () => undefined
  /** Answers all reads, as a cache before a store does. */
  cache: LocalDriver | undefined

  override async open(path: StorePath, options?: ReadOptions): Promise<SourceFile> {
    return this.cache?.open(path, options) ?? super.open(path, options)
  }

  override async removeVersion(path: StorePath, version: string): Promise<boolean> {
    this.atRemoval()
    return super.removeVersion(path, version)
  }

  override async persist(path: StorePath): Promise<void> {
    await super.persist(path)
    this.atPersist()
  }
}

/** What a folder has now, kept beside it. */
function cacheOf(folder: string): LocalDriver {
  const fsRoot = `${folder}-cache`
  cpSync(folder, fsRoot, { recursive: true })
  return new LocalDriver({ fsRoot })
}

const meddling: [
  string,
  string,
  (source: MeddledFolder, target: MeddledFolder, from: string, to: string) => void,
][] = [
  [
    'CHANGED',
    'the source’s file is written again between comparison and removal',
    (source, _, from) => (source.atRemoval = () => writeFileSync(from, 'FILE')),
  ],
  [
    'CHANGED',
    'another takes its place at the source',
    (source, _, from) =>
      (source.atRemoval = () => {
        writeFileSync(`${from}.new`, 'file')
        renameSync(`${from}.new`, from)
      }),
  ],
  [
    'CHANGED',
    'the target’s is written again',
    (_, target, _from, to) => (target.atPersist = () => writeFileSync(to, 'FILE')),
  ],
  [
    'CHANGED',
    'the source’s was written again, and reads give what it was before',
    (source, _, from) => {
      source.cache = cacheOf(dirname(from))
      writeFileSync(from, 'FILE')
    },
  ],
  [
    'CHANGED',
    'the target’s was written again, and reads give what it was before',
    (_, target, _from, to) => {
      target.cache = cacheOf(dirname(to))
      writeFileSync(to, 'FILE')
    },
  ],
  ['CHANGED', 'the target’s is removed', (_, target, _from, to) => (target.atPersist = () => rmSync(to))],
]
test.each(meddling)('%s: a file stays when %s', async (result, _when, meddle) => {
  await using move = moved()
  fill(move.from, 'file')
  await move.run()
  const [from, to] = [join(move.from, 'file'), join(move.to, 'file')]
  const source = new MeddledFolder({ fsRoot: move.from })
  const target = new MeddledFolder({ fsRoot: move.to })
  meddle(source, target, from, to)
  const told = new Told()
  const run = createRun(source, target)
  await walkAll({
    start: [start],
    atOnce: 1,
    spillFolder: move.at('spill'),
    step: (folders, take) => walk(run, new Cleaner(run, 'files'), folders, take),
    take: told.take,
    signal,
  })
  expect(told.results.filter((one) => one.endsWith('/file'))).toEqual([`${result} /file`])
  expect(existsSync(from)).toBe(true)
})

test('a removal that is broken off when the cleanup is stopped is told, as nobody knows whether the file is gone', async () => {
  await using move = moved()
  fill(move.from, 'file')
  await move.run()
  const source = new LocalDriver({ fsRoot: move.from })
  const run = createRun(source, new LocalDriver({ fsRoot: move.to }))
  source.removeVersion = async () => {
    run.stop.abort()
    throw run.stop.signal.reason
  }
  const told = new Told()
  const folder = encodeFolder({ path: Buffer.alloc(0), side: 'both' })
  await walk(run, new Cleaner(run, 'files'), [folder], told.take).catch(() => undefined)
  expect(told.rows).toMatchObject([
    { result: 'NOT_REMOVED', sourcePath: '/file', detail: expect.stringContaining('may be gone') },
  ])
})

test('what was removed is told in the middle of a folder, so that a kill takes little of the report', async () => {
  await using move = moved()
  const names = Array.from({ length: 60 }, (_, index) => `file${index}`)
  fill(move.from, ...names)
  await move.run()
  // Each look at the clock is a twentieth of a second after the one before.
  let nowMs = 0
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => (nowMs += 50))
  const run = createRun(new LocalDriver({ fsRoot: move.from }), new LocalDriver({ fsRoot: move.to }))
  const told: number[] = []
  await walk(
    run,
    new Cleaner(run, 'files'),
    [encodeFolder({ path: Buffer.alloc(0), side: 'both' })],
    async ({ counts }) => void told.push(counts['filesRemoved'] ?? 0),
  )
  clock.mockRestore()
  expect(told.reduce((sum, one) => sum + one, 0)).toBe(names.length)
  expect(Math.max(...told)).toBeLessThan(names.length / 2)
})

test(
  'in Azure, too: from there, to there, and between a container and itself',
  { timeout: 120_000 },
  async () => {
    const azurite = await sharedAzurite()
    const [one, two] = [containerName(), containerName()]
    for (const name of [one, two]) await azurite.createContainer(name)
    const place = (name: string) =>
      ({ kind: 'adls2-shared-key', options: azuriteOptions(azurite, name) }) as const
    const namesIn = async (container: string) => {
      const names: string[] = []
      for await (const { name } of azurite.service.getContainerClient(container).listBlobsFlat())
        names.push(name)
      return names
    }
    // Out of a folder into a container.
    await using up = createMove({ target: place(one) })
    fill(up.from, 'a/one', 'a/two', 'three', 'four')
    await up.run()
    await azurite.service.getContainerClient(one).getBlockBlobClient('three').upload('other', 5)
    const told = await clean(up.mover, up.spec, up.at('spill'))
    expect(told.results).toEqual([
      'DIFFERENT /three',
      'REMOVED /a',
      'REMOVED /a/one',
      'REMOVED /a/two',
      'REMOVED /four',
    ])
    expect(pathsIn(up.from)).toEqual(['three'])
    // Out of that container into another.
    await using across = createMove({ source: place(one), target: place(two) })
    await across.run()
    await azurite.service.getContainerClient(two).getBlockBlobClient('a/two').delete()
    expect((await clean(across.mover, across.spec, across.at('spill'))).results).toEqual([
      'NOT_AT_TARGET /a/two',
      'REMOVED /a/one',
      'REMOVED /four',
      'REMOVED /three',
    ])
    expect(await namesIn(one)).toEqual(['a', 'a/two'])
    // Nobody lets a migration be so; if somebody did, nothing would be lost.
    const itself = { ...across.spec, source: place(two), target: place(two) }
    const same = await clean(across.mover, itself, across.at('spill'))
    const unreadable = { result: 'UNREADABLE', detail: 'source and target are one folder' }
    expect(same.rows).toMatchObject([unreadable, unreadable])
    expect(await namesIn(two)).toEqual(['a', 'a/one', 'four', 'three'])
  },
)
