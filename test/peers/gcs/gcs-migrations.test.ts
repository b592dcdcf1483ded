import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect } from 'vitest'
import { settings } from '../../../subjects/access/settings.ts'
import { filesystems } from '../../../subjects/filesystems/filesystems.ts'
import { loopback } from '../../../subjects/kit/names.ts'
import { migrations } from '../../../subjects/migrations/migrations.ts'
import { type Azurite, startAzurite } from '../../support/azurite.ts'
import { compareTrees } from '../../support/compare-trees.ts'
import { type GcsServer, gcsTest, noGcs, startGcs } from '../../support/gcs.ts'
import { addAzurite, addLocal, createFolder, migrate, verify } from '../../support/migrations.ts'
import { startTestPlatform, type TestPlatform } from '../../support/platform.ts'
import {
  changeSample,
  createSample,
  isSampleChanged,
  lineFeedName,
  sampleFiles,
} from '../../support/sample.ts'
import { until } from '../../support/until.ts'

/** A whole platform migrates from and to a server of Cloud Storage's protocol. */
let server: GcsServer
let azurite: Azurite
let platform: TestPlatform
beforeAll(async () => {
  if (noGcs !== undefined) return
  ;[server, azurite, platform] = await Promise.all([startGcs(), startAzurite(), startTestPlatform()])
  await platform.call(settings.put, { storeHosts: [loopback] })
})
afterAll(async () => {
  await platform?.[Symbol.asyncDispose]()
  await server?.[Symbol.asyncDispose]()
  await azurite?.[Symbol.asyncDispose]()
})

/** Several parts. */
const largeBytes = 40 * 2 ** 20 + 1

/** A folder as source with files of all sorts, a folder as target, and two buckets that are both; gone with the scope. */
async function createStores(name: string) {
  const folder = createFolder('from', 'to')
  await addLocal(platform, `${name}-from`, 'source', folder.from)
  await addLocal(platform, `${name}-to`, 'target', folder.to)
  for (const bucket of ['one', 'two']) {
    await server.createBucket(`${name}-${bucket}`)
    for (const role of ['source', 'target'] as const)
      await platform.call(filesystems['create-gcs'], {
        fileSystemId: `${name}-${role}-${bucket}`,
        role,
        ...server.options(`${name}-${bucket}`),
      })
  }
  createSample(folder.from, largeBytes)
  return folder
}

gcsTest(
  'once: from a folder to a bucket, to another one, to Azure, back to a bucket and to a folder, each verified',
  async () => {
    using folder = await createStores('once')
    await azurite.createContainer('once')
    for (const role of ['source', 'target'] as const)
      await addAzurite(platform, `once-${role}-azure`, role, azurite, 'once')
    const first = await migrate(platform, {
      source: 'once-from',
      target: 'once-target-one',
      migrationId: 'refused',
    })
    expect(first.failures).toMatchObject([{ path: '/folder/new%0Aline', failureClass: 'name' }])
    rmSync(join(folder.from, 'folder', lineFeedName))
    await platform.call(migrations.delete, { migrationId: 'refused' })
    const files = sampleFiles - 1
    const way = [
      ['once-from', 'once-target-one'],
      ['once-source-one', 'once-target-two'],
      ['once-source-two', 'once-target-azure'],
      ['once-source-azure', 'once-to'],
    ] as const
    for (const [index, [source, target]] of way.entries()) {
      const migrationId = `once-${index}`
      const { progress, failures } = await migrate(platform, { source, target, migrationId })
      expect(failures).toEqual([])
      expect(progress.filesMigrated).toBe(files)
      for (const level of ['digest', 'metadata'] as const)
        expect(await verify(platform, migrationId, level), `${migrationId} ${level}`).toMatchObject({
          totalDiscrepancies: 0,
          filesOnTarget: files,
        })
    }
    expect(compareTrees(folder.from, folder.to)).toEqual([])
  },
  120_000,
)

