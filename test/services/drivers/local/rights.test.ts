import { bodyOf } from '../../../conformance/driver-store.ts'
import {
  chmodSync,
  chownSync,
  closeSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Entry } from '../../../../services/drivers/contract/driver.ts'
import { restoreModes, withTemporaryAccess, permitted } from '../../../../services/drivers/local/rights.ts'
import { LocalRoot } from '../../../../services/drivers/local/root.ts'
import { LocalDriver } from '../../../../services/drivers/local/local.ts'
import { extendedOf, setExtended, whyNoExtended } from '../../../support/extended.ts'
import { createFolder } from '../../../support/migrations.ts'
import { ordinaryUser } from '../../../support/ordinary-user.ts'
import { testUnless } from '../../../support/unless.ts'

const isRoot = process.getuid?.() === 0
const notRoot = isRoot ? undefined : 'only root gives things away'
const noExtended = whyNoExtended()

const bytes = (text: string) => Buffer.from(text)
const signal = new AbortController().signal
const attributes = { modifiedMs: 1_000_000, mode: 0o640 }

/** Works as somebody who is not root, which nobody denies anything. */
async function asOrdinaryUser<T>(work: () => Promise<T>): Promise<T> {
  if (!isRoot) return work()
  process.setegid?.(ordinaryUser)
  process.seteuid?.(ordinaryUser)
  try {
    return await work()
  } finally {
    process.seteuid?.(0)
    process.setegid?.(0)
  }
}

/** A store of the ordinary user's, with entries and the modes that they get when all are made; folders end with a slash. */
function createStore(entries: Readonly<Record<string, number>>) {
  const folder = createFolder('store')
  chmodSync(folder.root, 0o755)
  const at = (path: string) => join(folder.store, path)
  for (const path of Object.keys(entries)) {
    if (path.endsWith('/')) mkdirSync(at(path), { recursive: true })
    else if (path !== '') writeFileSync(at(path), `of ${path}`)
  }
  const paths = ['', ...Object.keys(entries)]
  if (isRoot) for (const path of paths) lchownSync(at(path), ordinaryUser, ordinaryUser)
  for (const path of paths.toReversed()) chmodSync(at(path), entries[path] ?? 0o755)
  const target = new LocalDriver({ fsRoot: folder.store }, true)
  /** Root sees them as they are; anybody else must go where modes deny it. */
  const modeOf = async (path: string) =>
    isRoot
      ? lstatSync(at(path), { throwIfNoEntry: false })?.mode
      : (await target.stat(bytes(path.replace(/\/$/, ''))))?.mode
  return {
    at,
    root: folder.store,
    source: new LocalDriver({ fsRoot: folder.store }),
    target,
    /** Of all that was there at first. */
    modes: async () => {
      restoreModes()
      const modes: Record<string, number> = {}
      for (const path of Object.keys(entries)) modes[path] = ((await modeOf(path)) ?? 0) & 0o7777
      restoreModes()
      return modes
    },
    [Symbol.dispose]: () => {
      restoreModes()
      folder[Symbol.dispose]()
    },
  }
}

async function namesIn(driver: LocalDriver, folder: string): Promise<string[]> {
  const names: string[] = []
  for await (const { entries } of driver.list(bytes(folder), signal))
    names.push(...entries.map(({ name }: Entry) => name.toString()))
  return names.toSorted()
}

const denied = {
  'a/': 0o555,
  'a/b/': 0o000,
  'a/b/c/': 0o1555,
  'a/b/c/file': 0o000,
  'a/b/c/other': 0o444,
  'a/b/c/d/': 0o300,
  'e/': 0o400,
} as const

