import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { migrations } from '../../../subjects/migrations/migrations.ts'
import { verifications } from '../../../subjects/migrations/verifications.ts'
import { rawRequest, type RawRequest } from '../../support/http.ts'
import { addLocal, createFolder, migrate } from '../../support/migrations.ts'
import { startTestPlatform, type TestPlatform } from '../../support/platform.ts'
import { until } from '../../support/until.ts'

/** What existing clients send, and what they read in answers: the surface takes the one and has the other. */

const folder = createFolder('from', 'to')
let platform: TestPlatform
beforeAll(async () => {
  mkdirSync(join(folder.from, 'a'))
  mkdirSync(join(folder.from, 'b'))
  writeFileSync(join(folder.from, 'a', 'file'), 'content')
  platform = await startTestPlatform()
  await addLocal(platform, 'from', 'source', folder.from)
  await addLocal(platform, 'to', 'target', folder.to)
  await migrate(platform, { migrationId: 'done', path: '/a', source: 'from', target: 'to' })
})
afterAll(async () => {
  await platform[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})

const ask = (method: string, path: string, more: Omit<RawRequest, 'path' | 'method'> = {}) =>
  rawRequest(platform, 'migrator', { method, path, ...more })
const get = async (path: string) => (await ask('GET', path)).body
const form = { 'content-type': 'application/x-www-form-urlencoded' }
const json = { 'content-type': 'application/json' }
const warning = ({ headers }: { headers: Record<string, string | string[] | undefined> }) =>
  [headers['warning'] ?? ''].flat().join()

describe('a request', () => {
  test('has what nobody knows ignored, and its sender told', async () => {
    const answer = await ask('GET', '/migrations?colour=blue&fileSystemId=from')
    expect(answer.status).toBe(200)
    expect(warning(answer)).toBe('299 gantry "colour is unknown and was ignored"')
    const patched = await ask('PATCH', '/migrations/done', {
      headers: json,
      body: '{"migrationPriority":"HIGH","shape":"round"}',
    })
    expect(patched).toMatchObject({ status: 200, body: { migrationPriority: 'HIGH' } })
    expect(warning(patched)).toContain('shape is unknown')
    expect(warning(await ask('GET', '/migrations'))).toBe('')
  })

  test('with many unknown fields has an answer of a bounded size, and no header of its own making', async () => {
    const query = Array.from({ length: 500 }, (_, index) => `f${index}=1`).join('&')
    const answer = await ask('GET', `/migrations?${query}&${encodeURIComponent('a"\r\nx: y€')}=1`)
    expect(answer.status).toBe(200)
    expect(warning(answer).length).toBeLessThan(3_000)
    expect(answer.headers['x']).toBeUndefined()
    const odd = await ask('GET', `/migrations?${encodeURIComponent('a"\r\nx: y€')}=1`)
    expect(warning(odd)).toBe('299 gantry "a\\"??x: y? is unknown and was ignored"')
  })

  test.each([
    ['True', true],
    ['FALSE', false],
    ['', true],
  ])('scanOnlyMigration=%s is %s', async (text, expected) => {
    const query = new URLSearchParams({ path: '/b', source: '', target: 'to', scanOnlyMigration: text })
    const answer = await ask('PUT', `/migrations/lenient?${query.toString()}`)
    expect(answer).toMatchObject({ status: 201, body: { scanOnlyMigration: expected, source: 'from' } })
    expect((await ask('DELETE', '/migrations/lenient')).status).toBe(200)
  })

  test('no boolean at all is still refused, and so is what is missing', async () => {
    expect((await ask('PUT', '/migrations/x?path=/b&target=to&autoStart=maybe')).status).toBe(400)
    expect((await ask('PUT', '/migrations/x?path=&target=to')).status).toBe(400)
  })

  test('may be a form, and an empty body of any type is none', async () => {
    const made = await ask('PUT', '/migrations/form', {
      headers: form,
      body: 'path=/b&source=from&target=to&autoStart=False&additionalProperties=ticket%3D7',
    })
    expect(made).toMatchObject({ status: 201, body: { path: '/b', additionalProperties: { ticket: '7' } } })
    expect(warning(made)).toContain('additionalProperties are stored but have no effect')
    for (const headers of [form, json, { 'content-type': 'text/plain' }]) {
      expect((await ask('POST', '/migrations/form/reset', { headers, body: '' })).status).toBe(200)
    }
    expect((await ask('DELETE', '/migrations/form', { headers: form, body: '' })).status).toBe(200)
    expect(
      (await ask('POST', '/migrations/done/reset', { headers: { 'content-type': 'text/plain' }, body: 'x' }))
        .status,
    ).toBe(400)
  })

  test.each([
    '2020-01-01T00:00:00',
    '2020-01-01T00:00:00+0000',
    '2020-01-01T00:00:00%2B0000',
    '2020-01-01T00:00:00Z',
    '2020-01-01T00:00',
  ])('has a time as %s', async (time) => {
    const made = await ask('PUT', `/exclusions/date/old?description=d&beforeIsoDateTime=${time}`)
    expect(made).toMatchObject({ status: 201, body: { beforeDateUtc: '2020-01-01T00:00:00.000Z' } })
    expect((await ask('DELETE', '/exclusions/old')).status).toBe(200)
    expect((await ask('GET', `/migrations/done/failures?since=${time}`)).status).toBe(200)
  })

  test('about a filesystem takes what other kinds of installations need', async () => {
    const options = { fsRoot: folder.to, additionalProperties: { 'fs.any.key': 5, other: true } }
    const path = '/fs/targets/local/kept'
    const made = await ask('POST', `${path}?propertiesFiles=/etc/core-site.xml`, {
      headers: json,
      body: JSON.stringify({ ...options, colour: 'blue' }),
    })
    expect(made).toMatchObject({
      status: 201,
      body: { properties: { fsRoot: folder.to, 'fs.any.key': '5', other: 'true' } },
    })
    for (const told of [
      'propertiesFiles has no effect',
      'fs.any.key is stored but has no effect',
      'colour is',
    ])
      expect(warning(made)).toContain(told)
    expect(await get('/fs/targets/kept')).toMatchObject({ properties: { 'fs.any.key': '5' } })
    const changed = await ask('PATCH', path, {
      headers: json,
      body: '{"additionalProperties":{"another":"1"}}',
    })
    expect(changed.body['properties']).toEqual({ fsRoot: folder.to, another: '1' })
    const removed = await ask('DELETE', '/fs/targets/kept?deleteListener=true')
    expect(removed.status).toBe(200)
    expect(warning(removed)).toContain('deleteListener has no effect')
  })

  test('a field of a query is not taken from a body, and none that the path decides', async () => {
    const made = await ask('POST', '/fs/targets/local/bound', {
      headers: json,
      body: JSON.stringify({ fsRoot: folder.to, role: 'source', listenAndApplySourceChanges: false }),
    })
    expect(made.body).toMatchObject({ isSource: false, listenAndApplySourceChanges: true })
    expect(warning(made)).toContain('role is unknown')
    expect((await ask('DELETE', '/fs/targets/bound')).status).toBe(200)
  })

  test('with a password that nobody asks for is served as without it', async () => {
    const authorization = `Basic ${Buffer.from('somebody:secret').toString('base64')}`
    expect((await ask('GET', '/migrations', { headers: { authorization } })).status).toBe(200)
    expect((await ask('GET', '/migrations', { headers: { authorization: 'Bearer x' } })).status).toBe(401)
    const elsewhere = { authorization, 'x-forwarded-for': '192.0.2.1' }
    expect((await ask('GET', '/migrations', { headers: elsewhere })).status).toBe(401)
  })
})

test('the internal id of a migration is as good as its name', async () => {
  const { internalId } = await platform.call(migrations.get, { migrationId: 'done' })
  for (const path of [
    '/migrations/ID',
    '/migrations/ID/failures',
    '/migrations/ID/pendingRegions',
    '/stats/migrationInfo/ID',
    '/stats/ID',
    '/stats/current/ID',
    '/verifications?migrationId=ID',
    '/verifications/filtered?migrationIds=ID,done',
    '/source-cleanup/ID/reports',
  ]) {
    const [byId, byName] = await Promise.all([
      ask('GET', path.replace('ID', internalId)),
      ask('GET', path.replace('ID', 'done')),
    ])
    expect(byId.status, path).toBe(200)
    if (!path.startsWith('/stats/')) expect(byId.text, path).toBe(byName.text)
  }
  const made = await ask('PUT', '/verifications', {
    headers: json,
    body: JSON.stringify({ migrationId: internalId }),
  })
  expect(made).toMatchObject({ status: 200, body: { migrationId: 'done', migrationInternalId: internalId } })
  expect((await ask('POST', `/migrations/${internalId.toUpperCase()}/stop`)).status).toBe(403)
  expect((await ask('GET', '/migrations/00000000-0000-4000-8000-000000000000')).status).toBe(404)
})

describe('an answer', () => {
  test('is indented JSON, of all fields that are documented', async () => {
    const { text, body } = await ask('GET', '/migrations/done')
    expect(text.startsWith('{\n  "migrationId": "done",\n')).toBe(true)
    expect(body).toMatchObject({
      abortReason: null,
      migrationGates: [],
      migrationEdge: null,
      recurringPeriodSeconds: 0,
      recurringMigrationTracker: null,
      unscheduledEvents: 0,
      sourceCleanupTracker: { count: 0, inProgress: false, lastStartTime: null },
      oldestIncompleteWorkItem: null,
    })
    await platform.call(migrations.create, { migrationId: 'new', path: '/b', source: 'from', target: 'to' })
    expect(await get('/migrations/new')).toMatchObject({
      migrationStartTime: null,
      migrationCompleteTime: null,
    })
    expect(await get('/stats/migrationInfo/new')).toMatchObject({
      progress: { etaEstimate: { inSeconds: 0 }, migrationTotalReadableBinaryUnits: '0' },
    })
    expect(await get('/stats/cumulative')).toMatchObject({ filesRescanned: null })
    expect(await get('/diagnostics/summary')).toMatchObject({ gcCount: null })
    await platform.call(migrations.delete, { migrationId: 'new' })
  })

  test('of the contracts knows nothing of the names of the surface', async () => {
    const native = await platform.call(migrations.get, { migrationId: 'done' })
    expect(native).toMatchObject({ targetActionPolicy: 'Overwrite' })
    expect(native).not.toHaveProperty('migrationGates')
    expect(await get('/migrations/done')).toMatchObject({
      targetActionPolicy: 'com.wandisco.livemigrator2.migration.OverwriteActionPolicy',
    })
  })

  test('has the limit of pending regions that was asked for', async () => {
    const answer = await ask('PUT', '/migrations/done/maxPendingRegions/5000')
    expect(answer.body).toMatchObject({ maxPendingRegions: 5000 })
    expect(warning(answer)).toContain('above 100')
  })
})

describe('an error', () => {
  const cases: [string, string, number, string][] = [
    ['GET', '/migrations/none', 404, 'MIGRATION_NOT_FOUND'],
    ['POST', '/migrations/done/stop', 403, 'MIGRATION_NOT_STOPPABLE'],
    ['POST', '/migrations/done/start', 403, 'MIGRATION_NOT_RUNNABLE'],
    ['POST', '/bandwidthPolicies/application?limit=5&unit=furlongs', 412, 'UNSUPPORTED_VALUE'],
    ['POST', '/bandwidthPolicies/application?limit=5', 409, 'BANDWIDTH_POLICY_CREATION_EXCEPTION'],
    ['GET', '/nowhere', 501, 'UNSUPPORTED_VALUE'],
    ['GET', '/stats/filetrackers', 501, 'UNSUPPORTED_VALUE'],
    ['POST', '/scaling/dataagents', 501, 'UNSUPPORTED_VALUE'],
    ['POST', '/nowhere/at/all', 501, 'UNSUPPORTED_VALUE'],
    ['PATCH', '/migrations', 405, 'HTTP_METHOD_NOT_SUPPORTED'],
  ]
  test.each(cases)('of %s %s is %d %s', async (method, path, status, errorCode) => {
    const { body, status: seen, text } = await ask(method, path)
    expect(seen).toBe(status)
    expect(body).toMatchObject({
      title: expect.any(String),
      status,
      error: status,
      errorCode,
      message: expect.any(String),
      code: expect.any(String),
      requestId: expect.any(String),
    })
    expect(body['localizedMessage']).toBe(body['message'])
    expect(text).toContain('\n  "status"')
  })

  test('of a store that does not answer is a 500', async () => {
    const answer = await ask('POST', '/fs/targets/adls2/shared-key/away', {
      headers: json,
      body: JSON.stringify({
        accountName: 'account',
        containerName: 'container',
        sharedKey: Buffer.alloc(64).toString('base64'),
        endpoint: 'host:65535',
        insecure: 'true',
        additionalProperties: { 'fs.azure.io.retry.max.retries': 0 },
      }),
    })
    expect(answer).toMatchObject({
      status: 500,
      body: { code: 'STORE_UNREACHABLE', title: 'Internal Server Error' },
    })
  })
})

test('a limit is set with its unit, and taken away without one', async () => {
  const path = '/bandwidthPolicies/application'
  const set = await ask('POST', `${path}?limit=5&unit=MiB`)
  expect(set.body).toMatchObject({ limitBytesPerSecond: 5 * 2 ** 20 })
  expect((await ask('POST', `${path}?limit=-1`)).body).toMatchObject({ limitBytesPerSecond: -1 })
})

test('reports of a verification are compressed, under the names that scripts look for', async () => {
  writeFileSync(join(folder.from, 'a', 'late'), 'later')
  const { id } = await platform.call(verifications.create, { migrationId: 'done' })
  await until(
    'the verification is over',
    async () => (await platform.call(verifications.get, { verificationId: id })).status === 'COMPLETE',
  )
  const listed = (await platform.rest('migrator', 'GET', `/verifications/${id}/reports`)).body
  expect(listed).toEqual(
    expect.arrayContaining([
      expect.objectContaining({
        descriptor: {
          name: 'verification-discrepancy.jsonl.gz',
          type: 'DISCREPANCIES_JSON',
          fileSuffix: '.jsonl.gz',
        },
      }),
    ]),
  )
  for (const report of ['DISCREPANCIES_JSON', 'verification-discrepancy.jsonl.gz']) {
    const answer = await fetch(`${platform.httpUrls.migrator}/verifications/reports/${id}?reportId=${report}`)
    expect(answer.headers.get('content-type')).toBe('application/gzip')
    expect(answer.headers.get('content-disposition')).toContain('verification-discrepancy.jsonl.gz')
    const [row] = gunzipSync(await answer.bytes())
      .toString()
      .trim()
      .split('\n')
    expect(Object.keys(JSON.parse(row!) as object)).toEqual([
      'scanResult',
      'type',
      'sourcePath',
      'targetPath',
      'sourceSize',
      'targetSize',
      'sourceModified',
      'targetModified',
      'detail',
      'timestamp',
    ])
    expect(JSON.parse(row!)).toMatchObject({ scanResult: 'MISSING_ON_TARGET', targetSize: null })
  }
})

test('the service says what it is', async () => {
  const { name, version, nodeId } = await get('/info')
  expect([name, version]).toEqual(['Gantry', expect.stringMatching(/^\d+\./)])
  expect((await platform.rest('migrator', 'GET', '/info/nodeID')).body).toBe(nodeId)
})

test('the document is where clients look for it', async () => {
  expect(await get('/v3/api-docs')).toEqual(await get('/openapi.json'))
})
