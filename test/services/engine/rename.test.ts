import { mkdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { Mover, type MoveSpec } from '../../../services/engine/mover.ts'
import { packRules, type RuleLists } from '../../../services/engine/run/rules.ts'
import type { Rule } from '../../../subjects/migrations/model/rules.ts'
import { compareTrees } from '../../support/compare-trees.ts'
import { createFolder } from '../../support/migrations.ts'
import { liveSpec } from './local-spec.ts'
import { changed, reconcile } from './reconcile-folder.ts'

const mover = new Mover({ threads: 1, log: { error: () => undefined } })
afterAll(() => mover.close())

/** Two folders with the same in both, and what is renamed in the first. */
function start(options: Partial<MoveSpec> = {}, ...files: string[]) {
  const folder = createFolder('from', 'to')
  const spec = liveSpec(folder, options)
  for (const root of [folder.from, folder.to])
    for (const file of files) {
      mkdirSync(dirname(join(root, file)), { recursive: true })
      writeFileSync(join(root, file), file)
    }
  return {
    spec,
    at: (path: string) => join(folder.from, path),
    there: (path: string) => join(folder.to, path),
    move: (from: string, to: string) => renameSync(join(folder.from, from), join(folder.from, to)),
    rename: async (...pairs: [string, string][]) => {
      const renamed = pairs.map(([from, to]) => ({ from, to }))
      const done = await mover.rename(spec, renamed, new AbortController().signal)
      return done.map(({ to, isFolder }) => (isFolder ? `${to}/` : to))
    },
    compare: async () => {
      await reconcile(mover, spec, [changed('', { scope: 'tree' })])
      return compareTrees(folder.from, folder.to)
    },
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  }
}

const excluding = (...rules: Rule[]): Partial<MoveSpec> => {
  const lists: RuleLists = { exclusions: rules, inclusions: [] }
  const packed = packRules(lists)
  return packed === undefined ? {} : { rules: packed }
}
const glob = (regex: string): Rule => ({
  id: regex,
  type: 'regex',
  patternType: 'GLOB',
  regex,
  description: '',
})

test('folders and files get their new names at the target, one after the other', async () => {
  using pair = start({}, 'a/deep/file', 'b/file', 'single')
  const inode = statSync(pair.there('a/deep/file')).ino
  pair.move('a', 'c')
  pair.move('c/deep', 'b/deeper')
  pair.move('single', 'c/one')
  expect(await pair.rename(['a', 'c'], ['single', 'c/one'])).toEqual(['c/', 'c/one'])
  // Of what was renamed once more the comparison takes care.
  expect(await pair.rename(['a/deep', 'b/deeper'])).toEqual([])
  expect(statSync(pair.there('c/deep/file')).ino).toBe(inode)
  expect(await pair.compare()).toEqual([])
})

test('nothing is renamed where something else has one of the names, or the folder is not there', async () => {
  using pair = start({}, 'taken/file', 'came/file', 'gone/file', 'file', 'other')
  pair.move('taken', 'taken 2')
  mkdirSync(pair.there('taken 2'))
  pair.move('came', 'came 2')
  mkdirSync(pair.at('came'))
  pair.move('gone', 'gone 2')
  rmSync(pair.at('gone 2'), { recursive: true })
  mkdirSync(pair.at('new'))
  pair.move('file', 'new/file')
  rmSync(pair.at('other'))
  mkdirSync(pair.at('other 2'))
  const done = await pair.rename(
    ['taken', 'taken 2'],
    ['came', 'came 2'],
    ['gone', 'gone 2'],
    ['file', 'new/file'],
    ['other', 'other 2'],
    ['never', 'there'],
  )
  expect(done).toEqual([])
  expect(await pair.compare()).toEqual([])
})

test('of what had several names in turn nothing is renamed: the last of them may be another one’s by now', async () => {
  using pair = start({}, 'a')
  pair.move('a', 'b')
  writeFileSync(pair.at('a'), 'another one')
  pair.move('b', 'c')
  pair.move('a', 'b')
  expect(await pair.rename(['a', 'b'], ['b', 'c'], ['a', 'b'])).toEqual([])
  expect(await pair.compare()).toEqual([])
})

test('what was at the target before the migration is not its own to rename', async () => {
  using pair = start({}, 'a/file')
  pair.spec.live.startedMs = Date.now() + 60_000
  pair.move('a', 'b')
  expect(await pair.rename(['a', 'b'])).toEqual([])
})

test('what rules leave out in one place and take in another is not renamed from the one to the other', async () => {
  using pair = start(excluding(glob('/stage/**/skipped'), glob('*.tmp')), 'stage/a/file', 'free/b/file')
  pair.move('stage/a', 'a')
  pair.move('free/b', 'b')
  expect(await pair.rename(['stage/a', 'a'], ['free/b', 'b'])).toEqual(['b/'])
  using other = start(excluding(glob('/final/**')), 'a/file', 'final/x')
  other.move('a', 'final/a')
  expect(await other.rename(['a', 'final/a'])).toEqual([])
  using listed = start(
    excluding({ id: 'l', type: 'paths', paths: ['/c/secret'], description: '' }),
    'a/secret',
  )
  listed.move('a', 'c')
  expect(await listed.rename(['a', 'c'])).toEqual([])
})

test('nothing is renamed into the trash, by mappings, or where links are followed', async () => {
  const mappings = [{ from: Buffer.from('a'), to: Buffer.from('z') }]
  for (const options of [{ mappings }, { links: 'follow' as const }]) {
    using pair = start(options, 'a/file')
    pair.move('a', 'b')
    expect(await pair.rename(['a', 'b'])).toEqual([])
  }
  using pair = start({}, 'a/file', '.gantry-trash/x')
  pair.move('a', '.gantry-trash/a')
  expect(await pair.rename(['a', '.gantry-trash/a'])).toEqual([])
})
