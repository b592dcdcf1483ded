import { execFileSync } from 'node:child_process'
import { createServer } from 'node:net'
import { once } from 'node:events'
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startRegion } from '../../../services/engine/items/items.ts'
import { Mover } from '../../../services/engine/mover.ts'
import { compareTrees, walkTree } from '../../support/compare-trees.ts'
import { makeTree } from '../../support/tree.ts'
import { createMove } from './move-folder.ts'

test.each([
  ['through paths', Number.POSITIVE_INFINITY],
  ['by system calls of the threads', 0],
])(
  'a tree of all that is awkward arrives, and the counts add up, %s',
  { timeout: 60_000 },
  async (_, after) => {
    await using mover = new Mover({ threads: 2, nativeCallsAfter: after, log: { error: () => undefined } })
    await using move = createMove({}, mover)
    makeTree(move.from, { seed: 7, files: 400, largeBytes: 50_000_000 })
    const { counts, failures } = await move.run()
    expect(failures).toEqual([])
    expect(compareTrees(move.from, move.to)).toEqual([])

    const all = [...walkTree(move.from)].map(({ stat }) => stat)
    const files = all.filter((stat) => stat.isFile())
    const bytes = files.reduce((sum, { size }) => sum + Number(size), 0)
    expect(counts).toMatchObject({
      filesScanned: files.length,
      filesMigrated: files.length,
      bytesScanned: bytes,
      bytesMigrated: bytes,
      foldersScanned: all.filter((stat) => stat.isDirectory()).length + 1,
      foldersMigrated: all.filter((stat) => stat.isDirectory()).length + 1,
      linksScanned: all.filter((stat) => stat.isSymbolicLink()).length,
      linksMigrated: all.filter((stat) => stat.isSymbolicLink()).length,
      othersScanned: 0,
      failures: 0,
    })
  },
)

test('what no store can hold is listed with the reason, and the rest arrives', async () => {
  await using move = createMove()
  writeFileSync(move.at('from', 'file'), 'bytes')
  execFileSync('mkfifo', [move.at('from', 'pi\npe')])
  await using server = createServer()
  server.listen(move.at('from', 'socket'))
  await once(server, 'listening')
  const { counts, failures } = await move.run()
  expect(failures.toSorted((a, b) => a.path.localeCompare(b.path))).toMatchObject([
    { path: '/pi%0Ape', failure: 'unsupported', attempts: 1 },
    { path: '/socket', failure: 'unsupported', message: expect.stringContaining('neither a file') },
  ])
  expect(counts).toMatchObject({ filesMigrated: 1, othersScanned: 2, failures: 2 })
  expect(readdirSync(move.to)).toEqual(['file'])
})

test('a file that grew from nothing, and one that became large, are copied as they are', async () => {
  await using move = createMove()
  writeFileSync(move.at('from', 'was empty'), '')
  writeFileSync(move.at('from', 'was small'), 'small')
  writeFileSync(move.at('from', 'was large'), Buffer.alloc(20 * 2 ** 20, 'large'))
  writeFileSync(move.at('from', 'was full'), 'full')
  const { counts, failures } = await move.run({
    afterScan: () => {
      writeFileSync(move.at('from', 'was empty'), 'no longer')
      writeFileSync(move.at('from', 'was small'), Buffer.alloc(20 * 2 ** 20, 'now large'))
      truncateSync(move.at('from', 'was large'), 3)
      truncateSync(move.at('from', 'was full'), 0)
    },
  })
  expect(failures).toEqual([])
  expect(counts).toMatchObject({ filesMigrated: 4, bytesMigrated: 9 + 20 * 2 ** 20 + 3 })
  expect(compareTrees(move.from, move.to)).toEqual([])
})

test('what vanished between listing and copy is counted, and is no failure', async () => {
  await using move = createMove()
  for (const name of ['stays', 'goes', 'goes too']) writeFileSync(move.at('from', name), name)
  writeFileSync(move.at('from', 'empty goes'), '')
  mkdirSync(move.at('from', 'folder'))
  writeFileSync(move.at('from', 'folder', 'file'), 'bytes')
  mkdirSync(move.at('from', 'linked'))
  mkdirSync(move.at('outside'))
  for (const [name, size] of [
    ['file', 5],
    ['large', 17 * 2 ** 20],
  ] as const)
    for (const folder of [move.at('from', 'linked'), move.at('outside')]) {
      writeFileSync(join(folder, name), '')
      truncateSync(join(folder, name), size)
    }
  const { counts, failures } = await move.run({
    afterScan: () => {
      execFileSync('rm', ['-r', 'goes', 'goes too', 'empty goes', 'folder', 'linked'], { cwd: move.from })
      symlinkSync(move.at('outside'), move.at('from', 'linked'))
    },
  })
  expect(failures).toEqual([])
  expect(counts).toMatchObject({ filesScanned: 7, filesMigrated: 1, filesVanished: 6, failures: 0 })
  expect(readdirSync(move.at('to', 'linked'))).toEqual([])
  expect(readFileSync(move.at('to', 'stays'), 'utf8')).toBe('stays')
})

