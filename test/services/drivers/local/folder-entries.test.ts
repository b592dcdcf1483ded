import {
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import {
  closeEntry,
  closeHeld,
  createHeld,
  FolderEntries,
  useNativeCalls,
} from '../../../../services/drivers/local/folder-entries.ts'
import { Pinned } from '../../../../services/drivers/local/root.ts'
import { folderCalls } from '../../../../services/drivers/local/system-calls.ts'
import { createFolder } from '../../../support/migrations.ts'
import { testUnless } from '../../../support/unless.ts'

const never = Number.POSITIVE_INFINITY
const heldIn = (held: SharedArrayBuffer) => [...new Int32Array(held)].filter((fd) => fd !== 0)
const bytes = (text: string) => Buffer.from(text)

function createEntries(callsAfter: number) {
  const folder = createFolder('data', 'data/sub')
  const held = createHeld()
  useNativeCalls(held, callsAfter)
  const pinned = Pinned.at(bytes(folder.data))
  return {
    held,
    entries: new FolderEntries(pinned),
    at: (...names: string[]) => join(folder.data, ...names),
    [Symbol.dispose]: () => {
      pinned.close()
      folder[Symbol.dispose]()
    },
  }
}

afterEach(() => useNativeCalls(createHeld(), never))

const codeOf = (work: () => unknown): unknown => {
  try {
    work()
  } catch (error) {
    return (error as NodeJS.ErrnoException).code
  }
  return 'none'
}

describe.for([
  ['through paths', never],
  ['by system calls of the thread', 0],
] as const)('the entries of an open folder, %s', ([, callsAfter]) => {
  test('are made, read and renamed', () => {
    using folder = createEntries(callsAfter)
    const { entries } = folder
    const fd = entries.open(bytes('new'), constants.O_RDWR | constants.O_CREAT | constants.O_EXCL, 0o640)
    expect(fstatSync(fd).mode & 0o777).toBe(0o640 & ~process.umask())
    closeEntry(fd)
    writeFileSync(folder.at('new'), 'content')
    entries.rename(bytes('new'), bytes('final'))
    expect(readdirSync(folder.at()).toSorted()).toEqual(['final', 'sub'])
    const again = entries.open(bytes('final'), constants.O_RDONLY)
    const content = Buffer.alloc(100)
    expect(content.toString('utf8', 0, readSync(again, content, 0, content.length, 0))).toBe('content')
    closeEntry(again)
    expect(codeOf(() => fstatSync(again))).toBe('EBADF')
    expect(heldIn(folder.held)).toEqual([])
  })

  test('are looked at as Node does, links themselves', () => {
    using folder = createEntries(callsAfter)
    writeFileSync(folder.at('file'), 'x'.repeat(12_345), { mode: 0o751 })
    symlinkSync('nowhere', folder.at('link'))
    utimesSync(folder.at('file'), 1.25, 1_234_567_890.123457)
    for (const name of ['file', 'link', 'sub']) {
      const found = folder.entries.look(bytes(name))!
      const { mode, nlink, uid, gid, size, mtimeMs, ctimeMs, birthtimeMs } = lstatSync(folder.at(name))
      expect(found, name).toMatchObject({ mode, nlink, uid, gid, size, mtimeMs, ctimeMs, birthtimeMs })
      expect([found.isFile(), found.isDirectory(), found.isSymbolicLink()], name).toEqual([
        name === 'file',
        name === 'sub',
        name === 'link',
      ])
    }
    expect(folder.entries.look(bytes('absent'))).toBeUndefined()
  })

  test('a time before 1970 is the one that Node says', () => {
    using folder = createEntries(callsAfter)
    writeFileSync(folder.at('file'), '')
    utimesSync(folder.at('file'), '-1.5', '-86400.25')
    const { mtimeMs } = lstatSync(folder.at('file'))
    expect(folder.entries.look(bytes('file'))?.mtimeMs).toBe(mtimeMs)
  })

  test('what the system refuses is an error of Node', () => {
    using folder = createEntries(callsAfter)
    const { entries } = folder
    writeFileSync(folder.at('file'), '')
    symlinkSync('file', folder.at('link'))
    const create = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL
    expect(codeOf(() => entries.open(bytes('file'), create))).toBe('EEXIST')
    expect(codeOf(() => entries.open(bytes('absent'), constants.O_RDONLY))).toBe('ENOENT')
    expect(codeOf(() => entries.open(bytes('link'), constants.O_RDONLY | constants.O_NOFOLLOW))).toBe('ELOOP')
    expect(codeOf(() => entries.rename(bytes('absent'), bytes('file')))).toBe('ENOENT')
    expect(codeOf(() => entries.rename(bytes('file'), bytes('sub')))).toBe('EISDIR')
  })

  test('a name that goes on after a NUL, or is a path, is nothing else', () => {
    using folder = createEntries(callsAfter)
    writeFileSync(folder.at('file'), '')
    mkdirSync(folder.at('etc'))
    writeFileSync(folder.at('etc', 'passwd'), 'ours')
    expect(codeOf(() => folder.entries.open(bytes('file\0more'), constants.O_RDONLY))).toBe(
      'ERR_INVALID_ARG_VALUE',
    )
    expect(folder.entries.look(bytes('/etc/passwd'))?.size).toBe(4)
  })
})

test('without system calls of its own a thread holds nothing but what Node knows of', () => {
  using folder = createEntries(never)
  writeFileSync(folder.at('file'), '')
  const fd = folder.entries.open(bytes('file'), constants.O_RDONLY)
  expect(heldIn(folder.held)).toEqual([])
  closeEntry(fd)
})

const noCalls = folderCalls() === undefined ? 'the system’s own calls cannot be made here' : undefined

testUnless(noCalls, 'what a thread held when it ended can be closed', () => {
  using folder = createEntries(0)
  writeFileSync(folder.at('file'), '')
  const open = () => folder.entries.open(bytes('file'), constants.O_RDONLY)
  const fds = Array.from({ length: 20 }, open)
  const held = heldIn(folder.held)
  expect(held.length).toBeGreaterThan(0)
  expect(fds).toEqual(expect.arrayContaining(held))
  closeHeld(folder.held)
  expect(heldIn(folder.held)).toEqual([])
  for (const fd of held) expect(codeOf(() => fstatSync(fd))).toBe('EBADF')
  // More than can be held are Node's own.
  for (const fd of fds.filter((one) => !held.includes(one))) closeEntry(fd)
})

test('they are taken after as many calls as loading them costs', () => {
  using folder = createEntries(2)
  writeFileSync(folder.at('file'), '')
  for (const isNative of [false, false, folderCalls() !== undefined]) {
    using pinned = Pinned.at(bytes(folder.at()))
    const fd = new FolderEntries(pinned).open(bytes('file'), constants.O_RDONLY)
    expect(heldIn(folder.held)).toEqual(isNative ? [fd] : [])
    closeEntry(fd)
  }
})
