import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { filesystems } from '../../../subjects/filesystems/filesystems.ts'
import { loopback } from '../../../subjects/kit/names.ts'
import { settings } from '../../../subjects/access/settings.ts'
import { type Azurite, startAzurite } from '../../support/azurite.ts'
import { startDfsDouble } from '../../support/dfs-double.ts'
import { recordingLog } from '../../support/log.ts'
import { createFolder } from '../../support/migrations.ts'
import { freePort, startTestPlatform, type TestPlatform } from '../../support/platform.ts'

// POST /fs/targets/adls2/shared-key/{target_name} as in sections 2.1 and 4.2 of the specification.
const logged = recordingLog()
let azurite: Azurite
let platform: TestPlatform
beforeAll(async () => {
  ;[azurite, platform] = await Promise.all([startAzurite(), startTestPlatform({ log: logged.log })])
  await platform.call(settings.put, { storeHosts: [loopback] })
  await azurite.createContainer('container')
  await azurite.createContainer('other')
}, 60_000)
afterAll(async () => {
  await platform[Symbol.asyncDispose]()
  await azurite[Symbol.asyncDispose]()
})
beforeEach(() => migrator('DELETE', '/fs/targets'))

const migrator = (method: string, path: string, body?: unknown) =>
  platform.rest('migrator', method, path, {
    headers: { accept: 'application/json' },
    ...(body === undefined ? {} : { body }),
  })

const options = (changes: object = {}) => ({
  sharedKey: azurite.key,
  endpoint: azurite.endpoint,
  accountName: azurite.account,
  containerName: 'container',
  insecure: true,
  additionalProperties: { 'fs.azure.io.retry.max.retries': '1' },
  ...changes,
})
const create = (name: string, changes: object = {}, query = '?listenAndApplySourceChanges=true') =>
  migrator('POST', `/fs/targets/adls2/shared-key/${encodeURIComponent(name)}${query}`, options(changes))
/** By the contract's own route, which takes nothing that it does not know. */
const native = (method: string, path: string, body: object) =>
  platform.rest('platform', method, `/api/v1/filesystems/adls2/shared-key${path}`, { body })
const list = async () => (await migrator('GET', '/fs/targets')).body as { fileSystemId: string }[]

