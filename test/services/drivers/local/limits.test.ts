import {
  chmodSync,
  closeSync,
  ftruncateSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { LocalDriver } from '../../../../services/drivers/local/local.ts'
import { bodyOf, contentOf, failureOf, listAll, pattern } from '../../../conformance/driver-store.ts'
import { createFolder } from '../../../support/migrations.ts'
import { mountMemory, whyNoMount } from '../../../support/mounts.ts'
import { testUnless } from '../../../support/unless.ts'

const path = (text: string) => Buffer.from(text)
const now = {}
const KiB = 1024

const noMount = whyNoMount()

testUnless(
  noMount,
  'a full store fails as full and keeps nothing of the file, and what was there stays',
  async () => {
    using mount = mountMemory(512 * KiB)
    const driver = new LocalDriver({ fsRoot: mount.path })
    await driver.put(path('file'), pattern(100 * KiB), now)
    expect(await failureOf(driver.put(path('file'), pattern(1024 * KiB), now))).toBe('full')
    expect(await failureOf(driver.put(path('other'), pattern(1024 * KiB), now))).toBe('full')
    expect(readdirSync(mount.path)).toEqual(['file'])
    expect(statSync(join(mount.path, 'file')).size).toBe(100 * KiB)

    const upload = await driver.beginUpload(path('large'), {
      sizeBytes: 1024 * KiB,
      tag: 'tag',
      attributes: {},
    })
    expect(await failureOf(driver.writePart(upload, 0, 0, bodyOf(pattern(1024 * KiB))))).toBe('full')
    await driver.abortUpload(upload)
    expect(readdirSync(mount.path)).toEqual(['file'])

    // There is room for names, and for nothing in the account of an upload.
    expect(() => writeFileSync(join(mount.path, 'filler'), pattern(1024 * KiB))).toThrow('ENOSPC')
    const version = { version: '1', liveThreads: undefined }
    for (const continuation of [version, { ...version, shared: { generation: 1 } }])
      expect(
        await failureOf(
          driver.beginUpload(path('large'), { sizeBytes: KiB, tag: 'tag', attributes: {} }, continuation),
        ),
      ).toBe('full')
    expect(readdirSync(mount.path).toSorted()).toEqual(['file', 'filler'])
  },
)

testUnless(noMount, 'a store that is read-only fails as a whole, and what is there can be read', async () => {
  using mount = mountMemory(512 * KiB)
  const driver = new LocalDriver({ fsRoot: mount.path })
  await driver.put(path('file'), path('bytes'), now)
  mount.makeReadOnly()
  const attempts = [
    driver.put(path('file'), path('other'), now),
    driver.makeFolder(path('folder'), {}),
    driver.beginUpload(path('large'), { sizeBytes: 1, tag: 'tag', attributes: {} }),
    driver.makeLink(path('link'), path('file')),
    driver.setAttributes(path('file'), { mode: 0o600 }),
    driver.remove(path('file')),
  ]
  for (const attempt of attempts) expect(await failureOf(attempt)).toBe('refused')
  await expect(driver.makeFolder(path('folder'), {})).rejects.toThrow(
    /^read-only file system: mount it writable or choose another folder \(EROFS in mkdir\)$/,
  )
  expect((await contentOf(driver, path('file'))).toString()).toBe('bytes')
})

test('permission bits are exact whatever the process’s mask, but not those that need the owner', async () => {
  using folder = createFolder('store')
  const driver = new LocalDriver({ fsRoot: folder.store })
  for (const mode of [0o666, 0o777, 0o400, 0o000, 0o622]) {
    const name = `file-${mode.toString(8)}`
    await driver.put(path(name), path('x'), { ...now, mode })
    expect(lstatSync(join(folder.store, name)).mode & 0o7777, name).toBe(mode)
    const upload = await driver.beginUpload(path(`${name}-upload`), {
      sizeBytes: 0,
      tag: 'tag',
      attributes: {},
    })
    await driver.commitUpload(upload, 0, { ...now, mode })
    expect(lstatSync(join(folder.store, `${name}-upload`)).mode & 0o7777, name).toBe(mode)
  }
  await driver.put(path('set-user-id'), path('x'), { ...now, mode: 0o6755 })
  expect(lstatSync(join(folder.store, 'set-user-id')).mode & 0o7777).toBe(0o755)
  for (const [mode, kept] of [
    [0o777, 0o777],
    [0o1777, 0o1777],
    [0o2775, 0o775],
    [0o700, 0o700],
  ] as const) {
    const name = `folder-${mode.toString(8)}`
    await driver.makeFolder(path(name), { mode })
    expect(lstatSync(join(folder.store, name)).mode & 0o7777, name).toBe(kept)
  }
})

test('a folder that is there gets the mode; the root keeps its own', async () => {
  using folder = createFolder('there')
  chmodSync(folder.there, 0o700)
  chmodSync(folder.root, 0o711)
  const driver = new LocalDriver({ fsRoot: folder.root })
  await driver.makeFolder(path('there'), { mode: 0o755 })
  await driver.makeFolder(path(''), { mode: 0o755 })
  expect(statSync(folder.there).mode & 0o777).toBe(0o755)
  expect(statSync(folder.root).mode & 0o777).toBe(0o711)
})

test('times before 1970 and fractions of a millisecond are kept', async () => {
  using folder = createFolder('store')
  const driver = new LocalDriver({ fsRoot: folder.store })
  for (const modifiedMs of [0, -5_250, -1_000_000_000_000.5, 1, 1_700_000_000_123.456]) {
    await driver.put(path('file'), path('x'), { modifiedMs })
    expect((await driver.stat(path('file')))!.modifiedMs).toBeCloseTo(modifiedMs, 3)
  }
})

test('a sparse file is read with its holes', async () => {
  using folder = createFolder('store')
  const fd = openSync(join(folder.store, 'sparse'), 'w')
  ftruncateSync(fd, 3_000_000)
  closeSync(fd)
  const driver = new LocalDriver({ fsRoot: folder.store })
  const file = await driver.open(path('sparse'))
  expect((await file.read(1_000_000, 1_000_000)).equals(Buffer.alloc(1_000_000))).toBe(true)
  await file.close()
})

test('forty levels, and a path longer than the operating system takes', async () => {
  using folder = createFolder('store')
  const driver = new LocalDriver({ fsRoot: folder.store })
  let deep = ''
  for (let level = 0; level < 40; level++) {
    deep += `${level === 0 ? '' : '/'}level ${level}`
    await driver.makeFolder(path(deep), {})
  }
  await driver.put(path(`${deep}/file`), path('deep'), now)
  expect((await contentOf(driver, path(`${deep}/file`))).toString()).toBe('deep')

  const long = (levels: number) => path(Array.from({ length: levels }, () => 'n'.repeat(250)).join('/'))
  let levels = 1
  while (driver.refuses(long(levels), { type: 'folder', sizeBytes: 0 }) === undefined) {
    await driver.makeFolder(long(levels++), {})
  }
  expect(driver.refuses(long(levels), { type: 'file', sizeBytes: 1 })).toContain('4096')
  expect(await failureOf(driver.put(long(levels), path('x'), now))).toBe('name')
  expect(driver.refuses(path('n'.repeat(256)), { type: 'folder', sizeBytes: 0 })).toContain('256 bytes')
})

test('a change while it is read is noticed, by its time or its size', async () => {
  using folder = createFolder('store')
  const absolute = join(folder.store, 'file')
  const driver = new LocalDriver({ fsRoot: folder.store })
  writeFileSync(absolute, 'before')
  const file = await driver.open(path('file'))
  await file.verifyUnchanged()
  // As long as before and as old: only the time of the last status change tells.
  const { atime, mtime } = statSync(absolute)
  writeFileSync(absolute, 'after!')
  utimesSync(absolute, atime, mtime)
  expect(await failureOf(file.verifyUnchanged())).toBe('changed')
  expect(await failureOf(file.read(0, 6))).toBe('changed')
  await file.close()
})

test('an upload whose file was taken away can be begun again, and is not taken for committed', async () => {
  using folder = createFolder('store')
  const driver = new LocalDriver({ fsRoot: folder.store })
  writeFileSync(join(folder.store, 'file'), 'older')
  const upload = await driver.beginUpload(path('file'), { sizeBytes: 5, tag: 'tag', attributes: {} })
  const [temporary] = readdirSync(folder.store).filter((name) => name !== 'file')
  expect(temporary).toMatch(/^\.gantry~tag~/)
  await driver.abortUpload(upload)
  expect(await failureOf(driver.writePart(upload, 0, 0, bodyOf(path('newer'))))).toBe('io')
  expect(await failureOf(driver.commitUpload(upload, 1, now))).toBe('io')
  expect(readFileSync(join(folder.store, 'file'), 'utf8')).toBe('older')
})

test('a token that was tampered with reaches no other file', async () => {
  using folder = createFolder('store')
  const driver = new LocalDriver({ fsRoot: folder.store })
  mkdirSync(join(folder.store, 'a'))
  writeFileSync(join(folder.store, 'a', 'file'), 'mine')
  const b64 = (text: string) => path(text).toString('base64url')
  for (const token of [
    `${b64('a/new')}:file:1`,
    `${b64('../x')}:.gantry~t~00000000.1.000000000000.1~0:1`,
    '',
  ]) {
    const upload = { token, sizeBytes: 4 }
    expect(await failureOf(driver.commitUpload(upload, 1, now)), token).toBe('unsupported')
    await driver.abortUpload(upload)
  }
  expect((await listAll(driver, path('a'))).map(({ name }) => name.toString())).toEqual(['file'])
})