test('whatever is done in folders of a target that deny it, one in another, is done and leaves their modes', async () => {
  using store = createStore(denied)
  const { target } = store
  await asOrdinaryUser(async () => {
    expect(await namesIn(target, 'a/b')).toEqual(['c'])
    expect(await target.stat(bytes('a/b/c/file'))).toMatchObject({ type: 'file', mode: 0o000 })
    expect(await target.stat(bytes('a/b/c/missing'))).toBeUndefined()
    expect(await target.put(bytes('a/b/c/new'), bytes('new'), attributes)).toEqual([])
    expect(await target.put(bytes('a/b/c/other'), bytes('over'), attributes)).toEqual([])
    await target.makeFolder(bytes('a/b/c/d/made'), { mode: 0o750 })
    expect(await target.makeLink(bytes('a/b/link'), bytes('c'))).toEqual([])
    expect((await target.readLink(bytes('a/b/link'))).toString()).toBe('c')
    expect(await target.remove(bytes('a/b/link'))).toBe(true)
    await target.persist(bytes('a/b/c/d/made'))
    await target.persist(bytes('a/b/c/file'))
    expect(await target.version(bytes('a/b/c/file'))).toMatch(/^\d/)
    await target.rename(bytes('a/b/c/d'), bytes('e/moved'))
    expect(await namesIn(target, 'e')).toEqual(['moved'])
    await target.rename(bytes('e/moved'), bytes('a/b/c/d'))
  })
  expect(await store.modes()).toEqual({ ...denied, 'a/b/c/other': 0o640 })
})

test('a file that we may not read is read, and is given attributes; it keeps its mode, and its version while it is read', async () => {
  using store = createStore({ 'a/': 0o000, 'a/file': 0o000, 'a/written': 0o200 })
  const { target } = store
  await asOrdinaryUser(async () => {
    const file = await target.open(bytes('a/file'))
    expect(file.attributes.mode).toBe(0o000)
    expect((await file.read(0, 9)).toString()).toBe('of a/file')
    await file.verifyUnchanged()
    await file.close()
    const given = { modifiedMs: 2_000_000, mode: 0o200 }
    expect(await target.setAttributes(bytes('a/file'), given)).toEqual([])
    expect(await target.setAttributes(bytes('a'), { ...given, mode: 0o1300 })).toEqual([])
    expect(await target.stat(bytes('a/file'))).toMatchObject(given)
    expect(await target.stat(bytes('a'))).toMatchObject({ modifiedMs: 2_000_000, mode: 0o1300 })
  })
  expect(await store.modes()).toEqual({ 'a/': 0o1300, 'a/file': 0o200, 'a/written': 0o200 })
})

testUnless(
  noExtended,
  'extended attributes are kept whatever the mode says of reading and writing',
  async () => {
    using store = createStore({ 'a/': 0o755, 'a/file': 0o644 })
    const { target } = store
    const extended = { all: [{ name: 'user.x', value: bytes('1') }], isComplete: true }
    for (const name of ['a/file', 'a']) setExtended(store.at(name), { 'user.old': 'x' })
    chmodSync(store.at('a/file'), 0o000)
    chmodSync(store.at('a'), 0o555)
    await asOrdinaryUser(async () => {
      for (const [name, mode] of [
        ['a/file', 0o000],
        ['a/new', 0o444],
        ['a', 0o555],
      ] as const) {
        if (name === 'a/new') await target.put(bytes(name), bytes('new'), { modifiedMs: 1, mode, extended })
        const losses = await target.setAttributes(bytes(name), { modifiedMs: 1, mode, extended })
        expect(losses, name).toEqual([])
        expect(await target.attributesOf(bytes(name), { extended: true }), name).toMatchObject({
          mode,
          extended,
        })
      }
    })
    expect(await store.modes()).toEqual({ 'a/': 0o555, 'a/file': 0o000 })
    if (isRoot) expect(extendedOf(store.at('a/file'))).toEqual({ 'user.x': '31' })
  },
)

test('large files are begun, gone on with and committed in such folders, and nothing of them is left', async () => {
  using store = createStore({ 'a/': 0o111, 'a/file': 0o444 })
  const { target } = store
  await asOrdinaryUser(async () => {
    const begin = () =>
      target.beginUpload(
        bytes('a/file'),
        { sizeBytes: 3, tag: 'tag', attributes: {} },
        { version: '1', liveThreads: [] },
      )
    const upload = await begin()
    await target.writePart(upload, 0, 0, bodyOf(bytes('new')))
    expect(await target.writtenParts(upload, 3)).toEqual([0])
    restoreModes()
    expect(await target.commitUpload(upload, 1, attributes)).toEqual([])
    await target.abortUpload(await begin())
    const shared = { version: '1', shared: { generation: 1 } }
    await target.abortUpload(
      await target.beginUpload(bytes('a/other'), { sizeBytes: 3, tag: 'tag', attributes: {} }, shared),
    )
    expect(await namesIn(target, 'a')).toEqual(['file'])
  })
  expect(await store.modes()).toEqual({ 'a/': 0o111, 'a/file': 0o640 })
})