describe('create', () => {
  test('with all six fields: 201 and the created target, its secret masked', async () => {
    const reply = await create('my target')
    expect(reply.status).toBe(201)
    expect(reply.body).toEqual({
      fileSystemId: 'my target',
      fsType: 'adls2',
      isSource: false,
      isScanOnly: false,
      eventsPosition: 0,
      listenAndApplySourceChanges: true,
      properties: {
        sharedKey: '********',
        endpoint: azurite.endpoint,
        accountName: azurite.account,
        containerName: 'container',
        insecure: 'true',
        'fs.azure.io.retry.max.retries': '1',
      },
    })
    expect(await list()).toEqual([reply.body])
  })

  test.each(['ä ö ü', 'a+b', 'a&b=c', '100 percent', "quote's", '日本語', 'dot.ted', '#hash?'])(
    'a name that is URL-encoded: %s',
    async (name) => {
      expect((await create(name)).body).toMatchObject({ fileSystemId: name })
      const reply = await migrator('GET', `/fs/targets/${encodeURIComponent(name)}`)
      expect(reply).toMatchObject({ status: 200, body: { fileSystemId: name } })
    },
  )

  test.each([
    ['?listenAndApplySourceChanges=false', false],
    ['?listenAndApplySourceChanges=true', true],
    ['?listenAndApplySourceChanges=False', false],
    ['?listenAndApplySourceChanges=yes', true],
    ['?listenAndApplySourceChanges=', true],
    ['', true],
  ])('%j', async (query, expected) => {
    expect((await create('t', {}, query)).body).toMatchObject({ listenAndApplySourceChanges: expected })
  })

  test.each([
    ['?listenAndApplySourceChanges=maybe', 'listenAndApplySourceChanges'],
    ['?listenAndApplySourceChanges=true&listenAndApplySourceChanges=false', 'listenAndApplySourceChanges'],
  ])('the query %j is refused by name', async (query, named) => {
    const { status, body } = await create('t', {}, query)
    expect(status).toBe(400)
    expect((body as { message: string }).message).toContain(named)
    expect(await list()).toEqual([])
  })

  test('a property out of its bounds is not accepted, by name, and nothing is stored', async () => {
    const additionalProperties = { 'fs.azure.list.max.results': '0' }
    expect(await create('t', { additionalProperties })).toMatchObject({
      status: 409,
      body: { code: 'NOT_ACCEPTED', message: expect.stringContaining('list.max.results') },
    })
    expect(await list()).toEqual([])
  })

  test.each<[string, object, string]>([
    ['no key', { sharedKey: undefined }, 'sharedKey'],
    ['a key that is not base64', { sharedKey: 'not base64!' }, 'sharedKey'],
    ['no account', { accountName: undefined }, 'accountName'],
    ['an account that cannot be one', { accountName: 'Bad_Name' }, 'accountName'],
    ['no container', { containerName: undefined }, 'containerName'],
    ['a container that leads elsewhere', { containerName: '../other' }, 'containerName'],
    ['a container with a query', { containerName: 'container?x=y' }, 'containerName'],
    ['an endpoint with a path', { endpoint: 'host/path' }, 'endpoint'],
    ['an endpoint with a scheme', { endpoint: 'http://host' }, 'endpoint'],
    ['an endpoint with a user', { endpoint: 'user@host' }, 'endpoint'],
    ['insecure as text', { insecure: 'true' }, 'insecure'],
    ['properties as text', { additionalProperties: 'x' }, 'additionalProperties'],
    [
      'a property that is no text',
      { additionalProperties: { 'fs.azure.list.max.results': 1 } },
      'fs.azure.list',
    ],
    [
      'a property that is not known',
      { additionalProperties: { 'fs.azure.unheard.of': '1' } },
      'fs.azure.unheard.of',
    ],
    [
      'a property of another kind',
      { additionalProperties: { 'fs.s3a.threads.max': '1' } },
      'fs.s3a.threads.max',
    ],
    [
      'a property that is no number',
      { additionalProperties: { 'fs.azure.list.max.results': 'x' } },
      'list.max.results',
    ],
    ['an unknown field', { SharedKey: 'x' }, 'did you mean sharedKey'],
  ])('%s is refused by name, and nothing is stored', async (_, changes, named) => {
    const { status, body } = await native('POST', '', {
      fileSystemId: 't',
      role: 'target',
      ...options(changes),
    })
    expect(status).toBe(400)
    expect(body).toMatchObject({ code: 'INVALID_INPUT' })
    expect((body as { message: string }).message).toContain(named)
    expect(JSON.stringify(body)).not.toContain(azurite.key)
    expect(await list()).toEqual([])
  })

  test('a key that the store refuses: 4xx, and nothing is stored', async () => {
    const { status, body } = await create('t', { sharedKey: randomBytes(64).toString('base64') })
    expect(status).toBe(409)
    expect(body).toMatchObject({ code: 'STORE_REFUSED', details: { failure: 'refused' } })
    expect((body as { message: string }).message).toContain('sharedKey')
    expect(await list()).toEqual([])
  })

  test('an account or a container that is not there: 4xx, and nothing is stored', async () => {
    for (const changes of [{ containerName: 'nothing' }, { accountName: 'nobody' }]) {
      const { status, body } = await create('t', changes)
      expect(status).toBe(409)
      expect((body as { message: string }).message).toMatch(/nothing|nobody|account|container/)
    }
    expect(await list()).toEqual([])
  })

  test('an endpoint where nobody is: 500, and nothing is stored', async () => {
    const { status, body } = await create('t', { endpoint: `127.0.0.1:${await freePort()}` })
    expect(status).toBe(500)
    expect(body).toMatchObject({ code: 'STORE_UNREACHABLE', details: { failure: 'unreachable' } })
    expect(await list()).toEqual([])
  })

  test('a host that does not exist: 500', async () => {
    const { status, body } = await create('t', { endpoint: 'store.invalid' })
    expect(status).toBe(500)
    expect((body as { message: string }).message).toContain('store.invalid')
  })

  test('an endpoint that takes the connection and says nothing: 500 in time', async () => {
    const silent = createServer(() => undefined).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const address = silent.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    const impatient = { 'fs.azure.http.read.timeout': '100', 'fs.azure.io.retry.max.retries': '0' }
    const { status, body } = await create('t', {
      endpoint: `127.0.0.1:${port}`,
      additionalProperties: impatient,
    })
    expect(status).toBe(500)
    expect(body).toMatchObject({ code: 'STORE_UNREACHABLE' })
    silent.close()
  })

  test('an endpoint that speaks something else: an error of the store, not of ours', async () => {
    const echo = createServer((socket) => socket.end('SSH-2.0-OpenSSH\r\n')).listen(0, '127.0.0.1')
    await once(echo, 'listening')
    const address = echo.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    const { status } = await create('t', { endpoint: `127.0.0.1:${port}` })
    expect(status).toBe(500)
    echo.close()
    // The platform's own HTTP server, which is no store.
    const own = await create('t', { endpoint: new URL(platform.httpUrls.platform).host })
    expect(own.status).toBe(500)
    expect(await list()).toEqual([])
  })

  test('a name that is taken: 409, and the first stays', async () => {
    await create('t')
    const again = await create('t', { containerName: 'other' })
    expect(again).toMatchObject({ status: 409, body: { code: 'ALREADY_EXISTS' } })
    expect((await migrator('GET', '/fs/targets/t')).body).toMatchObject({
      properties: { containerName: 'container' },
    })
    const asSource = await migrator('POST', '/fs/sources/adls2/shared-key/t', options())
    expect(asSource.status).toBe(409)
  })

  test('the same name at the same time: one is made', async () => {
    const replies = await Promise.all(Array.from({ length: 8 }, () => create('t')))
    expect(replies.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      201,
      ...Array(7).fill(409),
    ])
  })
})