gcsTest(
  'on 18080 as well: created, masked, changed, healthy, and refused when the key is wrong',
  async () => {
    await server.createBucket('wire')
    const path = '/fs/targets/gcs/wire'
    const ask = (method: string, at: string, body?: object) =>
      platform.rest('migrator', method, at, {
        headers: { accept: 'application/json' },
        ...(body && { body }),
      })
    const options = server.options('wire', { 'gantry.gcs.connections': '8', 'fs.gs.project.id': 'p' })
    const wrong = await ask('POST', path, { ...options, privateKeyId: 'another' })
    expect(wrong.status).toBe(409)
    const created = await ask('POST', path, options)
    expect(created).toMatchObject({
      status: 201,
      body: { fileSystemId: 'wire', fsType: 'gcs', isSource: false, properties: { bucketName: 'wire' } },
    })
    for (const { body } of [wrong, created]) expect(JSON.stringify(body)).not.toContain('PRIVATE KEY')
    const changed = await ask('PATCH', path, { additionalProperties: { 'gantry.gcs.connections': '4' } })
    expect(changed.status).toBe(200)
    const moved = await ask('PATCH', path, { endpoint: 'storage.example' })
    expect(moved).toMatchObject({ status: 409, body: { message: expect.stringContaining('privateKey') } })
    const unknown = await ask('POST', '/fs/targets/gcs/other', { ...options, bucketName: 'not-there' })
    expect(unknown.status).toBeGreaterThanOrEqual(400)
    expect((await ask('GET', '/fs/health/wire')).body).toMatchObject({ healthReason: 'NONE' })
  },
)

gcsTest('on 18080 a key file is sent with the form, as JSON or P12', async () => {
  await server.createBucket('key-files')
  const { privateKey, clientEmail, privateKeyId, endpoint } = server.options('key-files')
  const json = {
    type: 'service_account',
    private_key: privateKey,
    private_key_id: privateKeyId,
    client_email: clientEmail,
  }
  const send = async (method: string, path: string, fields: Record<string, string | Blob>) => {
    const body = new FormData()
    for (const [name, value] of Object.entries(fields)) body.append(name, value)
    const answer = await fetch(platform.httpUrls.migrator + path, { method, body })
    return { status: answer.status, text: await answer.text() }
  }
  const form = { bucketName: 'key-files', endpoint: endpoint! }
  const path = '/fs/targets/gcs/keyfiles/json/of-a-file'
  const wrong = await send('POST', path, {
    ...form,
    jsonKeyFile: new Blob(['top secret'], { type: 'application/json' }),
  })
  expect(wrong.status).toBe(409)
  expect(wrong.text).not.toContain('top secret')
  const created = await send('POST', path, { ...form, jsonKeyFile: new Blob([JSON.stringify(json)]) })
  expect(created.status, created.text).toBe(201)
  expect(created.text).not.toContain('PRIVATE KEY')
  // Another kind of key takes the place of the first.
  const members = { privateKey, privateKeyId, clientEmail }
  const options = { headers: { accept: 'application/json' }, body: members }
  const changed = await platform.rest('migrator', 'PATCH', '/fs/targets/gcs/of-a-file', options)
  expect(changed.status, JSON.stringify(changed.body)).toBe(200)
  const again = await send('PATCH', path, { jsonKeyFile: new Blob([JSON.stringify(json)]) })
  expect(again.status, again.text).toBe(200)
  const p12 = '/fs/targets/gcs/keyfiles/p12/of-p12'
  const without = await send('POST', p12, { ...form, p12KeyFile: new Blob([Buffer.from([0x30, 0x82, 0])]) })
  expect(without).toMatchObject({ status: 409, text: expect.stringContaining('p12Key') })
})

gcsTest('a check of a bucket says what it can do', async () => {
  await server.createBucket('check')
  const { checks } = await platform.call(filesystems['check-gcs'], {
    role: 'target',
    ...server.options('check'),
  })
  expect(checks.filter(({ result }) => result !== 'yes')).toEqual([])
})

gcsTest(
  'live: changes arrive in a bucket, and from there in another one and in a folder',
  async () => {
    using folder = await createStores('live')
    rmSync(join(folder.from, 'folder', lineFeedName))
    const way = [
      { source: 'live-from', target: 'live-target-one', migrationId: 'live-1' },
      { source: 'live-source-one', target: 'live-target-two', migrationId: 'live-2' },
      { source: 'live-source-two', target: 'live-to', migrationId: 'live-3' },
    ] as const
    for (const [index, step] of way.entries()) {
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
    changeSample(folder.from)
    await until('all has arrived', () => isSampleChanged(folder.to))
    for (const { migrationId } of way) {
      expect((await platform.call(migrations.failures, { migrationId })).failedPaths).toEqual([])
      await platform.call(migrations.stop, { migrationId })
    }
    // A change in a folder does not move its marker in a bucket: that would be a request for each file.
    const isTime = (difference: string) => difference.startsWith('/folder: its time')
    const differences = () => compareTrees(folder.from, folder.to).filter((one) => !isTime(one))
    await until('nothing differs', () => differences().length === 0)
  },
  180_000,
)
