import { mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { createHeld, useNativeCalls } from '../../../services/drivers/local/folder-entries.ts'
import { LocalDriver } from '../../../services/drivers/local/local.ts'
import { beginLarge, commitLarge, copyPart } from '../../../services/engine/copy/large.ts'
import { directCopy } from '../../../services/engine/run/run.ts'
import { createFolder } from '../../support/migrations.ts'
import { failureOf } from '../../conformance/driver-store.ts'
import { sharedMoves } from './move-folder.ts'
import { createRun, untold } from './runs.ts'

/** Folders that somebody replaces by links to what is elsewhere while a migration works in them. */

const createMove = sharedMoves()
const bytes = (text: string) => Buffer.from(text)

/** Moves from a folder to another of the same path, both reached through `/`: each store is all of the host. */
function createMoveOfHost() {
  const move = createMove({
    source: { kind: 'local', options: { fsRoot: '/' } },
    target: { kind: 'local', options: { fsRoot: '/' } },
  })
  for (const side of ['from', 'to']) mkdirSync(move.at(side, 'sub'))
  mkdirSync(move.at('outside'))
  const pathOf = (folder: string) => new Uint8Array(bytes(folder.slice(1)))
  return {
    ...move,
    root: pathOf(move.from),
    mappings: [{ from: pathOf(move.from), to: pathOf(move.to) }],
    swap: (side: 'from' | 'to') => {
      renameSync(move.at(side, 'sub'), move.at(side, 'away'))
      symlinkSync(move.at('outside'), move.at(side, 'sub'))
    },
  }
}

test.each([10, 17 * 2 ** 20])('a file of %i bytes is not read from where a link leads to', async (size) => {
  await using move = createMoveOfHost()
  writeFileSync(move.at('from', 'sub', 'file'), Buffer.alloc(size, 'ours'))
  writeFileSync(move.at('outside', 'file'), Buffer.alloc(size, 'secret'))
  const { root, mappings } = move
  const { counts } = await move.run({ afterScan: () => move.swap('from') }, { root, mappings })
  expect(counts).toMatchObject({ filesMigrated: 0, filesVanished: 1 })
  expect(readdirSync(move.at('to', 'sub'))).toEqual([])
})

test.each([10, 17 * 2 ** 20])('a file of %i bytes is not written to where a link leads to', async (size) => {
  await using move = createMoveOfHost()
  writeFileSync(move.at('from', 'sub', 'file'), Buffer.alloc(size, 'ours'))
  writeFileSync(move.at('outside', 'file'), 'theirs')
  const { root, mappings } = move
  const { failures } = await move.run({ afterScan: () => move.swap('to') }, { root, mappings })
  expect(failures).toEqual([
    expect.objectContaining({
      failure: 'permission',
      message: expect.stringMatching(/^target: a symbolic link/),
    }),
  ])
  expect(readdirSync(move.at('outside'))).toEqual(['file'])
  expect(readFileSync(move.at('outside', 'file'), 'utf8')).toBe('theirs')
})

test.each([
  ['through paths', Number.POSITIVE_INFINITY],
  ['by system calls of the thread', 0],
])('between two files of a folder both folders stay the same, %s', (_, nativeCallsAfter) => {
  useNativeCalls(createHeld(), nativeCallsAfter)
  using folder = createFolder('from', 'from/sub', 'to', 'to/sub', 'outside')
  for (const name of ['1', '2']) {
    writeFileSync(`${folder.from}/sub/${name}`, 'ours')
    writeFileSync(`${folder.outside}/${name}`, 'secret')
  }
  const run = createRun(new LocalDriver({ fsRoot: folder.from }), new LocalDriver({ fsRoot: folder.to }))
  using copy = directCopy(run)!.folder(bytes('sub'), bytes('sub'), untold)
  copy.file(bytes('1'))
  for (const side of [folder.from, folder.to]) {
    renameSync(`${side}/sub`, `${side}/away`)
    symlinkSync(folder.outside, `${side}/sub`)
  }
  copy.file(bytes('2'))
  for (const name of ['1', '2']) {
    expect(readFileSync(`${folder.to}/away/${name}`, 'utf8')).toBe('ours')
    expect(readFileSync(`${folder.outside}/${name}`, 'utf8')).toBe('secret')
  }
})

test('between two parts of a large file nothing is read or written behind a link', async () => {
  using folder = createFolder('from', 'from/sub', 'to', 'to/sub', 'outside')
  const content = Buffer.alloc(33 * 2 ** 20, 'ours')
  writeFileSync(`${folder.from}/sub/file`, content)
  const run = createRun(new LocalDriver({ fsRoot: folder.from }), new LocalDriver({ fsRoot: folder.to }))
  const path = bytes('sub/file')
  const copy = await beginLarge(run, { kind: 'large', attempt: 1, notBeforeMs: 0, path })
  await copyPart(run, copy, 0)
  for (const name of readdirSync(`${folder.to}/sub`)) writeFileSync(`${folder.outside}/${name}`, 'theirs')
  const names = readdirSync(folder.outside)
  await new Promise(setImmediate)
  renameSync(`${folder.to}/sub`, `${folder.to}/away`)
  symlinkSync(folder.outside, `${folder.to}/sub`)
  expect(await failureOf(copyPart(run, copy, 1))).toBe('permission')
  expect(await failureOf(commitLarge(run, copy))).toBe('permission')
  await run.target.abortUpload(copy.upload)
  expect(readdirSync(folder.outside)).toEqual(names)
  for (const name of names) expect(readFileSync(`${folder.outside}/${name}`, 'utf8')).toBe('theirs')
})