describe('change', () => {
  const change = (changes: object, query = '') =>
    migrator('PATCH', `/fs/targets/adls2/shared-key/t${query}`, changes)
  beforeEach(() => create('t'))

  test('what is not given stays', async () => {
    const { status, body } = await change({ containerName: 'other' }, '?listenAndApplySourceChanges=false')
    expect(status).toBe(200)
    expect(body).toMatchObject({
      listenAndApplySourceChanges: false,
      properties: { containerName: 'other', accountName: azurite.account, sharedKey: '********' },
    })
    expect((await migrator('GET', '/fs/health/t')).body).toMatchObject({ healthy: true })
  })

  test.each<[string, object, number]>([
    ['a wrong key', { sharedKey: randomBytes(64).toString('base64') }, 409],
    ['the mask as the key', { sharedKey: '********' }, 400],
    ['a container that is not there', { containerName: 'nothing' }, 409],
    ['an unknown property', { additionalProperties: { 'fs.azure.x': '1' } }, 400],
    ['an unknown field', { container: 'other' }, 400],
  ])('%s is refused, and nothing changes', async (_, changes, status) => {
    const before = (await migrator('GET', '/fs/targets/t')).body
    expect((await native('PATCH', '/t', changes)).status).toBe(status)
    expect((await migrator('GET', '/fs/targets/t')).body).toEqual(before)
    expect((await migrator('GET', '/fs/health/t')).body).toMatchObject({ healthy: true })
  })

  test('one way to be told of changes takes the place of the other', async () => {
    const wayOf = async (changes: object) => {
      const { body } = await native('PATCH', '/t', changes)
      const { eventQueue, changeFeed } = (body as { properties: Record<string, string> }).properties
      return [eventQueue, changeFeed]
    }
    const sharedKey = azurite.key
    expect(await wayOf({ eventQueue: 'changes', sharedKey })).toEqual(['changes', undefined])
    expect(await wayOf({ changeFeed: false })).toEqual(['changes', 'false'])
    expect(await wayOf({ changeFeed: true })).toEqual([undefined, 'true'])
    expect(await wayOf({ containerName: 'other' })).toEqual([undefined, 'true'])
    expect(await wayOf({ eventQueue: 'changes', sharedKey })).toEqual(['changes', undefined])
    expect(
      (await native('PATCH', '/t', { eventQueue: 'changes', changeFeed: true, sharedKey })).body,
    ).toMatchObject({
      code: 'NOT_ACCEPTED',
      details: [{ field: 'changeFeed' }],
    })
  })

  test('two changes at the same time: none undoes the other unseen', async () => {
    const replies = await Promise.all([
      change({ containerName: 'other' }),
      change({ additionalProperties: { 'fs.azure.list.max.results': '7' } }),
    ])
    const { properties } = (await migrator('GET', '/fs/targets/t')).body as {
      properties: Record<string, string>
    }
    const done = replies.map(({ status }) => status === 200)
    for (const { status } of replies) expect([200, 409]).toContain(status)
    expect(properties['containerName'] === 'other').toBe(done[0])
    expect(properties['fs.azure.list.max.results'] === '7').toBe(done[1])
  })

  test('of another kind, another role, or what is not there', async () => {
    expect((await migrator('PATCH', '/fs/targets/local/t', { fsRoot: '/usr/share' })).status).toBe(409)
    expect((await migrator('PATCH', '/fs/sources/adls2/shared-key/t', {})).status).toBe(404)
    expect((await migrator('PATCH', '/fs/targets/adls2/shared-key/nothing', {})).status).toBe(404)
  })
})

