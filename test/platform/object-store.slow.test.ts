import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { StoreError } from '../../services/drivers/contract/store-error.ts'
import { filesystems } from '../../subjects/filesystems/filesystems.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { verifications } from '../../subjects/migrations/verifications.ts'
import { contentOf, listAll } from '../conformance/driver-store.ts'
import { compareTrees } from '../support/compare-trees.ts'
import { addLocal, createFolder, migrate, nextEvent } from '../support/migrations.ts'
import { ObjectStoreDoubleDriver } from '../support/object-store-double/driver.ts'
import { ObjectStoreDouble } from '../support/object-store-double/store.ts'
import { startTestPlatform, type TestPlatform } from '../support/platform.ts'
import { until } from '../support/until.ts'

/** A whole platform migrates from and to an object store that nothing in it was written for. */
const kinds = [new URL('../support/object-store-double/as-container.ts', import.meta.url).href]
let platform: TestPlatform
beforeAll(async () => {
  platform = await startTestPlatform({ kinds })
})
afterAll(() => platform[Symbol.asyncDispose]())

/** How an object fails that a migration removes or overwrites while it is read. */
const isUnderChange = new Set<StoreError['failure']>(['gone', 'changed'])

const buckets = ['one', 'two'] as const
type Bucket = (typeof buckets)[number]

/** A folder as source and one as target, and two buckets that are both; gone with the scope. */
async function createStores(name: string) {
  const folder = createFolder('from', 'to')
  const store = new ObjectStoreDouble(...buckets)
  await addLocal(platform, `${name}-from`, 'source', folder.from)
  await addLocal(platform, `${name}-to`, 'target', folder.to)
  for (const bucket of buckets)
    for (const role of ['source', 'target'] as const)
      await platform.call(filesystems['create-adls2-shared-key'], {
        fileSystemId: `${name}-${role}-${bucket}`,
        role,
        accountName: store.name,
        sharedKey: 'bm9uZQ==',
        containerName: bucket,
      })
  for (const path of ['folder/below', 'hollow']) mkdirSync(join(folder.from, path), { recursive: true })
  writeFileSync(join(folder.from, 'file'), 'at the top')
  writeFileSync(join(folder.from, 'folder/below/large'), Buffer.alloc(2 ** 20 + 1, 'in parts '))
  return {
    folder,
    faults: store.faults,
    /** All files of a bucket, as text by path; without what a migration removes or writes meanwhile. */
    filesOf: async (bucket: Bucket): Promise<Record<string, string>> => {
      const driver = new ObjectStoreDoubleDriver({ store: store.name, bucket })
      const files: Record<string, string> = {}
      const visit = async (path: Buffer): Promise<void> => {
        for (const entry of await listAll(driver, path)) {
          const at = Buffer.concat([path, Buffer.from(path.length === 0 ? '' : '/'), entry.name])
          try {
            if (entry.type === 'folder') await visit(at)
            else files[at.toString()] = (await contentOf(driver, at)).toString()
          } catch (error) {
            if (!(error instanceof StoreError && isUnderChange.has(error.failure))) throw error
          }
        }
      }
      try {
        await visit(Buffer.alloc(0))
        return files
      } finally {
        await driver.close()
      }
    },
    [Symbol.dispose]: () => {
      store[Symbol.dispose]()
      folder[Symbol.dispose]()
    },
  }
}

/** The way from the folder through both buckets into the other folder. */
const wayOf = (name: string) =>
  [
    { source: `${name}-from`, target: `${name}-target-one`, migrationId: `${name}-1` },
    { source: `${name}-source-one`, target: `${name}-target-two`, migrationId: `${name}-2` },
    { source: `${name}-source-two`, target: `${name}-to`, migrationId: `${name}-3` },
  ] as const

async function verify(migrationId: string) {
  const { id: verificationId } = await platform.call(verifications.create, { migrationId, level: 'digest' })
  const look = () => platform.call(verifications.get, { verificationId })
  await until('it is verified', async () => (await look()).status === 'COMPLETE')
  return look()
}

test('once: from a folder to a bucket, to another one, and back, and each is verified', async () => {
  using stores = await createStores('once')
  for (const step of wayOf('once')) {
    const { progress, failures } = await migrate(platform, step)
    expect(failures).toEqual([])
    expect(progress.filesMigrated).toBe(2)
    expect(await verify(step.migrationId)).toMatchObject({ totalDiscrepancies: 0, filesOnTarget: 2 })
  }
  expect(compareTrees(stores.folder.from, stores.folder.to)).toEqual([])
  // The store was as object stores are now and then, and nobody noticed.
  expect(stores.faults.throttled + stores.faults.lost).toBeGreaterThan(0)
})

/** What is in the folder that all comes from, as `filesOf` has it. */
const expected = { file: 'has changed', 'folder/new': 'is new' }

function change(from: string): void {
  rmSync(join(from, 'folder/below'), { recursive: true })
  writeFileSync(join(from, 'file'), 'has changed')
  writeFileSync(join(from, 'folder/new'), 'is new')
}

test('again and again: what has changed comes with the next scan, and what is gone goes', async () => {
  using stores = await createStores('again')
  const [first, second] = wayOf('again')
  const schedule = {
    recurringMigration: true,
    recurringPeriod: '1S',
    targetMatch: true,
    maxDeletionPercent: 100,
    path: '/',
    autoStart: true,
  } as const
  for (const step of [first, second]) {
    const scanned = await nextEvent(platform, 'waiting', step.migrationId)
    await platform.call(migrations.create, { ...step, ...schedule })
    await scanned.payload
  }
  change(stores.folder.from)
  for (const bucket of buckets) {
    await until(`${bucket} has what has changed`, async () =>
      isDeepStrictEqual(await stores.filesOf(bucket), expected),
    )
  }
  for (const { migrationId } of [first, second]) {
    expect((await platform.call(migrations.failures, { migrationId })).failedPaths).toEqual([])
    await platform.call(migrations.stop, { migrationId })
  }
})

test('live: changes arrive in a bucket, and from there in another one and in a folder', async () => {
  using stores = await createStores('live')
  for (const [index, step] of wayOf('live').entries()) {
    await platform.call(migrations.create, {
      ...step,
      ...(index > 0 && { comparisonPeriodSeconds: 1 }),
      path: '/',
      scanOnlyMigration: false,
      autoStart: true,
    })
    await until('it is LIVE', async () => {
      const { state } = await platform.call(migrations.get, { migrationId: step.migrationId })
      return state === 'LIVE'
    })
  }
  change(stores.folder.from)
  for (const bucket of buckets) {
    await until(`${bucket} has what has changed`, async () =>
      isDeepStrictEqual(await stores.filesOf(bucket), expected),
    )
  }
  await until('so has the folder', () => readOrNone(join(stores.folder.to, 'folder/new')) === 'is new')
  await until('nothing is there that is gone', () => !existsSync(join(stores.folder.to, 'folder/below')))
  expect(readOrNone(join(stores.folder.to, 'file'))).toBe('has changed')
  for (const { migrationId } of wayOf('live')) {
    expect((await platform.call(migrations.failures, { migrationId })).failedPaths).toEqual([])
    await platform.call(migrations.stop, { migrationId })
  }
})

const readOrNone = (path: string): string | undefined =>
  existsSync(path) ? readFileSync(path, 'utf8') : undefined
