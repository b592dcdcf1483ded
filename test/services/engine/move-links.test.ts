import { execFileSync } from 'node:child_process'
import {
  lstatSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { expect, test } from 'vitest'
import { Planned, planAll } from '../../../services/migrations/removals/plan-walk.ts'
import type { ActionPolicy } from '../../../subjects/migrations/model/terms.ts'
import { sharedMoves } from './move-folder.ts'

const createMove = sharedMoves()

test('links are left out by choice, which is counted, and is no failure', async () => {
  await using move = createMove({ links: 'skip' })
  writeFileSync(move.at('from', 'file'), 'bytes')
  symlinkSync('file', move.at('from', 'link'))
  symlinkSync('nowhere', move.at('from', 'dangling'))
  const { counts, failures } = await move.run()
  expect(failures).toEqual([])
  expect(counts).toMatchObject({ linksScanned: 2, linksSkipped: 2, linksMigrated: 0, filesMigrated: 1 })
  expect(readdirSync(move.to)).toEqual(['file'])
})

test('followed, a link is the file or the folder that it leads to', async () => {
  await using move = createMove({ links: 'follow' })
  mkdirSync(move.at('from', 'folder', 'below'), { recursive: true })
  writeFileSync(move.at('from', 'folder', 'below', 'file'), 'bytes')
  writeFileSync(move.at('from', 'large'), Buffer.alloc(17 * 2 ** 20, 'large'))
  writeFileSync(move.at('from', 'empty'), '')
  symlinkSync('folder/below/file', move.at('from', 'to file'))
  symlinkSync('to file', move.at('from', 'to link'))
  symlinkSync(move.at('from', 'folder'), move.at('from', 'to folder'))
  symlinkSync('large', move.at('from', 'to large'))
  symlinkSync('empty', move.at('from', 'to empty'))
  symlinkSync('below/file', move.at('from', 'folder', 'inner'))
  const { counts, failures } = await move.run()
  expect(failures).toEqual([])
  expect(counts).toMatchObject({ linksScanned: 0, filesScanned: 10, filesMigrated: 10, foldersMigrated: 5 })
  for (const path of ['to file', 'to link', 'to folder/below/file', 'to folder/inner', 'folder/inner'])
    expect(readFileSync(move.at('to', path), 'utf8'), path).toBe('bytes')
  expect(lstatSync(move.at('to', 'to folder')).isDirectory()).toBe(true)
  expect(lstatSync(move.at('to', 'to large')).size).toBe(17 * 2 ** 20)
  expect(lstatSync(move.at('to', 'to empty')).isFile()).toBe(true)
})

test('links that lead nowhere, round in a circle, out of the root or up are listed, each with its reason', async () => {
  await using move = createMove({ links: 'follow' })
  mkdirSync(move.at('outside'))
  writeFileSync(move.at('outside', 'private'), 'private')
  mkdirSync(move.at('from', 'a', 'b'), { recursive: true })
  mkdirSync(move.at('from', 'c'))
  symlinkSync('nowhere', move.at('from', 'dangling'))
  symlinkSync('itself', move.at('from', 'itself'))
  symlinkSync(move.at('outside'), move.at('from', 'out'))
  symlinkSync(move.at('outside', 'private'), move.at('from', 'out to file'))
  symlinkSync('..', move.at('from', 'a', 'up'))
  symlinkSync('../../a', move.at('from', 'a', 'b', 'around'))
  // Neither leads up, both together do.
  symlinkSync('../c', move.at('from', 'a', 'across'))
  symlinkSync('../a', move.at('from', 'c', 'back'))
  const { counts, failures } = await move.run()
  expect(
    Object.fromEntries(failures.map(({ path, failure, message }) => [path, `${failure}: ${message}`])),
  ).toEqual({
    '/dangling': 'unsupported: source: the symbolic link leads to nothing; it is not followed',
    '/itself': 'unsupported: source: the symbolic link leads round in a circle; it is not followed',
    '/out': expect.stringMatching(/^permission: source: .* leads out of the root/),
    '/out to file': expect.stringMatching(/^permission: source: .* leads out of the root/),
    '/a/up': 'unsupported: source: the symbolic link leads to a folder that it is in; it is not followed',
    '/a/b/around':
      'unsupported: source: the symbolic link leads to a folder that it is in; it is not followed',
    '/a/across/back':
      'unsupported: source: the symbolic link leads to a folder that it is in; it is not followed',
    '/c/back/across':
      'unsupported: source: the symbolic link leads to a folder that it is in; it is not followed',
    '/c/back/up':
      'unsupported: source: the symbolic link leads to a folder that it is in; it is not followed',
    '/c/back/b/around':
      'unsupported: source: the symbolic link leads to a folder that it is in; it is not followed',
  })
  expect(counts).toMatchObject({ failures: 10, linksScanned: 10, filesMigrated: 0 })
  expect(readdirSync(move.to).toSorted()).toEqual(['a', 'c'])
})

test('of folders that link to the next twice, as deep as anybody needs is followed, and no deeper', async () => {
  await using move = createMove({ links: 'follow' })
  const levels = 11
  for (let level = 0; level <= levels; level++) mkdirSync(move.at('from', `${level}`))
  for (let level = 0; level < levels; level++)
    symlinkSync(`../${level + 1}`, move.at('from', `${level}`, 'next'))
  const { failures } = await move.run()
  // From the first three there are more than eight links to the last.
  expect(failures.map(({ path }) => path).toSorted()).toEqual(
    [0, 1, 2].map((level) => `/${level}${'/next'.repeat(9)}`),
  )
  for (const { message } of failures) expect(message).toContain('behind 8 other links')
})

test('a link that became a file, and a file that became a link, between listing and copy', async () => {
  await using move = createMove({ links: 'follow' })
  for (const name of ['file', 'other']) writeFileSync(move.at('from', name), name)
  symlinkSync('file', move.at('from', 'link'))
  const { failures } = await move.run({
    afterScan: () => {
      move.remove('from', 'link')
      writeFileSync(move.at('from', 'link'), 'a file by now')
      move.remove('from', 'other')
      symlinkSync('file', move.at('from', 'other'))
    },
  })
  expect(failures).toEqual([])
  expect(readFileSync(move.at('to', 'link'), 'utf8')).toBe('a file by now')
  expect(readFileSync(move.at('to', 'other'), 'utf8')).toBe('file')
})

async function plan({ mover, spec, at }: ReturnType<typeof createMove>) {
  const planned = new Planned()
  const { signal } = new AbortController()
  await planAll(mover, spec, { by: { as: 'scan' }, planned, spillFolder: at('spill'), signal })
  return planned.counts
}

test.for<[policy: ActionPolicy, copiedAgain: number]>([
  ['Overwrite', 3],
  ['SkipIfSizeMatch', 0],
  ['SkipIfSizeAndTimeMatch', 0],
  ['SkipIfDigestMatch', 0],
])('by %s, %i links that the target has already are copied again', async ([policy, copiedAgain]) => {
  await using move = createMove({ policy })
  // Of this time a target keeps other nanoseconds, as times are set as doubles.
  for (const name of ['same', 'leads elsewhere', 'touched']) {
    symlinkSync('file', move.at('from', name))
    execFileSync('touch', ['-h', '-d', '@1700000000.351432800', move.at('from', name)])
  }
  expect((await move.run()).counts).toMatchObject({ linksMigrated: 3, filesSkipped: 0 })
  expect(await plan(move)).toMatchObject(copiedAgain > 0 ? { filesToReplace: 3 } : { filesToSkip: 3 })
  expect((await move.run()).counts).toMatchObject({
    linksScanned: 3,
    linksMigrated: copiedAgain,
    filesSkipped: 3 - copiedAgain,
  })
  rmSync(move.at('to', 'leads elsewhere'))
  symlinkSync('elsewhere', move.at('to', 'leads elsewhere'))
  execFileSync('touch', ['-h', '-r', move.at('from', 'same'), move.at('to', 'leads elsewhere')])
  lutimesSync(move.at('from', 'touched'), 1_700_000_060, 1_700_000_060)
  expect((await move.run()).counts).toMatchObject({ linksMigrated: Math.max(2, copiedAgain) })
  expect(readlinkSync(move.at('to', 'leads elsewhere'))).toBe('file')
  expect(lstatSync(move.at('to', 'touched')).mtimeMs).toBe(1_700_000_060_000)
})