describe('look and delete', () => {
  test('defaults are in the verbose form, the secret in none', async () => {
    await create('t', { insecure: true })
    const brief = await migrator('GET', '/fs/targets/t')
    const verbose = await migrator('GET', '/fs/targets/t?verbose=true')
    expect(verbose.body).toMatchObject({ properties: { insecure: 'true', endpoint: azurite.endpoint } })
    const all = await migrator('GET', '/fs/targets?verbose=true')
    const overNats = await platform.call(filesystems.get, { fileSystemId: 't', verbose: true })
    for (const body of [brief.body, verbose.body, all.body, overNats]) {
      expect(JSON.stringify(body)).not.toContain(azurite.key)
      expect(JSON.stringify(body)).toContain('********')
    }
  })

  test('health', async () => {
    await create('t')
    const before = Date.now()
    const { status, body } = await migrator('GET', '/fs/health/t')
    expect(status).toBe(200)
    expect(body).toEqual({
      fsId: 't',
      healthy: true,
      healthReason: 'NONE',
      cause: null,
      notice: null,
      timeStampEpochMillis: expect.any(Number),
    })
    expect((body as { timeStampEpochMillis: number }).timeStampEpochMillis).toBeGreaterThanOrEqual(before)
    await azurite.createContainer('doomed')
    await create('ill', { containerName: 'doomed' })
    await azurite.service.deleteContainer('doomed')
    expect((await migrator('GET', '/fs/health/ill')).body).toMatchObject({
      healthy: false,
      healthReason: 'INVALID_FS_ROOT',
      cause: expect.stringContaining('doomed'),
    })
    const all = (await migrator('GET', '/fs/health')).body as { fsId: string; healthy: boolean }[]
    expect(all.map(({ fsId, healthy }) => [fsId, healthy])).toEqual([
      ['ill', false],
      ['t', true],
    ])
    expect((await migrator('GET', '/fs/health/nothing')).status).toBe(404)
  })

  test('the health of an account with a hierarchical namespace says what it was tested against', async () => {
    await using double = await startDfsDouble(azurite)
    await create('hierarchical', { endpoint: double.endpoint })
    const hierarchical = await platform.call(filesystems.health, { fileSystemId: 'hierarchical' })
    expect(hierarchical).toMatchObject({ healthy: true, notice: expect.stringMatching(/tested against a/) })
    expect((await migrator('GET', '/fs/health/hierarchical')).body).toMatchObject({
      notice: hierarchical.notice,
    })
  })

  test('delete forgets it; the files stay', async () => {
    await create('t')
    await azurite.service.getContainerClient('container').getBlockBlobClient('kept').upload('x', 1)
    expect((await migrator('DELETE', '/fs/sources/t')).status).toBe(404)
    expect(await migrator('DELETE', '/fs/targets/t')).toMatchObject({ status: 200, body: {} })
    expect((await migrator('DELETE', '/fs/targets/t')).status).toBe(404)
    expect((await migrator('GET', '/fs/targets/t')).status).toBe(404)
    expect(await azurite.service.getContainerClient('container').getBlobClient('kept').exists()).toBe(true)
    expect((await create('t')).status).toBe(201)
  })

  test('while a migration needs it, it cannot be deleted', async () => {
    using folder = createFolder()
    await create('t')
    await migrator('POST', '/fs/sources/local/from', { fsRoot: folder.root })
    const made = await migrator('PUT', '/migrations/m?path=/&source=from&target=t')
    expect(made.status).toBe(201)
    for (const path of ['/fs/targets/t', '/fs/targets', '/fs/sources/from', '/fs/sources']) {
      const reply = await migrator('DELETE', path)
      expect(reply).toMatchObject({ status: 409, body: { code: 'IN_USE', details: { migrations: ['m'] } } })
    }
    expect((await migrator('DELETE', '/migrations/m')).status).toBe(200)
    expect((await migrator('DELETE', '/fs/sources/from')).status).toBe(200)
    expect((await migrator('DELETE', '/fs/targets')).status).toBe(200)
  })
})

