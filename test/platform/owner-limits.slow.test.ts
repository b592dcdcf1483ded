import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { call } from '../../broker/rpc/client.ts'
import { Collection } from '../../broker/state/collection.ts'
import { connectWithToken, type NatsConnection } from '../../broker/rpc/connection.ts'
import { Owners } from '../../broker/rpc/owners.ts'
import { VerificationRecord } from '../../services/migrations/jobs/verifications/record.ts'
import { jobHandlers } from '../../services/jobs/job-handlers.ts'
import { ReportStore } from '../../services/jobs/reports.ts'
import { filesystems } from '../../subjects/filesystems/filesystems.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { pathMappings } from '../../subjects/rules/path-mappings.ts'
import { settings } from '../../subjects/access/settings.ts'
import { verificationReports } from '../../subjects/migrations/model/verification-terms.ts'
import { connectInside, everything, issueInside } from '../support/keys.ts'
import { startTestPlatform, type TestPlatform } from '../support/platform.ts'
import { silentEndpoint } from '../support/silent-endpoint.ts'
import { until } from '../support/until.ts'
import { bareExtension, type BareExtension } from '../support/example-extension.ts'

let platform: TestPlatform
let folder: string
let ada: NatsConnection
let bob: NatsConnection
beforeAll(async () => {
  platform = await startTestPlatform()
  folder = mkdtempSync(join(tmpdir(), 'gantry-owner-limits-'))
  for (const role of ['source', 'target']) mkdirSync(join(folder, role))
  ada = await connectionOf('ada')
  bob = await connectionOf('bob')
})
afterAll(async () => {
  await Promise.all([ada.close(), bob.close()])
  await platform[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

/** Somebody who may do everything, as far as permissions go. */
async function connectionOf(owner: string): Promise<NatsConnection> {
  const { token } = await issueInside(platform, { owner, capabilities: everything })
  return connectWithToken(platform.tcpUrl, token, { reconnect: false })
}

/** What comes of ten that are asked for at once. */
async function outcomesOfTen(make: (n: number) => Promise<unknown>): Promise<string[]> {
  const outcomes = await Promise.allSettled(Array.from({ length: 10 }, (_, n) => make(n)))
  return outcomes
    .map((one) => (one.status === 'fulfilled' ? 'made' : (one.reason as { code: string }).code))
    .toSorted()
}
const made = (count: number): string[] => [
  ...Array.from({ length: 10 - count }, () => 'LIMIT_REACHED'),
  ...Array.from({ length: count }, () => 'made'),
]

const source = 'limited-0'
const target = 'target'
const addFilesystem = (who: NatsConnection, fileSystemId: string, role: 'source' | 'target' = 'source') =>
  call(who, filesystems['create-local'], { fileSystemId, role, fsRoot: join(folder, role) })

describe('an owner may have so many', () => {
  test('filesystems, however many are asked for at once; deleting some makes room', async () => {
    await addFilesystem(bob, target, 'target')
    await addFilesystem(ada, source)
    await platform.call(settings.put, { maxFilesystems: 4 })
    expect(await outcomesOfTen((n) => addFilesystem(ada, `more-${n}`))).toEqual(made(3))
    await expect(addFilesystem(ada, 'another')).rejects.toThrow(
      /^ada already has 4 filesystems, which is the limit \(maxFilesystems\): delete some with "gantry filesystems delete"/,
    )
    await addFilesystem(bob, 'of-bob')
    const one = (await platform.call(filesystems.list, {})).find(({ fileSystemId }) =>
      fileSystemId.startsWith('more-'),
    )
    await platform.call(filesystems.delete, { fileSystemId: one!.fileSystemId })
    await addFilesystem(ada, 'another')
    await expect(addFilesystem(ada, 'yet-another')).rejects.toMatchObject({ code: 'LIMIT_REACHED' })
    await platform.call(settings.put, { maxFilesystems: 5 })
    await addFilesystem(ada, 'yet-another')
  })

  test('migrations', async () => {
    for (let n = 0; n < 10; n++) mkdirSync(join(folder, 'source', String(n)))
    const add = (who: NatsConnection, n: number | string) =>
      call(who, migrations.create, { migrationId: `m-${n}`, path: `/${n}`, source, target })
    await platform.call(settings.put, { maxMigrations: 4 })
    expect(await outcomesOfTen((n) => add(ada, n))).toEqual(made(4))
    await expect(add(ada, '')).rejects.toThrow(
      /^ada already has 4 migrations, .*\(maxMigrations\).*migrations delete/,
    )
    const { migrationId } = (await platform.call(migrations.list, {}))[0]!
    await platform.call(migrations.delete, { migrationId })
    await add(ada, Number(migrationId.slice(2)))
  })

  test('path mappings', async () => {
    const add = (n: number) =>
      call(ada, pathMappings.create, {
        pathMappingId: `p-${n}`,
        sourceFileSystem: source,
        sourcePath: `/${n}`,
        targetFileSystem: target,
        targetPath: `/there/${n}`,
      })
    await platform.call(settings.put, { maxMappings: 4 })
    expect(await outcomesOfTen(add)).toEqual(made(4))
    const { id, ...mapping } = (await platform.call(pathMappings.list, {}))[0]!
    expect(mapping).not.toHaveProperty('owner')
    await platform.call(pathMappings.delete, { pathMappingId: id })
    await add(Number(id.slice(2)))
  })

  test('verifications and cleanups that have not ended', async () => {
    const { connection } = await connectInside(platform)
    const records = await Collection.open(connection, {
      bucket: 'test-jobs',
      schema: VerificationRecord,
      version: 1,
    })
    const { make, cancel } = jobHandlers({
      name: 'verification',
      owners: new Owners(connection),
      records,
      reports: new ReportStore(folder, verificationReports),
      // Nothing is worked on, so that all of them wait.
      jobs: {
        wake: () => undefined,
        countsOf: () => undefined,
        cancel: async (id) =>
          void (await records.update(id, (current) => ({ ...current, status: 'CANCELLED' }))),
      },
      view: (record: VerificationRecord) => record,
    })
    await platform.call(settings.put, { maxJobs: 4 })
    const { key } = await issueInside(platform, { owner: 'carla' })
    const caller = { kind: 'key', keyId: key.id } as const
    const add = () =>
      make(caller, {
        id: crypto.randomUUID(),
        migrationId: 'm',
        internalId: crypto.randomUUID(),
        status: 'QUEUED',
        level: 'size',
        created: new Date().toISOString(),
        paths: [],
        originalPaths: [],
      })
    expect(await outcomesOfTen(add)).toEqual(made(4))
    await expect(add()).rejects.toThrow(
      /^carla already has 4 verifications that wait .*\(maxJobs\).*gantry verifications cancel/,
    )
    await cancel((await records.list({ limit: 1 }))[0]!.id)
    await add()
    await connection.close()
  })

  test('MiB in the storages of its extensions together', async () => {
    await platform.call(settings.put, { maxStorageMib: 1 })
    await using weather = await bareExtension(platform, 'weather')
    await using news = await bareExtension(platform, 'news')
    await weather.register()
    await news.register()
    const put = async (extension: BareExtension, prefix: string, key: string) => {
      // With its name it takes up to a quarter of a MiB.
      const input = { prefix, key, value: 'x'.repeat(2 ** 18 - 1_024) }
      const { body } = await extension.ask('extension-storage.put', input)
      return body
    }
    for (const key of ['a', 'b', 'c', 'd'])
      expect(await put(weather, 'weather', key)).toHaveProperty('revision')
    expect(await put(news, 'news', 'a')).toMatchObject({
      code: 'LIMIT_REACHED',
      message: expect.stringMatching(/1 MiB.*\(maxStorageMib\).*extension-storage delete/),
    })
    // What does not grow needs no room, and what goes makes some.
    expect(await put(weather, 'weather', 'a')).toHaveProperty('revision')
    for (const key of ['b', 'c']) await weather.ask('extension-storage.delete', { prefix: 'weather', key })
    await until('there is room again', async () => 'revision' in (await put(news, 'news', 'a')))
  })

  test('records of usage within a day', async () => {
    await platform.call(settings.put, { maxUsageRecords: 3 })
    const { token } = await issueInside(platform, { owner: 'dora', capabilities: everything })
    await using clock = await bareExtension(platform, 'clock', { token })
    await clock.register()
    const record = async () =>
      (await clock.ask('usage.record', { prefix: 'clock', dimension: 'ticks', quantity: 1 })).body
    for (let n = 0; n < 3; n++) expect(await record()).toHaveProperty('id')
    expect(await record()).toMatchObject({
      code: 'LIMIT_REACHED',
      message: expect.stringMatching(
        /^the extensions of dora have already made 3 usage records .*\(maxUsageRecords\)/,
      ),
    })
  })

  test('MiB that it reports of changes within a day, with all its keys', async () => {
    await platform.call(settings.put, { maxReportedMib: 2 })
    const fileSystemId = 'reported-of'
    await platform.call(filesystems['create-local'], {
      fileSystemId,
      role: 'source',
      reportedChanges: true,
      fsRoot: join(folder, 'source'),
    })
    const connections = await Promise.all(['emil', 'emil', 'fred'].map(connectionOf))
    const [first, second, other] = connections as [NatsConnection, NatsConnection, NatsConnection]
    const changes = Array.from({ length: 1_000 }, (_, n) => ({ path: `/${n}/${'x'.repeat(700)}` }))
    const report = (who: NatsConnection) =>
      call(who, filesystems['report-changes'], { fileSystemId, changes })
    await report(first)
    await report(second)
    await expect(report(first)).rejects.toMatchObject({
      code: 'LIMIT_REACHED',
      message: expect.stringMatching(/^emil has reported 2 MiB .*\(maxReportedMib\): report folders/),
    })
    await report(other)
    await Promise.all(connections.map((one) => one.close()))
  })
})

test('an owner with stores that do not answer keeps no other owner from asking its own', async () => {
  await using silent = await silentEndpoint()
  const { kind: _kind, options } = silent.spec
  await platform.call(settings.put, { maxFilesystems: 100, storeHosts: [options.endpoint] })
  let settled = 0
  const given = Array.from({ length: 30 }, async (_, n) => {
    const asked = { fileSystemId: `silent-${n}`, role: 'target', ...options } as const
    await call(ada, filesystems['create-adls2-shared-key'], asked).catch(() => undefined)
    settled += 1
  })
  await until('as many are asked as may be', () => silent.connections() >= 8)
  expect(await call(bob, filesystems.health, { fileSystemId: 'of-bob' })).toMatchObject({ healthy: true })
  expect(settled).toBe(0)
  await ada.close()
  await Promise.all(given)
  ada = await connectionOf('ada')
})

test('the limit of a role counts, and the platform shows all limits', async () => {
  await platform.call(settings.put, { maxFilesystems: 1, roleLimits: { big: { maxFilesystems: 3 } } })
  const { token } = await issueInside(platform, { owner: 'emil', roles: ['big'], capabilities: everything })
  const emil = await connectWithToken(platform.tcpUrl, token, { reconnect: false })
  expect(await outcomesOfTen((n) => addFilesystem(emil, `emil-${n}`))).toEqual(made(3))
  await emil.close()
  expect(await platform.call(settings.get, {})).toMatchObject({
    maxFilesystems: 1,
    roleLimits: { big: { maxFilesystems: 3 } },
  })
})