test('the root of a target may deny us as well', async () => {
  using store = createStore({ '': 0o555, 'a/': 0o555 })
  await asOrdinaryUser(async () => {
    await store.target.put(bytes('file'), bytes('new'), attributes)
    await store.target.put(bytes('a/file'), bytes('new'), attributes)
  })
  expect(await store.modes()).toEqual({ '': 0o555, 'a/': 0o555 })
  expect(readFileSync(store.at('a/file'), 'utf8')).toBe('new')
})

test('one loan is enough for all that is done in a folder, and ends with the turn of the thread', async () => {
  using store = createStore({ 'a/': 0o555 })
  const modeNow = () => lstatSync(store.at('a')).mode & 0o7777
  await asOrdinaryUser(async () => {
    await store.target.put(bytes('a/one'), bytes('1'), attributes)
    const { ctimeMs } = lstatSync(store.at('a'), { bigint: true })
    expect(modeNow()).toBe(0o755)
    await store.target.stat(bytes('a/one'))
    expect(lstatSync(store.at('a'), { bigint: true }).ctimeMs).toBe(ctimeMs)
    // What a comparison sees of the folder itself is its own mode.
    expect(await store.target.stat(bytes('a'))).toMatchObject({ mode: 0o555 })
    await store.target.put(bytes('a/two'), bytes('2'), attributes)
    await new Promise((resolve) => setImmediate(resolve))
    expect(modeNow()).toBe(0o555)
  })
})

test('a mode that somebody else has given meanwhile is left, and one that he took back is lent again', async () => {
  using store = createStore({ 'a/': 0o555, 'b/': 0o555 })
  await asOrdinaryUser(async () => {
    await store.target.put(bytes('a/one'), bytes('1'), attributes)
    chmodSync(store.at('a'), 0o555)
    await store.target.put(bytes('a/two'), bytes('2'), attributes)
    restoreModes()
    expect(await store.target.stat(bytes('a'))).toMatchObject({ mode: 0o555 })
    await store.target.put(bytes('b/one'), bytes('1'), attributes)
    chmodSync(store.at('b'), 0o750)
    restoreModes()
    expect(await store.target.stat(bytes('b'))).toMatchObject({ mode: 0o750 })
    // Taken back between two calls of one piece of work, as by another thread.
    const root = new LocalRoot(bytes(store.root), true)
    withTemporaryAccess(root, [bytes('a')], () => {
      for (const name of ['x', 'y']) {
        closeSync(permitted(() => openSync(store.at(`a/${name}`), 'wx')))
        chmodSync(store.at('a'), 0o555)
      }
    })
  })
  expect(readdirSync(store.at('a')).toSorted()).toEqual(['one', 'two', 'x', 'y'])
  expect(await store.modes()).toEqual({ 'a/': 0o555, 'b/': 0o750 })
})

test('work that fails leaves the modes too', async () => {
  using store = createStore({ 'a/': 0o555, 'a/b/': 0o000, 'a/b/file': 0o600 })
  await asOrdinaryUser(async () => {
    await expect(store.target.remove(bytes('a/b'))).rejects.toMatchObject({ failure: 'unsupported' })
    await expect(store.target.put(bytes('a/b'), bytes('x'), attributes)).rejects.toThrow(/folder stands/)
    expect(await namesIn(store.target, 'a')).toEqual(['b'])
  })
  expect(await store.modes()).toEqual({ 'a/': 0o555, 'a/b/': 0o000, 'a/b/file': 0o600 })
})

