import { appendFileSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { StoreError } from '../../services/drivers/contract/driver.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { pathMappings } from '../../subjects/rules/path-mappings.ts'
import { listAll } from '../conformance/driver-store.ts'
import { azuriteOptions, openAzure } from '../support/azure-driver.ts'
import { type Azurite, startAzurite } from '../support/azurite.ts'
import { compareTrees } from '../support/compare-trees.ts'
import { addAzurite, addLocal, createFolder } from '../support/migrations.ts'
import { startTestPlatform, type TestPlatform } from '../support/platform.ts'
import { until } from '../support/until.ts'

let platform: TestPlatform
let azurite: Azurite
beforeAll(async () => {
  ;[platform, azurite] = await Promise.all([startTestPlatform(), startAzurite()])
})
afterAll(async () => {
  await platform[Symbol.asyncDispose]()
  await azurite[Symbol.asyncDispose]()
})

/** What is in a container, as text; nothing while it changes under the look at it. */
const contentOf = (container: string): Promise<string[]> =>
  lookInto(container).catch((error: unknown) => {
    if (error instanceof StoreError && error.failure === 'gone') return []
    throw error
  })

/** All that is in a container, as `path: content`; folders have a slash at their end. */
async function lookInto(container: string): Promise<string[]> {
  await using driver = openAzure(azuriteOptions(azurite, container))
  const found: string[] = []
  const visit = async (folder: Buffer) => {
    for (const { name, type } of await listAll(driver, folder)) {
      const path = folder.length === 0 ? name : Buffer.concat([folder, Buffer.from('/'), name])
      if (type === 'folder') {
        found.push(`${path.toString()}/`)
        await visit(path)
        continue
      }
      const file = await driver.open(path)
      found.push(`${path.toString()}: ${(await file.read(0, file.sizeBytes)).toString()}`)
      await file.close()
    }
  }
  await visit(Buffer.alloc(0))
  return found.toSorted()
}

async function startLive(migrationId: string, source: string, target: string, options: object = {}) {
  await platform.call(migrations.create, {
    migrationId,
    path: '/',
    source,
    target,
    scanOnlyMigration: false,
    autoStart: true,
    ...options,
  })
  await until('it is LIVE', async () => {
    const { state } = await platform.call(migrations.get, { migrationId })
    return state === 'LIVE'
  })
}

test('changes of a folder arrive in a container', async () => {
  using folder = createFolder('source')
  await azurite.createContainer('live-target')
  await addLocal(platform, 'folder', 'source', folder.source)
  await addAzurite(platform, 'container', 'target', azurite, 'live-target')
  const at = (path: string) => join(folder.source, path)
  mkdirSync(at('a/b'), { recursive: true })
  writeFileSync(at('a/1'), 'one')
  writeFileSync(at('a/b/2'), 'two')
  await startLive('to-container', 'folder', 'container')
  appendFileSync(at('a/1'), ' more')
  renameSync(at('a/b'), at('c'))
  mkdirSync(at('d'))
  writeFileSync(at('d/3'), 'three')
  rmSync(at('d/3'))
  mkdirSync(at('e'))
  rmSync(at('e'), { recursive: true })
  const wanted = ['a/', 'a/1: one more', 'c/', 'c/2: two', 'd/']
  await until('all changes have arrived', async () =>
    isDeepStrictEqual(await contentOf('live-target'), wanted),
  )
})

test('a container is compared from time to time: what differs is copied, what is gone is removed', async () => {
  using folder = createFolder('target', 'wanted')
  await azurite.createContainer('live-source')
  await using driver = openAzure(azuriteOptions(azurite, 'live-source'))
  const put = (path: string, content: string) =>
    driver.put(Buffer.from(path), Buffer.from(content), { modifiedMs: 1_600_000_000_000, mode: 0o644 })
  await put('1', 'one')
  await driver.makeFolder(Buffer.from('a'), { mode: 0o755 })
  await put('a/2', 'two')
  writeFileSync(join(folder.target, 'theirs'), 'x')
  await addAzurite(platform, 'live-source', 'source', azurite, 'live-source')
  await addLocal(platform, 'folder-target', 'target', folder.target)
  await startLive('from-container', 'live-source', 'folder-target', { comparisonPeriodSeconds: 1 })
  expect(await platform.call(migrations.get, { migrationId: 'from-container' })).toMatchObject({
    changeDetection: 'comparing',
    comparisonPeriodSeconds: 1,
    changeDetectionReason: 'the source does not report changes',
  })
  await put('1', 'one and more')
  await put('3', 'three')
  await driver.remove(Buffer.from('a/2'))
  await driver.remove(Buffer.from('a'))
  await until('all changes have arrived', () => {
    const differences = compareTrees(folder.wanted, folder.target).toSorted()
    return isDeepStrictEqual(differences, ['/1 is too many', '/3 is too many', '/theirs is too many'])
  })
})

test('a migration within one container is refused where it would find what it has written', async () => {
  const [source, target] = ['one-container', 'one-container-again']
  await azurite.createContainer('one-container')
  await using driver = openAzure(azuriteOptions(azurite, 'one-container'))
  for (const path of ['a', 'ab']) await driver.makeFolder(Buffer.from(path), { mode: 0o755 })
  await addAzurite(platform, source, 'source', azurite, 'one-container')
  await addAzurite(platform, target, 'target', azurite, 'one-container')
  const create = (migrationId: string, path: string) =>
    platform.call(migrations.create, { migrationId, path, source, target, scanOnlyMigration: false })
  const mapTo = async (sourcePath: string, targetPath: string) => {
    await platform.call(pathMappings.create, {
      pathMappingId: 'within',
      sourceFileSystem: source,
      sourcePath,
      targetFileSystem: target,
      targetPath,
    })
  }
  const unmap = () => platform.call(pathMappings.delete, { pathMappingId: 'within' })
  await expect(create('within', '/a')).rejects.toThrow(
    `/a in ${target} is the same folder as /a in ${source}`,
  )
  await mapTo('/', '/sub')
  await expect(create('within', '/')).rejects.toThrow(`/sub in ${target} is inside / in ${source}`)
  await unmap()
  await mapTo('/a', '/')
  await expect(create('within', '/a')).rejects.toThrow(`/ in ${target} contains /a in ${source}`)
  await unmap()
  await mapTo('/a', '/ab')
  await create('within', '/a')
  await unmap()
  await mapTo('/a', '/a/sub')
  await expect(
    platform.call(migrations.reset, { migrationId: 'within', reloadMappings: true }),
  ).rejects.toThrow(`/a/sub in ${target} is inside /a in ${source}`)
})
