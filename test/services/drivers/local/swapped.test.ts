import {
  copyFileSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { expect, test } from 'vitest'
import { LocalDriver } from '../../../../services/drivers/local/local.ts'
import { bodyOf, contentOf, failureOf } from '../../../conformance/driver-store.ts'
import { createFolder } from '../../../support/migrations.ts'

/**
 * Whoever may write in a filesystem replaces a folder by a symbolic link that leads out of it, right after Gantry worked in
 * that folder: what is done next must not happen behind the link.
 */

const path = (text: string) => Buffer.from(text)
const now = {}

/** A filesystem with the folder `a`, and a folder outside of it that `swap` lets a link in the place of `a` lead to. */
function createSwap() {
  const folder = createFolder('store', 'store/a', 'outside')
  const inside = `${folder.store}/a`
  return {
    driver: new LocalDriver({ fsRoot: folder.store }),
    store: folder.store,
    inside,
    outside: folder.outside,
    swap: () => {
      renameSync(inside, `${folder.store}/away`)
      symlinkSync(folder.outside, inside)
    },
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  }
}

test('nothing is read behind a link that took the place of a folder', async () => {
  using at = createSwap()
  writeFileSync(`${at.inside}/file`, 'ours')
  writeFileSync(`${at.outside}/file`, 'secret')
  expect((await at.driver.stat(path('a/file')))?.sizeBytes).toBe(4)
  at.swap()
  // What is open by then is still the folder that it was; anything opened later is refused.
  const read = await contentOf(at.driver, path('a/file')).catch(() => path('refused'))
  expect(['ours', 'refused']).toContain(read.toString())
  await new Promise(setImmediate)
  expect(await failureOf(at.driver.open(path('a/file')))).toBe('permission')
  expect(await failureOf(at.driver.attributesOf(path('a/file')))).toBe('permission')
})

test('nothing is written, removed or renamed behind a link that took the place of a folder', async () => {
  using at = createSwap()
  writeFileSync(`${at.inside}/file`, 'ours')
  writeFileSync(`${at.outside}/file`, 'theirs')
  await at.driver.put(path('a/other'), path('x'), now)
  at.swap()
  const attempts = [
    () => at.driver.put(path('a/file'), path('over'), now),
    () => at.driver.makeFolder(path('a/folder'), {}),
    () => at.driver.makeLink(path('a/link'), path('file')),
    () => at.driver.setAttributes(path('a/file'), { modifiedMs: 0 }),
    () => at.driver.rename(path('a/file'), path('taken')),
    () => at.driver.remove(path('a/file')),
  ]
  for (const attempt of attempts) await attempt().catch(() => undefined)
  expect(readdirSync(at.outside)).toEqual(['file'])
  expect(readFileSync(`${at.outside}/file`, 'utf8')).toBe('theirs')
})

test('parts of a large file, its account and its name stay in the folder that it was begun in', async () => {
  using at = createSwap()
  const continuation = { version: '1', liveThreads: undefined }
  const upload = await at.driver.beginUpload(
    path('a/large'),
    { sizeBytes: 5, tag: 'tag', attributes: {} },
    continuation,
  )
  for (const name of readdirSync(at.inside)) copyFileSync(`${at.inside}/${name}`, `${at.outside}/${name}`)
  const before = readdirSync(at.outside).map((name) => [name, readFileSync(`${at.outside}/${name}`, 'utf8')])
  await new Promise(setImmediate)
  at.swap()
  expect(await failureOf(at.driver.writePart(upload, 0, 0, bodyOf(path('bytes'))))).toBe('permission')
  expect(await failureOf(at.driver.writtenParts(upload, 5))).toBe('permission')
  expect(await failureOf(at.driver.commitUpload(upload, 1, now))).toBe('permission')
  await at.driver.abortUpload(upload)
  expect(
    await failureOf(
      at.driver.beginUpload(path('a/large'), { sizeBytes: 5, tag: 'tag', attributes: {} }, continuation),
    ),
  ).toBe('permission')
  expect(
    readdirSync(at.outside).map((name) => [name, readFileSync(`${at.outside}/${name}`, 'utf8')]),
  ).toEqual(before)
})

test('a file behind a link that is followed is the one that was checked', async () => {
  using at = createSwap()
  writeFileSync(`${at.inside}/file`, 'ours')
  writeFileSync(`${at.outside}/file`, 'secret')
  symlinkSync('a/file', `${at.store}/link`)
  const follow = { follow: true }
  const file = await at.driver.open(path('link'), follow)
  at.swap()
  expect((await file.read(0, 4)).toString()).toBe('ours')
  await file.close()
  expect(await failureOf(at.driver.open(path('link'), follow))).toBe('permission')
})

test('a root that is reached through a link, and folders behind links that stay inside of it, work', async () => {
  using folder = createFolder('store', 'store/a')
  symlinkSync(folder.store, `${folder.root}/way`)
  symlinkSync('a', `${folder.store}/same`)
  const driver = new LocalDriver({ fsRoot: `${folder.root}/way` })
  await driver.put(path('same/file'), path('x'), now)
  expect(readFileSync(`${realpathSync(folder.store)}/a/file`, 'utf8')).toBe('x')
})

test('in a filesystem that is all of the host, work that is confined to a folder stays in it', async () => {
  using at = createSwap()
  writeFileSync(`${at.outside}/file`, 'theirs')
  const root = path(at.store.slice(1))
  const under = (text: string) => Buffer.concat([root, path(`/${text}`)])
  const open = (links: 'gone' | 'refused') =>
    new LocalDriver({ fsRoot: '/' }).confinedTo({ below: [root], links })
  const [source, target] = [open('gone'), open('refused')]
  await target.put(under('a/ours'), path('ours'), now)
  expect((await source.stat(under('a/ours')))?.sizeBytes).toBe(4)
  await new Promise(setImmediate)
  at.swap()
  expect(await source.stat(under('a/file'))).toBeUndefined()
  expect(await failureOf(source.open(under('a/file')))).toBe('gone')
  expect(await failureOf(target.put(under('a/new'), path('x'), now))).toBe('permission')
  expect(await failureOf(target.remove(under('a/file')))).toBe('permission')
  expect(readdirSync(at.outside)).toEqual(['file'])
  // The way to the folder itself may have links: it is where somebody said.
  symlinkSync(at.store, `${at.outside}/way`)
  const way = path(`${at.outside}/way`.slice(1))
  const led = new LocalDriver({ fsRoot: '/' }).confinedTo({ below: [way], links: 'refused' })
  await led.put(Buffer.concat([way, path('/away/led')]), path('x'), now)
  expect(readFileSync(`${at.store}/away/led`, 'utf8')).toBe('x')
})