test('paths of a container are listed by name, page by page', async () => {
  await azurite.createContainer('listed')
  const container = azurite.service.getContainerClient('listed')
  const names = ['a', 'b b', 'c%41', 'd#e?f', 'é', '日本', 'folder/inner', 'folder/deep/er']
  for (const name of names) await container.getBlockBlobClient(name).upload('xyz', 3)
  await create('t', { containerName: 'listed' })
  const page = async (query: string) =>
    (await migrator('GET', `/fs/targets/t/listPaths?${query}`)).body as {
      path: string
      isDirectory: boolean
      length: number
    }[]
  const all = await page('path=/')
  expect(all.map(({ path }) => path)).toEqual(['/a', '/b b', '/c%2541', '/d#e?f', '/folder', '/é', '/日本'])
  expect(all.map(({ isDirectory }) => isDirectory)).toEqual([false, false, false, false, true, false, false])
  expect(all[0]).toMatchObject({ length: 3, modificationTime: expect.any(Number) })
  const paged: string[] = []
  for (let query = 'path=/&limit=2'; ;) {
    const entries = await page(query)
    if (entries.length === 0) break
    paged.push(...entries.map(({ path }) => path))
    query = `path=/&limit=2&after=${encodeURIComponent(paged.at(-1)!)}`
  }
  expect(paged).toEqual(all.map(({ path }) => path))
  expect((await page('path=/folder')).map(({ path }) => path)).toEqual(['/folder/deep', '/folder/inner'])
  expect((await migrator('GET', '/fs/targets/t/listPaths?path=/nothing')).status).toBe(404)
})

test('the secret is nowhere: in no reply of this file’s store, no log, no file of the platform', async () => {
  await create('t')
  expect(logged.lines.length).toBeGreaterThan(0)
  expect(logged.text()).not.toContain(azurite.key)
  const files = readdirSync(platform.home, { recursive: true, encoding: 'utf8' })
    .map((name) => join(platform.home, name))
    .filter((path) => statSync(path).isFile())
  const withName = files.filter((path) => readFileSync(path).includes(azurite.account))
  expect(withName.length).toBeGreaterThan(0)
  expect(files.filter((path) => readFileSync(path).includes(azurite.key))).toEqual([])
})
