import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { eventSubject } from '../../subjects/kit/names.ts'
import { verifications, type Verification } from '../../subjects/migrations/verifications.ts'
import { gantry } from '../cli/support.ts'
import { addLocal, createFolder, migrate } from '../support/migrations.ts'
import { createHome, startTestPlatform, type TestPlatform } from '../support/platform.ts'
import { until } from '../support/until.ts'

const folder = createFolder('from', 'to', 'large', 'largeCopy', 'pipes', 'noPipes')
let home: string
let platform: TestPlatform
beforeAll(async () => {
  mkdirSync(join(folder.from, 'a/b'), { recursive: true })
  for (let index = 0; index < 20; index++)
    writeFileSync(join(folder.from, 'a/b', `file "${index}"`), 'content')
  // To read all of it takes minutes; to make it, nothing.
  for (const side of [folder.large, folder.largeCopy]) {
    writeFileSync(join(side, 'sparse'), '')
    truncateSync(join(side, 'sparse'), 2 ** 38)
  }
  home = await createHome()
  platform = await startTestPlatform({ home })
  await addLocal(platform, 'from', 'source', folder.from)
  await addLocal(platform, 'to', 'target', folder.to)
  await addLocal(platform, 'large', 'source', folder.large)
  await addLocal(platform, 'large-copy', 'target', folder.largeCopy)
  await migrate(platform, { source: 'from', target: 'to' })
  await platform.call(migrations.create, {
    migrationId: 'long',
    path: '/',
    source: 'large',
    target: 'large-copy',
  })
})
afterAll(async () => {
  await platform[Symbol.asyncDispose]()
  rmSync(home, { recursive: true, force: true })
  folder[Symbol.dispose]()
})

const migrator = (method: string, path: string, body?: object) =>
  platform.rest('migrator', method, path, body === undefined ? {} : { body })

/** Resolves when the next verification has ended. */
async function nextEnd(): Promise<{ ended: Promise<{ verificationId: string; status: string }> }> {
  const subscription = platform.operator.subscribe(eventSubject('verifications', 'finished', '*'), { max: 1 })
  const first = (async () => {
    for await (const message of subscription)
      return message.json<{ verificationId: string; status: string }>()
    throw new Error('the connection has ended')
  })()
  await platform.operator.flush()
  return { ended: first }
}

/** What a download is: not JSON, as other replies are. */
async function download(path: string) {
  const response = await fetch(`${platform.httpUrls.migrator}${path}`)
  const bytes = Buffer.from(await response.arrayBuffer())
  const isCompressed = response.headers.get('content-type') === 'application/gzip'
  const text = (isCompressed ? gunzipSync(bytes) : bytes).toString()
  return { status: response.status, headers: response.headers, text }
}

