import {
  chmodSync,
  chownSync,
  lchownSync,
  linkSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { describe, expect, test } from 'vitest'
import { compareTrees } from '../../support/compare-trees.ts'
import { extendedOf, listWithUser, setExtended, whyNoExtended } from '../../support/extended.ts'
import { testUnless } from '../../support/unless.ts'
import { sharedMoves } from './move-folder.ts'

const createMove = sharedMoves()

const isRoot = process.getuid?.() === 0
const noExtended = whyNoExtended()

const ownersTest = (name: string, work: () => Promise<void>) =>
  testUnless(isRoot ? undefined : 'only root gives files away', name, work)
const extendedTest = (name: string, work: () => Promise<void>) => testUnless(noExtended, name, work)

const everything = { modes: true, owners: true, attributes: true }
const modeOf = (path: string) => lstatSync(path).mode & 0o7777
const ownerOf = (path: string) => `${lstatSync(path).uid}:${lstatSync(path).gid}`

describe('folders', () => {
  test('have the times of the source, whatever was made in them', async () => {
    await using move = createMove({ root: Buffer.from('root') })
    const folders = ['root', 'root/a', 'root/a/b', 'root/empty']
    for (const folder of folders) mkdirSync(move.at('from', folder))
    writeFileSync(move.at('from', 'root/a/b/file'), 'bytes')
    writeFileSync(move.at('from', 'root/a/large'), Buffer.alloc(17 * 2 ** 20, 'large'))
    for (const [index, folder] of folders.entries())
      utimesSync(move.at('from', folder), 0, 1_000_000_000.5 + index)
    const { failures, counts } = await move.run()
    expect(failures).toEqual([])
    expect(counts.timesNotKept).toBe(0)
    for (const [index, folder] of folders.entries())
      expect(lstatSync(move.at('to', folder)).mtimeMs, folder).toBe(1_000_000_000_500 + 1_000 * index)
    // A second run makes nothing new, and leaves them so.
    await move.run()
    expect(compareTrees(move.from, move.to)).toEqual(
      expect.not.arrayContaining([expect.stringMatching('time')]),
    )
  })

  test('that are gone at the target by then are nothing to complain of', async () => {
    await using move = createMove()
    mkdirSync(move.at('from', 'folder'))
    const { failures, counts } = await move.run({ afterScan: () => move.remove('to', 'folder') })
    expect(failures).toEqual([])
    expect(counts).toMatchObject({ foldersMigrated: 2, timesNotKept: 0 })
  })
})

ownersTest(
  'users, groups and special bits are kept, of files small and large, folders and links',
  async () => {
    await using move = createMove()
    mkdirSync(move.at('from', 'folder'))
    chownSync(move.at('from', 'folder'), 1001, 2001)
    chmodSync(move.at('from', 'folder'), 0o3770)
    for (const [name, mode] of Object.entries({
      setuid: 0o4755,
      setgid: 0o2750,
      plain: 0o640,
      empty: 0o6711,
    })) {
      const path = move.at('from', 'folder', name)
      writeFileSync(path, name === 'empty' ? '' : name)
      chownSync(path, 1002, 2002)
      chmodSync(path, mode)
    }
    writeFileSync(move.at('from', 'large'), Buffer.alloc(17 * 2 ** 20, 'large'))
    chownSync(move.at('from', 'large'), 1003, 2003)
    chmodSync(move.at('from', 'large'), 0o4700)
    symlinkSync('folder', move.at('from', 'link'))
    lchownSync(move.at('from', 'link'), 1004, 2004)
    lutimesSync(move.at('from', 'link'), 1_234_567_890, 1_234_567_890)
    const { failures, counts } = await move.run()
    expect(failures).toEqual([])
    expect(counts).toMatchObject({ ownersNotKept: 0, modesNotKept: 0, attributesNotKept: 0 })
    expect(compareTrees(move.from, move.to)).toEqual([])
    expect(ownerOf(move.at('to', 'link'))).toBe('1004:2004')
    expect(lstatSync(move.at('to', 'link')).mtimeMs).toBe(1_234_567_890_000)
  },
)

ownersTest('a folder that hands its group down does not change that of the files', async () => {
  await using move = createMove()
  mkdirSync(move.at('from', 'folder'))
  mkdirSync(move.at('to', 'folder'))
  for (const side of ['from', 'to'] as const) {
    chownSync(move.at(side, 'folder'), 0, 2001)
    chmodSync(move.at(side, 'folder'), 0o2775)
  }
  for (const [name, gid] of Object.entries({ same: 2001, root: 0, other: 2002 })) {
    writeFileSync(move.at('from', 'folder', name), name)
    chownSync(move.at('from', 'folder', name), 0, gid)
  }
  await move.run()
  expect(compareTrees(move.from, move.to)).toEqual([])
})

ownersTest('without the owner set-user-id and set-group-id are left out and counted', async () => {
  await using move = createMove({ metadata: { ...everything, owners: false } })
  writeFileSync(move.at('from', 'file'), 'bytes')
  chownSync(move.at('from', 'file'), 1001, 2001)
  chmodSync(move.at('from', 'file'), 0o6755)
  const { counts } = await move.run()
  expect(ownerOf(move.at('to', 'file'))).toBe('0:0')
  expect(modeOf(move.at('to', 'file'))).toBe(0o755)
  expect(counts).toMatchObject({ ownersNotKept: 0, modesNotKept: 1 })
})

test('modes are left to the target when they are not to be kept', async () => {
  await using move = createMove({ metadata: { modes: false, owners: false, attributes: false } })
  mkdirSync(move.at('from', 'folder'))
  chmodSync(move.at('from', 'folder'), 0o700)
  writeFileSync(move.at('from', 'folder', 'file'), 'bytes', { mode: 0o600 })
  await move.run()
  expect(modeOf(move.at('to', 'folder'))).toBe(0o777 & ~process.umask())
  expect(modeOf(move.at('to', 'folder', 'file'))).toBe(0o666 & ~process.umask())
})

describe('extended attributes', () => {
  extendedTest(
    'and access control lists are kept if asked for, of files small, large and empty, and of folders',
    async () => {
      await using move = createMove({ metadata: everything })
      mkdirSync(move.at('from', 'folder'))
      const names = ['small', 'empty', 'large', 'plain']
      const sizes: Record<string, number> = { small: 10, empty: 0, large: 17 * 2 ** 20, plain: 10 }
      for (const name of names)
        writeFileSync(move.at('from', 'folder', name), Buffer.alloc(sizes[name] ?? 0, 'x'))
      const value = Buffer.from([0, 1, 0xff, 0])
      for (const name of ['small', 'empty', 'large']) {
        const attributes = {
          'user.bytes': value,
          'user.empty': '',
          'system.posix_acl_access': listWithUser(1001, 6),
        }
        setExtended(move.at('from', 'folder', name), attributes)
      }
      setExtended(move.at('from', 'folder'), {
        'user.folder': 'ünï',
        'system.posix_acl_default': listWithUser(1002, 7),
      })
      const { counts, failures } = await move.run()
      expect(failures).toEqual([])
      expect(counts).toMatchObject({ attributesNotKept: 0, modesNotKept: 0 })
      for (const name of ['.', ...names])
        expect(extendedOf(move.at('to', 'folder', name)), name).toEqual(
          extendedOf(move.at('from', 'folder', name)),
        )
      expect(Object.keys(extendedOf(move.at('to', 'folder', 'small')))).toHaveLength(3)
      expect(extendedOf(move.at('to', 'folder', 'plain'))).toEqual({})
      expect(compareTrees(move.from, move.to)).toEqual([])

      // Now the target's folder has a default list, which new files would have in them.
      await move.run()
      expect(extendedOf(move.at('to', 'folder', 'plain'))).toEqual({})
      expect(compareTrees(move.from, move.to)).toEqual([])
    },
  )

  extendedTest('are left out by default, without being counted', async () => {
    await using move = createMove()
    writeFileSync(move.at('from', 'file'), 'bytes')
    setExtended(move.at('from', 'file'), { 'user.x': 'x' })
    const { counts } = await move.run()
    expect(extendedOf(move.at('to', 'file'))).toEqual({})
    expect(counts.attributesNotKept).toBe(0)
  })
})

test('names of one file become files, which is counted', async () => {
  await using move = createMove()
  writeFileSync(move.at('from', 'one'), 'bytes')
  linkSync(move.at('from', 'one'), move.at('from', 'two'))
  writeFileSync(move.at('from', 'empty'), '')
  linkSync(move.at('from', 'empty'), move.at('from', 'empty too'))
  writeFileSync(move.at('from', 'large'), Buffer.alloc(17 * 2 ** 20, 'large'))
  linkSync(move.at('from', 'large'), move.at('from', 'large too'))
  writeFileSync(move.at('from', 'single'), 'bytes')
  const { counts } = await move.run()
  expect(counts).toMatchObject({ filesMigrated: 7, hardLinksSplit: 6 })
  expect(readFileSync(move.at('to', 'two'), 'utf8')).toBe('bytes')
  expect(lstatSync(move.at('to', 'two')).nlink).toBe(1)
})
