import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { LocalDriver } from '../../../../services/drivers/local/local.ts'
import { GantryError } from '../../../../subjects/kit/errors.ts'
import { contentOf, failureOf, listAll, never } from '../../../conformance/driver-store.ts'
import { driverConformance } from '../../../conformance/driver.ts'
import { createFolder } from '../../../support/migrations.ts'
import { mountLoop, whyNoLoop } from '../../../support/mounts.ts'
import { testUnless } from '../../../support/unless.ts'
import { until } from '../../../support/until.ts'

driverConformance('local', async () => {
  const root = mkdtempSync(join(tmpdir(), 'gantry-local-'))
  return {
    openDriver: () => new LocalDriver({ fsRoot: root }),
    openMissing: () => new LocalDriver({ fsRoot: join(root, 'missing') }),
    [Symbol.asyncDispose]: async () => rmSync(root, { recursive: true }),
  }
})

const path = (text: string) => Buffer.from(text)
const now = {}

testUnless(
  whyNoLoop(),
  'a version of times in whole seconds is no other file’s, however soon that comes',
  async () => {
    using disk = mountLoop(16 * 1024 * 1024, true)
    const driver = new LocalDriver({ fsRoot: disk.path })
    await until('a second begins', () => Date.now() % 1_000 < 100)
    writeFileSync(join(disk.path, 'file'), 'one')
    const version = (await driver.version(path('file'))) ?? ''
    writeFileSync(join(disk.path, 'file'), 'two')
    expect(await failureOf(driver.removeVersion(path('file'), version))).toBe('changed')
  },
)

testUnless(whyNoLoop(), 'nor is what is read of one', async () => {
  using disk = mountLoop(16 * 1024 * 1024, true)
  const driver = new LocalDriver({ fsRoot: disk.path })
  await until('a second begins', () => Date.now() % 1_000 < 100)
  writeFileSync(join(disk.path, 'file'), 'aaaa')
  const file = await driver.open(path('file'))
  await file.read(0, 2)
  writeFileSync(join(disk.path, 'file'), 'bbbb')
  expect(await failureOf(file.read(2, 2))).toBe('changed')
  await file.close()
})

describe('options', () => {
  test('an additional property is refused by its name, its value is not repeated', () => {
    const open = () => new LocalDriver({ additionalProperties: { 'fs.local.x': 'secret', other: '1' } })
    expect(open).toThrow(GantryError)
    expect(open).toThrow(/fs\.local\.x, other/)
    expect(open).not.toThrow(/secret/)
  })

  test.each(['relative', '', '/a/../b', '/a/./b', '/a//b', '/a%', '/a%00'])(
    'the root %j is refused',
    (fsRoot) => {
      expect(() => new LocalDriver({ fsRoot })).toThrow(/^fsRoot /)
    },
  )

  test('a root with a name that is not UTF-8 is given percent-encoded', async () => {
    using folder = createFolder('store')
    const root = Buffer.concat([path(`${folder.store}/`), Buffer.from([0xff, 0x25])])
    mkdirSync(root)
    writeFileSync(Buffer.concat([root, path('/file')]), 'here')
    const driver = new LocalDriver({ fsRoot: `${folder.store}/%FF%25/` })
    expect((await contentOf(driver, path('file'))).toString()).toBe('here')
  })

  test('a root that is a file is gone', async () => {
    using folder = createFolder('store')
    writeFileSync(join(folder.store, 'file'), '')
    const driver = new LocalDriver({ fsRoot: join(folder.store, 'file') })
    expect(await failureOf(driver.probe(never))).toBe('gone')
  })

  test('without a root, the filesystem is the host’s', async () => {
    using folder = createFolder('store')
    writeFileSync(join(folder.store, 'file'), 'here')
    const driver = new LocalDriver({})
    expect((await contentOf(driver, path(join(folder.store, 'file').slice(1)))).toString()).toBe('here')
  })
})