test('the existing product’s calls: PUT, look, list, reports and their downloads, DELETE', async () => {
  rmSync(join(folder.to, 'a/b/file "3"'))
  writeFileSync(join(folder.to, 'a/b/file "4"'), 'other')
  writeFileSync(join(folder.to, 'extra'), '')
  const { ended } = await nextEnd()
  const asked = await migrator('PUT', '/verifications', {
    migrationId: 'everything',
    originalPaths: ['/a/', '/extra'],
  })
  expect(asked).toMatchObject({
    status: 200,
    body: { migrationId: 'everything', level: 'size', paths: ['/a', '/extra'] },
  })
  const { id } = asked.body as Verification
  expect(await ended).toMatchObject({ verificationId: id, status: 'COMPLETE', totalDiscrepancies: 3 })
  const { body } = await migrator('GET', `/verifications/${id}`)
  expect(body).toMatchObject({
    status: 'COMPLETE',
    filesOnSource: 20,
    directoriesOnSource: 2,
    filesOnTarget: 20,
    filesMissingOnTarget: 1,
    filesMissingOnSource: 1,
    fileSizeMismatches: 1,
    totalDiscrepancies: 3,
    rowsLeftOut: 0,
    dataExcluded: 0,
    verificationProgress: {
      matchedPathCount: 20,
      totalFailedPathCount: 3,
      targetFilesMissing: 1,
      targetDirectoriesMissing: 0,
      filesizeMismatches: 1,
    },
  })
  const native = await platform.call(verifications.get, { verificationId: id })
  expect(native).toMatchObject({ totalDiscrepancies: 3, bytesExcluded: 0 })
  expect(Object.keys(native)).not.toEqual(
    expect.arrayContaining([expect.stringMatching(/^(?:dataExcluded|verificationProgress)$/)]),
  )
  expect((await migrator('GET', '/verifications?migrationId=everything')).body).toEqual([body])
  expect(
    (await migrator('GET', '/verifications/filtered?migrationIds=other,everything&states=COMPLETE')).body,
  ).toEqual([body])
  expect((await migrator('GET', '/verifications/filtered?states=QUEUED')).body).toEqual([])

  const reports = (await migrator('GET', `/verifications/${id}/reports`)).body as {
    descriptor: { name: string; type: string }
    size: number
  }[]
  expect(reports.map(({ descriptor }) => [descriptor.type, descriptor.name])).toEqual([
    ['FULL', 'verification-full.jsonl.gz'],
    ['DISCREPANCIES_JSON', 'verification-discrepancy.jsonl.gz'],
    ['DISCREPANCIES_CSV', 'verification-discrepancy.csv.gz'],
    ['SUMMARY', 'summary.json'],
  ])
  const texts = new Map<string, string>()
  for (const { descriptor, size } of reports) {
    const { status, headers, text } = await download(
      `/verifications/reports/${id}?reportId=${descriptor.name}`,
    )
    expect(status).toBe(200)
    expect(headers.get('content-disposition')).toContain(descriptor.name)
    expect(Buffer.byteLength(text)).toBe(size)
    texts.set(descriptor.type, text)
  }
  expect(texts.get('FULL')!.trim().split('\n')).toHaveLength(23)
  expect(texts.get('DISCREPANCIES_CSV')).toContain('"MISSING_ON_TARGET","FILE","/a/b/file ""3"""')
  expect(JSON.parse(texts.get('SUMMARY')!)).toMatchObject({ id, status: 'COMPLETE', totalDiscrepancies: 3 })
  const [row] = texts.get('FULL')!.split('\n')
  expect(JSON.parse(row!)).toMatchObject({ timestamp: expect.any(Number) as number })
  const all = await download(`/verifications/reports/${id}?reportId=ALL`)
  expect(all.headers.get('content-disposition')).toContain(`${id}.tar`)
  const listed = execFileSync('tar', ['-t'], { input: all.text, encoding: 'utf8' })
  expect(listed.trim().split('\n')).toHaveLength(reports.length)
  const shown = await gantry(['verifications', 'report', id, '--report-id', 'DISCREPANCIES_JSON'], {
    env: { GANTRY_HOME: home },
  })
  expect(shown).toEqual({ code: 0, out: texts.get('DISCREPANCIES_JSON'), err: '' })
  // By the name of the migration, it is its latest.
  expect((await platform.call(verifications.get, { verificationId: 'everything' })).id).toBe(id)
  const named = ['verifications', 'report', 'everything', '--report-id', 'DISCREPANCIES_JSON']
  expect(await gantry(named, { env: { GANTRY_HOME: home } })).toEqual(shown)

  expect((await migrator('DELETE', `/verifications/${id}`)).status).toBe(200)
  expect((await migrator('GET', `/verifications/${id}`)).status).toBe(404)
  expect((await download(`/verifications/reports/${id}`)).status).toBe(404)
})

test('a report that is longer than a message arrives whole', async () => {
  mkdirSync(join(folder.to, 'many'))
  for (let index = 0; index < 4_000; index++)
    writeFileSync(join(folder.to, 'many', `ü${index}`.padEnd(120, '-')), '')
  const { ended } = await nextEnd()
  const { id } = await platform.call(verifications.create, {
    migrationId: 'everything',
    originalPaths: ['/many'],
  })
  await ended
  const { text } = await download(`/verifications/reports/${id}?reportId=DISCREPANCIES_JSON`)
  expect(text.length).toBeGreaterThan(2 ** 20)
  const paths = text
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { sourcePath: string }).sourcePath)
  expect(new Set(paths).size).toBe(4_001)
  // By a name all parts are of one verification: the first says of which.
  const named = ['verifications', 'report', 'everything', '--report-id', 'DISCREPANCIES_JSON']
  expect((await gantry(named, { env: { GANTRY_HOME: home } })).out).toBe(text)
  const byName = await fetch(
    `${platform.httpUrls.platform}/api/v1/verifications/everything/report?reportId=DISCREPANCIES_JSON`,
    { headers: { authorization: `Bearer ${platform.operatorToken}` } },
  )
  expect((await byName.text()) === text).toBe(true)
  const first = { verificationId: 'everything', reportId: 'ALL' } as const
  expect(await platform.call(verifications.report, first)).toMatchObject({ of: id })
  const part = { verificationId: 'everything', reportId: 'DISCREPANCIES_JSON', from: 1 } as const
  await expect(platform.call(verifications.report, part)).rejects.toMatchObject({ code: 'NOT_ACCEPTED' })
})

