import {
  chmodSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { EngineMapping } from '../../../services/engine/run/mappings.ts'
import { textFromPath } from '../../../services/drivers/paths/path-text.ts'
import { walkTree } from '../../support/compare-trees.ts'
import { sharedMoves } from './move-folder.ts'
import { sharedTargets, targetKinds } from './targets.ts'

const createMove = sharedMoves()
const targets = sharedTargets()

const bytes = (text: string) => Buffer.from(text)
/** In the order in which they are given, which is that of the longest first. */
const mapped = (...pairs: [from: string, to: string][]): { mappings: EngineMapping[] } => ({
  mappings: pairs.map(([from, to]) => ({ from: bytes(from), to: bytes(to) })),
})

/** Each file has its own path as its content. */
function fill(root: string, ...files: string[]): void {
  for (const file of files) {
    mkdirSync(dirname(join(root, file)), { recursive: true })
    writeFileSync(join(root, file), file)
  }
}

/** What arrived: path at the target, and where it came from. */
const arrivedIn = (root: string): Record<string, string> =>
  Object.fromEntries(
    [...walkTree(root)]
      .filter(({ stat }) => stat.isFile())
      .map(({ path }) => [textFromPath(path).slice(1), readFileSync(join(root, path.toString()), 'utf8')]),
  )

test('the root goes elsewhere, with all of it', async () => {
  await using move = createMove({ root: bytes('data'), ...mapped(['data', 'x/y/z']) })
  fill(move.from, 'data/a', 'data/b/c', 'other')
  symlinkSync('a', move.at('from', 'data', 'link'))
  writeFileSync(move.at('from', 'data', 'b', 'empty'), '')
  writeFileSync(move.at('from', 'data', 'b', 'large'), '')
  truncateSync(move.at('from', 'data', 'b', 'large'), 17 * 2 ** 20)
  chmodSync(move.at('from', 'data', 'b'), 0o750)
  const { counts, failures } = await move.run()
  expect(failures).toEqual([])
  expect(counts).toMatchObject({ filesMigrated: 4, linksMigrated: 1, foldersMigrated: 2 })
  const { 'x/y/z/b/large': large, ...arrived } = arrivedIn(move.to)
  expect(arrived).toEqual({ 'x/y/z/a': 'data/a', 'x/y/z/b/c': 'data/b/c', 'x/y/z/b/empty': '' })
  expect(large).toHaveLength(17 * 2 ** 20)
  expect(statSync(move.at('to', 'x', 'y', 'z', 'b')).mode & 0o777).toBe(0o750)
  const again = await move.run({}, { policy: 'SkipIfDigestMatch' })
  expect(again.counts).toMatchObject({ filesMigrated: 0, linksMigrated: 0, filesSkipped: 5 })
  const bySize = await move.run({ redelivered: true }, { policy: 'SkipIfSizeMatch', generation: 2 })
  expect(bySize.counts).toMatchObject({ filesMigrated: 0, linksMigrated: 0, filesSkipped: 5 })
})

describe.each(targetKinds)('to a %s', (to) => {
  test('all of a store goes into a folder', async () => {
    await using target = await targets.create(to)
    await using move = createMove({ target: target.spec, ...mapped(['', 'all/of it']) })
    fill(move.from, 'a', 'b/c')
    const { failures } = await move.run()
    expect(failures).toEqual([])
    expect(await target.contents()).toEqual({ 'all/of it/a': 'a', 'all/of it/b/c': 'b/c' })
  })

  test('several folders of one migration go elsewhere, the longest prefix wins', async () => {
    const pairs = mapped(['a/b/c', 'deep'], ['a/b', 'there/b2'], ['', ''])
    await using target = await targets.create(to)
    await using move = createMove({ target: target.spec, ...pairs })
    fill(move.from, 'a/1', 'a/b/2', 'a/b/c/3', 'a/b/cc/4', 'a/bb/5')
    const { failures } = await move.run()
    expect(failures).toEqual([])
    expect(await target.contents()).toEqual({
      'a/1': 'a/1',
      'a/bb/5': 'a/bb/5',
      'there/b2/2': 'a/b/2',
      'there/b2/cc/4': 'a/b/cc/4',
      'deep/3': 'a/b/c/3',
    })
  })

  test('two folders change places', async () => {
    await using target = await targets.create(to)
    await using move = createMove({ target: target.spec, ...mapped(['a', 'b'], ['b', 'a'], ['', '']) })
    fill(move.from, 'a/1', 'b/2')
    const { failures } = await move.run()
    expect(failures).toEqual([])
    expect(await target.contents()).toEqual({ 'b/1': 'a/1', 'a/2': 'b/2' })
  })

  test('what would land where a mapping leads is a failure, and the rest arrives', async () => {
    await using target = await targets.create(to)
    await using move = createMove({ target: target.spec, ...mapped(['a', 'x/y'], ['', '']) })
    fill(move.from, 'a/1', 'x/2', 'x/y/3', 'z')
    const { counts, failures } = await move.run()
    expect(failures).toMatchObject([
      {
        path: '/x/y',
        failure: 'collision',
        attempts: 1,
        message: expect.stringContaining('leads /a of the source'),
      },
    ])
    expect(await target.contents()).toEqual({ 'x/y/1': 'a/1', 'x/2': 'x/2', z: 'z' })
    expect(counts).toMatchObject({ foldersScanned: 4, foldersMigrated: 3, filesScanned: 3, filesMigrated: 3 })
  })

  test('a file in the way of a folder that a mapping makes is a failure, and so is a mapping of a file', async () => {
    await using target = await targets.create(to)
    await using move = createMove({
      target: target.spec,
      ...mapped(['file', 'elsewhere'], ['a', 'x/y'], ['', '']),
    })
    fill(move.from, 'a/1', 'x', 'file')
    const { counts, failures } = await move.run()
    expect(failures.map(({ path, failure }) => `${path} ${failure}`).toSorted()).toEqual([
      '/file unsupported',
      '/x collision',
    ])
    expect(await target.contents()).toEqual({ 'x/y/1': 'a/1' })
    expect(counts).toMatchObject({ filesScanned: 3, filesMigrated: 1, failures: 2 })
  })
})

test('to Azure: all kinds of files, and folders that are empty', async () => {
  const { spec: target, client } = await targets.createContainer()
  await using move = createMove({ target, ...mapped(['a/b', 'x/y'], ['', 'all']) })
  fill(move.from, 'a/1', 'a/b/2')
  mkdirSync(move.at('from', 'a', 'b', 'empty'))
  writeFileSync(move.at('from', 'a', 'b', 'large'), '')
  truncateSync(move.at('from', 'a', 'b', 'large'), 17 * 2 ** 20)
  const { failures } = await move.run()
  expect(failures).toEqual([])
  const names: string[] = []
  for await (const { name } of client.listBlobsFlat()) names.push(name)
  expect(names.toSorted()).toEqual(['all', 'all/a', 'all/a/1', 'x', 'x/y', 'x/y/2', 'x/y/empty', 'x/y/large'])
})
