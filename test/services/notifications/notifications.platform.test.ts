import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { XMLParser, XMLValidator } from 'fast-xml-parser'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { viewer } from '../../../services/access/roles/built-in-roles.ts'
import { call } from '../../../broker/rpc/client.ts'
import { migrations } from '../../../subjects/migrations/migrations.ts'
import { notifications } from '../../../subjects/observability/notifications.ts'
import { rawRequest } from '../../support/http.ts'
import { createClient } from '../../support/keys.ts'
import { addLocal, createFolder, migrate } from '../../support/migrations.ts'
import { createHome, startTestPlatform, type TestPlatform } from '../../support/platform.ts'

const folder = createFolder('from', 'to')
let home: string
let platform: TestPlatform
beforeAll(async () => {
  home = await createHome()
  platform = await startTestPlatform({ home })
  mkdirSync(join(folder.from, 'a'))
  writeFileSync(join(folder.from, 'a', 'file'), 'x')
  await addLocal(platform, 'from', 'source', folder.from)
  await addLocal(platform, 'to', 'target', folder.to)
  await migrate(platform, { migrationId: 'a & <b>', path: '/a', source: 'from', target: 'to' })
})
afterAll(async () => {
  await platform[Symbol.asyncDispose]()
  rmSync(home, { recursive: true, force: true })
  folder[Symbol.dispose]()
})

const list = (input: Parameters<typeof platform.call<(typeof notifications)['list']>>[1] = {}) =>
  platform.call(notifications.list, input)
const get = (path: string, headers: Record<string, string> = {}) =>
  rawRequest(platform, 'migrator', { method: 'GET', path, headers })

test('what happened is there at once, and can be asked for one by one', async () => {
  const all = await list({ object: 'a & <b>' })
  expect(all.map(({ type }) => type)).toEqual(['migration-completed', 'migration-added'])
  const [completed, added] = all
  expect(await platform.call(notifications.get, { notificationId: added!.id })).toEqual(added)
  expect(await platform.call(notifications.latest, {})).toEqual(completed)
  expect(await list({ type: 'migration-added' })).toEqual([added])
  expect(await list({ level: 'error' })).toEqual([])
  expect(await list({ resolved: true })).toEqual([])
  expect(await list({ limit: 1 })).toEqual([completed])
  expect(await list({ limit: 1, after: completed!.id })).toEqual([added])
  expect(await list({ since: completed!.created })).toEqual([completed])
  const unknown = platform.call(notifications.get, { notificationId: '0b6cfc1a-9d3f-8a51-8d24-5c8e1f3f9f10' })
  await expect(unknown).rejects.toMatchObject({ code: 'NOT_FOUND' })
})

test('the surface of the migrator has them by its own names', async () => {
  const { status, body } = await get('/notifications?type=MigrationAddedNotification&level=INFO&count=5000')
  expect(status).toBe(200)
  const [added] = body as unknown as Record<string, unknown>[]
  expect(added).toMatchObject({
    id: expect.stringMatching(/^urn:uuid:/) as string,
    type: 'MigrationAddedNotification',
    level: 'INFO',
    message: 'Migration “a & <b>” was created',
    resolved: false,
    code: null,
    payload: { migrationId: 'a & <b>' },
  })
  expect(new Date(added!['timeStamp'] as number).toISOString()).toBe(added!['dateCreated'])
  const id = added!['id'] as string
  expect((await get(`/notifications/${id}`)).body).toEqual(added)
  expect((await get(`/notifications/${id.slice('urn:uuid:'.length)}`)).body).toEqual(added)
  expect(await get('/notifications/latest')).toMatchObject({
    body: { type: 'MigrationCompletedNotification' },
  })
  expect(await get('/notifications/none')).toMatchObject({
    status: 404,
    body: { errorCode: 'NOTIFICATION_NOT_FOUND' },
  })
  expect((await get('/notifications?level=ERROR')).body).toEqual([])
  expect((await get('/notifications?excludeResolved=true')).body).toHaveLength(2)
  expect((await get('/notifications?excludeResolved=maybe')).status).toBe(400)
  expect((await get('/notifications?level=LOUD')).status).toBe(400)
  expect((await get('/notifications?count=0')).status).toBe(400)
  expect((await get('/notifications?count=510832955471549152886784')).body).toMatchObject({
    message: expect.stringContaining('count must be an integer'),
  })
  expect((await get('/notifications?count=1')).body).toHaveLength(1)
  const soon = new Date(Date.now() + 60_000).toISOString().slice(0, 19)
  expect((await get(`/notifications?since=${soon}`)).body).toEqual([])
})

test('who has a list or the feed is told so, until there is more', async () => {
  for (const path of ['/notifications', '/notifications/atom', '/notifications/latest']) {
    const first = await get(path)
    const tag = first.headers['etag'] as string
    expect(await get(path, { 'if-none-match': `"other", ${tag}` })).toMatchObject({ status: 304 })
    const name = path.replaceAll('/', '-')
    mkdirSync(join(folder.from, name))
    await platform.call(migrations.create, {
      migrationId: name,
      path: `/${name}`,
      source: 'from',
      target: 'to',
      autoStart: false,
    })
    expect((await get(path, { 'if-none-match': tag })).status).toBe(200)
  }
})

test('the feed is Atom, and has names for what they are', async () => {
  const { status, headers, text } = await get('/notifications/atom')
  expect(status).toBe(200)
  expect(headers['content-type']).toBe('application/atom+xml; charset=utf-8')
  expect(XMLValidator.validate(text)).toBe(true)
  const { feed } = new XMLParser().parse(text) as { feed: { entry: { title: string; id: string }[] } }
  expect(feed.entry.map(({ title }) => title)).toContain('Migration “a & <b>” was created')
  expect(new Set(feed.entry.map(({ id }) => id)).size).toBe(feed.entry.length)
})

test('who may only look may read them; who has no right to them may not', async () => {
  const subjects = Object.values(notifications).map(({ subject }) => subject)
  expect(viewer.pub.allow).toEqual(expect.arrayContaining(subjects))
  await using other = await createClient(platform, {
    pub: { allow: [migrations.list.subject] },
    sub: { allow: [] },
  })
  await expect(call(other.connection, notifications.list, {})).rejects.toMatchObject({ code: 'DENIED' })
})

test('after a restart they are the same', async () => {
  const before = await list()
  await platform[Symbol.asyncDispose]()
  platform = await startTestPlatform({ home })
  expect(await list()).toEqual(before)
})
