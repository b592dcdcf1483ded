import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { addLocal, createFolder, migrate, nextEvent } from '../support/migrations.ts'
import { startTestPlatform, type TestPlatform } from '../support/platform.ts'

const overwrite = 'com.wandisco.livemigrator2.migration.OverwriteActionPolicy'
const folder = createFolder('from', 'to', 'other', 'whole')
let platform: TestPlatform
beforeAll(async () => {
  mkdirSync(join(folder.from, 'a/b'), { recursive: true })
  for (let index = 0; index < 25; index++) writeFileSync(join(folder.from, 'a', `file ${index}`), `${index}`)
  platform = await startTestPlatform()
  await addLocal(platform, 'from', 'source', folder.from)
  await addLocal(platform, 'to', 'target', folder.to)
  await addLocal(platform, 'other', 'target', folder.other)
})
afterAll(async () => {
  await platform[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})

const migrator = (method: string, path: string) => platform.rest('migrator', method, path)
const problemsOf = (body: unknown) => (body as { details: { field: string; problem: string }[] }).details

test('the existing product’s calls: PUT with a query, start, stop, resume, delete', async () => {
  const query = `path=/a&source=from&target=to&actionPolicy=${overwrite}&autoStart=true&scanOnlyMigration=true`
  const completed = await nextEvent(platform, 'completed', 'nightly copy')
  const created = await migrator('PUT', `/migrations/nightly%20copy?${query}`)
  expect(created.status).toBe(201)
  expect(created.body).toMatchObject({
    migrationId: 'nightly copy',
    path: '/a',
    source: 'from',
    target: 'to',
    state: 'RUNNING',
    resumable: true,
    scanOnlyMigration: true,
    targetActionPolicy: overwrite,
    failedPathCount: 0,
  })
  await completed.payload
  const { status, body } = await migrator('GET', '/migrations/nightly%20copy')
  expect(status).toBe(200)
  expect(body).toMatchObject({
    state: 'COMPLETED',
    scannerSummary: {
      progressSummary: { filesScanned: 25, directoriesScanned: 2, bytesScanned: 40 },
      contentSummary: { byteCount: 40, fileCount: 25, directoryCount: 2 },
    },
    clientActivitySummary: { byteCount: 0, fileCount: 0, directoryCount: 0 },
    sourceCleanupTracker: { count: 0, inProgress: false },
  })
  expect((await migrator('GET', '/migrations')).body).toEqual([body])
  for (const verb of ['start', 'stop', 'resume']) {
    const refused = await migrator('POST', `/migrations/nightly%20copy/${verb}`)
    expect(refused.status, verb).toBe(403)
    expect(refused.body).toMatchObject({
      code: 'NOT_ALLOWED_IN_STATE',
      details: { allowed: ['reset', 'rescan', 'delete'] },
    })
  }
  expect((await migrator('DELETE', '/migrations/nightly%20copy')).status).toBe(200)
  expect((await migrator('GET', '/migrations/nightly%20copy')).status).toBe(404)
})

test('the same over /api/v1 with JSON, created apart from its start', async () => {
  const v1 = (method: string, path: string, body?: unknown) =>
    platform.rest('platform', method, `/api/v1/migrations${path}`, body === undefined ? {} : { body })
  const input = {
    migrationId: 'json',
    path: '/a',
    source: 'from',
    target: 'other',
    actionPolicy: 'SkipIfSizeMatch',
  }
  const created = await v1('POST', '', input)
  expect(created.status).toBe(201)
  expect(created.body).toMatchObject({ state: 'NONSCHEDULED', targetActionPolicy: 'SkipIfSizeMatch' })
  expect(created.body).not.toHaveProperty('migrationStartTime')
  for (let round = 0; round < 2; round++) {
    const completed = await nextEvent(platform, 'completed', 'json')
    const started = await v1('POST', '/json/start')
    expect(started.status).toBe(200)
    expect(started.body).toMatchObject({ state: 'RUNNING' })
    await completed.payload
    const { body } = await v1('GET', '/json/progress')
    // The second time all is there already, and of the same size.
    const expected =
      round === 0 ? { filesMigrated: 25, filesSkipped: 0 } : { filesMigrated: 0, filesSkipped: 25 }
    expect(body).toMatchObject({
      id: 'json',
      state: 'COMPLETED',
      progress: { ...expected, filesScanned: 25, totalBytes: 40, migratedBytes: 40, migratedPercentage: 100 },
    })
    expect((await v1('DELETE', '/json')).status).toBe(200)
    if (round === 0) await v1('POST', '', input)
  }
})

test('what cannot be is refused, with the field that is wrong, and nothing is kept', async () => {
  mkdirSync(join(folder.from, 'kept'))
  await platform.call(migrations.create, { migrationId: 'kept', path: '/kept', source: 'from', target: 'to' })
  const put = (id: string, query: Record<string, string>) =>
    migrator(
      'PUT',
      `/migrations/${id}?${new URLSearchParams({ path: '/a', source: 'from', target: 'to', ...query }).toString()}`,
    )
  const cases: [string, Promise<{ status: number; body: unknown }>, number, RegExp][] = [
    ['same name', put('kept', { path: '/a' }), 409, /migration kept already exists/],
    [
      'same path',
      put('again', { path: '/kept' }),
      409,
      /migration kept already copies \/kept to to: use it, delete it with "gantry migrations delete kept", or choose another path$/,
    ],
    [
      'same path with a slash',
      put('again', { path: '/kept/' }),
      409,
      /migration kept already copies \/kept to to/,
    ],
    [
      'same path, encoded',
      put('again', { path: '/%6Bept' }),
      409,
      /migration kept already copies \/kept to to/,
    ],
    [
      'no such path',
      put('none', { path: '/none' }),
      404,
      /there is no folder \/none in from: see "gantry filesystems list-paths from \/"/,
    ],
    ['a file', put('file', { path: '/a/file 1' }), 404, /there is no folder/],
    ['no such source', put('none', { source: 'none' }), 404, /^source: there is no filesystem none: see/],
    ['no such target', put('none', { target: 'none' }), 404, /^target: there is no filesystem none: see/],
    ['a source as target', put('none', { target: 'from' }), 404, /from is a source/],
    ['a target as source', put('none', { source: 'to' }), 404, /to is a target/],
    [
      'period',
      put('period', { comparisonPeriodSeconds: '5' }),
      409,
      /comparisonPeriodSeconds is only for live/,
    ],
    ['no path', migrator('PUT', '/migrations/none?source=from&target=to'), 400, /path/],
    ['a relative path', put('none', { path: 'a' }), 400, /path/],
    [
      'parents',
      put('none', { path: '/a/../a' }),
      400,
      /path must be an absolute path that begins with \/ and contains .* no empty, \. or \.\. segments/,
    ],
    ['NUL', put('none', { path: '/a%00' }), 400, /path/],
    ['a policy', put('none', { actionPolicy: 'Delete' }), 400, /actionPolicy/],
    [
      'an unknown field',
      platform.rest('platform', 'POST', '/api/v1/migrations', {
        body: { path: '/a', source: 'from', target: 'to', recurring: true },
      }),
      400,
      /recurring/,
    ],
    ['no boolean', put('none', { autoStart: 'maybe' }), 400, /autoStart/],
    ['a name', migrator('PUT', '/migrations/a%2Fb?path=/a&source=from&target=to'), 400, /migrationId/],
  ]
  for (const [what, answer, status, message] of cases) {
    const reply = await answer
    expect(reply.status, what).toBe(status)
    expect((reply.body as { message: string }).message, what).toMatch(message)
  }
  const kept = await platform.call(migrations.list, {})
  expect(kept.map(({ migrationId }) => migrationId)).toEqual(['kept'])
  await platform.call(migrations.delete, { migrationId: 'kept' })
})

test('a list of some migrations has those that exist, in order', async () => {
  for (const migrationId of ['some c', 'some a', 'some b']) {
    mkdirSync(join(folder.from, migrationId), { recursive: true })
    await platform.call(migrations.create, {
      migrationId,
      path: `/${migrationId}`,
      source: 'from',
      target: 'to',
    })
  }
  const query = new URLSearchParams(
    ['some b', 'none', 'some a'].map((id) => ['migrationIds', id] as [string, string]),
  )
  const { status, body } = await platform.rest('platform', 'GET', `/api/v1/migrations?${query.toString()}`)
  expect(status).toBe(200)
  expect((body as { migrationId: string }[]).map(({ migrationId }) => migrationId)).toEqual([
    'some a',
    'some b',
  ])
  expect(await platform.call(migrations.list, { migrationIds: [] })).toEqual([])
  for (const migrationId of ['some a', 'some b', 'some c'])
    await platform.call(migrations.delete, { migrationId })
})

test('a migration into its own source is refused', async () => {
  mkdirSync(join(folder.whole, 'in/a'), { recursive: true })
  mkdirSync(join(folder.whole, 'a'))
  symlinkSync(join(folder.whole, 'in'), join(folder.root, 'link'))
  await addLocal(platform, 'whole', 'source', folder.whole)
  await addLocal(platform, 'within', 'source', join(folder.whole, 'in'))
  const targets = { same: folder.whole, inside: join(folder.whole, 'in'), by: join(folder.root, 'link') }
  for (const [name, root] of Object.entries(targets)) await addLocal(platform, name, 'target', root)
  const put = (source: string, target: string, path: string) =>
    migrator('PUT', `/migrations/self?${new URLSearchParams({ path, source, target }).toString()}`)
  for (const [source, target, path, relation] of [
    ['whole', 'same', '/', 'is the same folder as'],
    ['whole', 'same', '/a', 'is the same folder as'],
    ['whole', 'inside', '/', 'is inside'],
    ['whole', 'by', '/', 'is inside'],
    ['within', 'same', '/', 'contains'],
  ] as const) {
    const { status, body } = await put(source, target, path)
    expect(status, `${source} ${target}`).toBe(409)
    const problem = `must not overlap with the source: ${path} in ${target} ${relation} ${path} in ${source}`
    expect(problemsOf(body)).toEqual([{ field: 'target', problem }])
  }
  // One folder of the same disk to another: that the one does not exist yet is no reason.
  const { status } = await put('whole', 'inside', '/a')
  expect(status).toBe(201)
  await platform.call(migrations.delete, { migrationId: 'self' })
})

test('failures come in pages, each with its reason', async () => {
  const names = Array.from({ length: 12 }, (_, index) => `pipe ${index}`)
  const pipes = join(folder.from, 'pipes')
  mkdirSync(pipes)
  execFileSync(
    'mkfifo',
    names.map((name) => join(pipes, name)),
  )
  const { failures } = await migrate(platform, {
    migrationId: 'pipes',
    path: '/pipes',
    source: 'from',
    target: 'to',
  })
  expect(failures.map(({ path }) => path).toSorted()).toEqual(
    names.map((name) => `/pipes/${name}`).toSorted(),
  )
  const seen: unknown[] = []
  let after = 0
  for (let size = 5; size === 5;) {
    const { status, body } = await migrator('GET', `/migrations/pipes/failures?limit=5&after=${after}`)
    expect(status).toBe(200)
    const page = body as { failedPathCount: number; failedPaths: { id: number }[] }
    expect(page.failedPathCount).toBe(12)
    seen.push(...page.failedPaths)
    size = page.failedPaths.length
    after = page.failedPaths.at(-1)!.id
  }
  expect(seen).toEqual(failures.map((failure) => ({ ...failure, renamePath: null, excluded: false })))
  expect(seen[0]).toMatchObject({ failureClass: 'unsupported', attempts: 1, action: 'MIGRATION' })
  const later = new Date(Date.now() + 60_000).toISOString()
  expect((await migrator('GET', `/migrations/pipes/failures?since=${later}`)).body).toMatchObject({
    failedPaths: [],
  })
  const wrong = await migrator('GET', '/migrations/pipes/failures?since=yesterday')
  expect(wrong.status).toBe(400)
  expect(problemsOf(wrong.body)[0]?.field).toBe('since')
  expect((await migrator('GET', '/migrations/none/failures')).status).toBe(404)
})

test('stats: what was moved, by period; all migrations by state; one migration', async () => {
  const { body } = await migrator('GET', '/stats')
  const buckets = body as { bucketPeriod: string; migrationStats: Record<string, number> }[]
  expect(new Set(buckets.map(({ bucketPeriod }) => bucketPeriod))).toEqual(
    new Set(['SECOND', 'MINUTE', 'HOUR', 'DAY']),
  )
  const { migrationStats } = buckets.find(({ bucketPeriod }) => bucketPeriod === 'DAY')!
  const all = await platform.call(migrations.list, {})
  expect(all.map(({ migrationId }) => migrationId)).toEqual(['pipes'])
  expect(migrationStats['filesMigrated']).toBe(50)
  const summary = await migrator('GET', '/stats/migrationSummary')
  expect(summary.body).toMatchObject({
    overallCount: 1,
    ready: { count: 0, migrations: [] },
    running: { count: 0 },
    stopped: { count: 0 },
    live: { count: 0 },
    completed: { count: 1, migrations: [{ id: 'pipes', path: '/pipes', state: 'COMPLETED' }] },
  })
  const info = await migrator('GET', '/stats/migrationInfo/pipes')
  const { completed } = summary.body as { completed: { migrations: unknown[] } }
  expect(info.body).toEqual(completed.migrations[0])
  expect((await migrator('GET', '/stats/migrationInfo/none')).status).toBe(404)
})