test('paths that make no sense are refused with the field', async () => {
  const refused = async (input: object) => {
    const { status, body } = await migrator('PUT', '/verifications', { migrationId: 'everything', ...input })
    return { status, message: (body as { message: string }).message }
  }
  expect(await refused({ originalPaths: ['/a', '/a/b'] })).toEqual({
    status: 409,
    message: 'input: originalPaths contains /a/b, which is inside /a; remove one of them',
  })
  expect(await refused({ originalPaths: ['/a', '/a/'] })).toMatchObject({ status: 409 })
  expect(await refused({ originalPaths: ['a'] })).toMatchObject({ status: 400 })
  expect(await refused({ verificationDepth: 0 })).toMatchObject({ status: 400 })
  expect(await refused({ migrationId: 'nobody' })).toMatchObject({ status: 404 })
})

test('two at once, the others wait; an end is at once; what was under way begins again after a restart', async () => {
  const begin = () => platform.call(verifications.create, { migrationId: 'long', level: 'digest' })
  const [first, second, third] = [await begin(), await begin(), await begin()]
  const statusOf = async ({ id }: { id: string }) =>
    (await platform.call(verifications.get, { verificationId: id })).status
  const statuses = () => Promise.all([first, second, third].map(statusOf))
  await until('two are under way', async () => (await statuses()).join() === 'IN_PROGRESS,IN_PROGRESS,QUEUED')
  expect((await migrator('DELETE', `/verifications/${first.id}`)).status).toBe(409)
  expect((await download(`/verifications/reports/${first.id}`)).status).toBe(400)
  expect((await migrator('POST', `/verifications/${first.id}/cancel`)).body).toMatchObject({
    status: 'CANCELLED',
  })
  await until('the third has its turn', async () => (await statusOf(third)) === 'IN_PROGRESS')
  expect((await migrator('POST', `/verifications/${first.id}/cancel`)).status).toBe(403)
  await platform[Symbol.asyncDispose]()
  platform = await startTestPlatform({ home })
  await until('both go on', async () => (await statuses()).join() === 'CANCELLED,IN_PROGRESS,IN_PROGRESS')
  await platform.call(verifications.cancel, { verificationId: second.id })
  expect(await statuses()).toEqual(['CANCELLED', 'CANCELLED', 'IN_PROGRESS'])

  // What is left of it goes with its migration if that is asked for, also what is under way.
  const idsOf = async (migrationId: string) =>
    (await platform.call(verifications.list, { migrationId })).map(({ id }) => id).toSorted()
  const others = await idsOf('everything')
  await platform.call(migrations.delete, { migrationId: 'everything' })
  const reply = await migrator('DELETE', '/migrations/long/withAssets')
  expect(reply).toMatchObject({
    status: 200,
    body: { verifications: { total: 3, deleted: 3 }, cleanups: { total: 0, deleted: 0, bytesDeleted: 0 } },
  })
  const { bytesDeleted } = (reply.body as { verifications: { bytesDeleted: number } }).verifications
  expect(bytesDeleted).toBeGreaterThan(0)
  expect(await idsOf('long')).toEqual([])
  expect(others.length).toBeGreaterThan(0)
  expect(await idsOf('everything')).toEqual(others)
  expect(readdirSync(join(home, 'reports')).toSorted()).toEqual(others)
})

test('what the migration could not copy is told, with where its reasons are', async () => {
  execFileSync('mkfifo', [join(folder.pipes, 'pipe')])
  await addLocal(platform, 'pipes', 'source', folder.pipes)
  await addLocal(platform, 'no-pipes', 'target', folder.noPipes)
  await migrate(platform, { migrationId: 'pipes', source: 'pipes', target: 'no-pipes' })
  const { out, err, code } = await gantry(['verifications', 'create', 'pipes', '--wait'], {
    env: { GANTRY_HOME: home },
    isTty: true,
  })
  expect(code).toBe(1)
  expect(out).toMatch(/\nfailedPaths +1\n/)
  expect(err).toContain('Next: gantry migrations failures pipes\n')
})