test('a file that became a link, a pipe or a folder is copied as a link or listed, and nothing hangs', async () => {
  await using move = createMove()
  for (const name of ['link', 'pipe', 'folder']) writeFileSync(move.at('from', name), name)
  const { failures } = await move.run({
    afterScan: () => {
      execFileSync('rm', ['link', 'pipe', 'folder'], { cwd: move.from })
      symlinkSync('/etc/hostname', move.at('from', 'link'))
      execFileSync('mkfifo', [move.at('from', 'pipe')])
      mkdirSync(move.at('from', 'folder'))
    },
  })
  expect(failures.map(({ path, failure }) => `${path} ${failure}`).toSorted()).toEqual([
    '/folder unsupported',
    '/link unsupported',
    '/pipe unsupported',
  ])
  expect(readdirSync(move.to)).toEqual([])
})

test('what stands in the way at the target is left, and listed with what is not migrated for it', async () => {
  await using move = createMove()
  writeFileSync(move.at('from', 'folder there'), 'a file here')
  writeFileSync(move.at('from', 'empty and folder there'), '')
  symlinkSync('target', move.at('from', 'link and folder there'))
  mkdirSync(move.at('from', 'file there'))
  writeFileSync(move.at('from', 'file there', 'below'), 'below')
  mkdirSync(move.at('from', 'link there'))
  mkdirSync(move.at('to', 'folder there'))
  writeFileSync(move.at('to', 'folder there', 'mine'), 'mine')
  mkdirSync(move.at('to', 'empty and folder there'))
  mkdirSync(move.at('to', 'link and folder there'))
  writeFileSync(move.at('to', 'file there'), 'mine')
  symlinkSync('folder there', move.at('to', 'link there'))
  const before = [...walkTree(move.to)].map(({ path }) => path.toString()).toSorted()
  const { failures, counts } = await move.run()
  expect(failures.map(({ path }) => path).toSorted()).toEqual([
    '/empty and folder there',
    '/file there',
    '/folder there',
    '/link and folder there',
    '/link there',
  ])
  for (const { failure, message, attempts } of failures) {
    expect(failure).toBe('unsupported')
    expect(message).toMatch(/^target: .* stands where/)
    expect(attempts).toBe(1)
  }
  expect(counts.failures).toBe(5)
  expect([...walkTree(move.to)].map(({ path }) => path.toString()).toSorted()).toEqual(before)
})

test('a folder below the root of both stores is moved to the same place, its parents made like those of the source', async () => {
  await using move = createMove({ root: Buffer.from('a/b') })
  mkdirSync(move.at('from', 'a', 'b', 'c'), { recursive: true })
  chmodSync(move.at('from', 'a'), 0o750)
  chmodSync(move.at('from', 'a', 'b'), 0o711)
  writeFileSync(move.at('from', 'a', 'b', 'c', 'file'), 'bytes')
  writeFileSync(move.at('from', 'a', 'not this'), 'bytes')
  const { failures, counts } = await move.run()
  expect(failures).toEqual([])
  expect(counts).toMatchObject({ foldersMigrated: 2, filesMigrated: 1 })
  expect(readdirSync(move.at('to', 'a'))).toEqual(['b'])
  expect(lstatSync(move.at('to', 'a')).mode & 0o777).toBe(0o750)
  expect(compareTrees(move.at('from', 'a', 'b'), move.at('to', 'a', 'b'))).toEqual([])
})

test('one folder can be scanned again by itself', async () => {
  await using move = createMove()
  mkdirSync(move.at('from', 'a', 'b'), { recursive: true })
  writeFileSync(move.at('from', 'a', 'b', 'file'), 'bytes')
  writeFileSync(move.at('from', 'other'), 'bytes')
  await move.run({ start: startRegion(Buffer.from('a/b')) })
  expect([...walkTree(move.to)].map(({ path }) => path.toString())).toEqual(['a', 'a/b', 'a/b/file'])
})

test('a migration of what is not there fails for its root', async () => {
  await using move = createMove({ root: Buffer.from('missing') })
  const { failures, counts } = await move.run()
  expect(failures).toMatchObject([{ path: '/missing', failure: 'gone' }])
  expect(counts).toMatchObject({ foldersScanned: 1, foldersMigrated: 0 })
  expect(readdirSync(move.to)).toEqual([])
})

test('a root of a filesystem that is not there: the target is tried again, then a failure', async () => {
  await using move = createMove()
  const target = { kind: 'local', options: { fsRoot: join(move.root, 'missing') } } as const
  const { failures } = await move.run({}, { target })
  expect(failures).toMatchObject([
    { path: '/', failure: 'io', attempts: 5, message: expect.stringMatching(/^target: /) },
  ])
})

test('links out of the root lead nowhere: not at the source, not at the target', async () => {
  await using move = createMove()
  mkdirSync(move.at('outside'))
  writeFileSync(move.at('outside', 'private'), 'private')
  symlinkSync(move.at('outside'), move.at('from', 'link'))
  mkdirSync(move.at('from', 'folder'))
  writeFileSync(move.at('from', 'folder', 'file'), 'bytes')
  symlinkSync(move.at('outside'), move.at('to', 'folder'))
  const { failures } = await move.run()
  expect(failures).toMatchObject([{ path: '/folder', failure: 'unsupported' }])
  expect(readdirSync(move.at('outside'))).toEqual(['private'])
  expect(lstatSync(move.at('to', 'link')).isSymbolicLink()).toBe(true)

  const through = await move.run({}, { root: Buffer.from('link') })
  expect(through.failures).toMatchObject([{ path: '/link', failure: 'permission' }])
})