describe('symbolic links', () => {
  /** A store with a link `out` to a folder beside its root, and `in` to a folder of its own. */
  function linkedStore() {
    const folder = createFolder('store', 'outside')
    mkdirSync(join(folder.store, 'own'))
    symlinkSync(folder.outside, join(folder.store, 'out'))
    symlinkSync('own', join(folder.store, 'in'))
    writeFileSync(join(folder.outside, 'file'), 'private')
    symlinkSync('nowhere', join(folder.outside, 'link'))
    return { ...folder, driver: new LocalDriver({ fsRoot: folder.store }) }
  }

  test('nothing is read or written through one that leads out of the root', async () => {
    using store = linkedStore()
    const { driver } = store
    const attempts: Promise<unknown>[] = [
      listAll(driver, path('out')),
      driver.stat(path('out/file')),
      driver.open(path('out/file')),
      driver.makeFolder(path('out/folder'), {}),
      driver.put(path('out/new'), path('bytes'), now),
      driver.beginUpload(path('out/new'), { sizeBytes: 5, tag: 'tag', attributes: {} }),
      driver.readLink(path('out/link')),
      driver.makeLink(path('out/new'), path('target')),
      driver.remove(path('out/file')),
      driver.setAttributes(path('out/file'), { modifiedMs: 1_000, mode: 0o777 }),
    ]
    for (const attempt of attempts) expect(await failureOf(attempt)).toBe('permission')
    expect(readdirSync(store.outside).toSorted()).toEqual(['file', 'link'])
  })

  test('one that stays inside is a folder to work in', async () => {
    using store = linkedStore()
    await store.driver.put(path('in/file'), path('bytes'), now)
    expect(readFileSync(join(store.store, 'own/file'), 'utf8')).toBe('bytes')
  })

  test('a folder that became a link out of the root is noticed soon', async () => {
    using store = linkedStore()
    const { driver } = store
    await driver.put(path('own/file'), path('bytes'), now)
    rmSync(join(store.store, 'own'), { recursive: true })
    symlinkSync(store.outside, join(store.store, 'own'))
    // While the look at the folder still holds, listing, which always looks, does not go there.
    expect(await failureOf(listAll(driver, path('own')))).toBe('permission')
  })

  test.each([
    ['removed', (driver: LocalDriver) => driver.remove(path('own'))],
    ['renamed', (driver: LocalDriver) => driver.rename(path('own'), path('elsewhere'))],
  ])('a folder that it %s itself, and made a link out of the root, is noticed at once', async (_, leave) => {
    using folder = createFolder('store', 'outside')
    const driver = new LocalDriver({ fsRoot: folder.store })
    await driver.makeFolder(path('own'), now)
    expect(await driver.stat(path('own/none'))).toBeUndefined()
    await leave(driver)
    await driver.makeLink(path('own'), path(folder.outside))
    expect(await failureOf(driver.put(path('own/file'), path('leaked'), now))).toBe('permission')
  })

  test('a link is listed as one, not followed when opened, and replaced when written to', async () => {
    using store = linkedStore()
    const { driver } = store
    symlinkSync(join(store.outside, 'file'), join(store.store, 'link'))
    expect(await driver.stat(path('link'))).toMatchObject({ type: 'symlink', sizeBytes: 0 })
    expect(await failureOf(driver.open(path('link')))).toBe('unsupported')
    await driver.put(path('link'), path('bytes'), now)
    expect(await driver.stat(path('link'))).toMatchObject({ type: 'file', sizeBytes: 5 })
    expect(readFileSync(join(store.outside, 'file'), 'utf8')).toBe('private')
  })

  test('below a link that leads to itself nothing is found', async () => {
    using store = linkedStore()
    symlinkSync('loop', join(store.store, 'loop'))
    expect(await store.driver.stat(path('loop/file'))).toBeUndefined()
    expect(await store.driver.remove(path('loop/file'))).toBe(false)
    expect(await failureOf(listAll(store.driver, path('loop')))).toBe('gone')
  })

  test('a folder is not made where a link to one stands', async () => {
    using store = linkedStore()
    expect(await failureOf(store.driver.makeFolder(path('in'), {}))).toBe('unsupported')
  })
})