test('nothing is ever changed at a source', async () => {
  using store = createStore({ 'a/': 0o000, 'b/': 0o555, 'b/file': 0o000 })
  const { source } = store
  await asOrdinaryUser(async () => {
    for (const work of [
      namesIn(source, 'a'),
      source.stat(bytes('a/file')),
      source.open(bytes('b/file')),
      source.remove(bytes('b/file')),
    ])
      await expect(work).rejects.toMatchObject({ failure: 'permission' })
  })
  expect(await store.modes()).toEqual({ 'a/': 0o000, 'b/': 0o555, 'b/file': 0o000 })
})

testUnless(notRoot, 'what is somebody else’s is not changed, and is named as the reason', async () => {
  using store = createStore({ 'a/': 0o755, 'a/theirs/': 0o755, file: 0o600, 'closed/': 0o700 })
  for (const path of ['a/theirs', 'file', 'closed']) chownSync(store.at(path), 1001, 1001)
  const reason = (path: string) => ({
    failure: 'permission',
    message: expect.stringContaining(
      `: ${store.at(path)} belongs to user 1001, and Gantry works as user ${ordinaryUser}`,
    ),
  })
  await asOrdinaryUser(async () => {
    const put = (path: string) => store.target.put(bytes(path), bytes('x'), attributes)
    await expect(put('a/theirs/file')).rejects.toMatchObject(reason('a/theirs'))
    await expect(put('closed/a/file')).rejects.toMatchObject(reason('closed'))
    await expect(store.target.open(bytes('file'))).rejects.toMatchObject(reason('file'))
  })
  expect(await store.modes()).toMatchObject({ 'a/theirs/': 0o755, file: 0o600, 'closed/': 0o700 })
})

testUnless(notRoot, 'so is a root of somebody else, also directly below /, with the fix', async () => {
  using store = createStore({ 'root/': 0o755 })
  const root = store.at('root')
  chownSync(root, 1001, 1001)
  // Nobody but root may write to the second, which belongs to root everywhere.
  for (const [fsRoot, uid] of [
    [root, 1001],
    ['/usr', 0],
  ] as const) {
    const target = new LocalDriver({ fsRoot }, true)
    const why = `belongs to user ${uid}, and Gantry works as user ${ordinaryUser}`
    const fix = `change its owner with "chown ${ordinaryUser} ${fsRoot}", or choose another folder`
    const refused = { failure: 'permission', message: expect.stringContaining(`: ${fsRoot} ${why}: ${fix}`) }
    await asOrdinaryUser(async () => {
      await expect(target.makeFolder(bytes('new'), attributes)).rejects.toMatchObject(refused)
      await expect(target.put(bytes('new'), bytes('x'), attributes)).rejects.toMatchObject(refused)
    })
  }
})

test('a link that leads out of the root lends nothing there', async () => {
  using store = createStore({ 'a/': 0o755 })
  using other = createStore({ 'out/': 0o555, 'out/file': 0o600 })
  symlinkSync(other.at('out'), store.at('a/link'))
  await asOrdinaryUser(async () => {
    const put = store.target.put(bytes('a/link/new'), bytes('x'), attributes)
    await expect(put).rejects.toThrow(/leads out of the root/)
    const root = new LocalRoot(bytes(store.root), true)
    const make = () => openSync(store.at('a/link/new'), 'wx')
    expect(() => withTemporaryAccess(root, [bytes('a/link')], () => permitted(make))).toThrow(/EACCES/)
  })
  expect(await other.modes()).toEqual({ 'out/': 0o555, 'out/file': 0o600 })
})

testUnless(notRoot, 'a set-group-id bit that we could not give again is not lost for a loan', async () => {
  using store = createStore({ 'a/': 0o2555 })
  chownSync(store.at('a'), ordinaryUser, 1001)
  chmodSync(store.at('a'), 0o2555)
  await asOrdinaryUser(async () => {
    const put = store.target.put(bytes('a/new'), bytes('x'), attributes)
    await expect(put).rejects.toMatchObject({ failure: 'permission' })
  })
  expect(await store.modes()).toEqual({ 'a/': 0o2555 })
})
