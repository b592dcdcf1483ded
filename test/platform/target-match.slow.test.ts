import { existsSync, mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { gantry } from '../cli/support.ts'
import { addLocal, createFolder, nextEvent } from '../support/migrations.ts'
import { startTestPlatform, type TestPlatform } from '../support/platform.ts'

const folder = createFolder('from', 'to')
let platform: TestPlatform
beforeAll(async () => {
  for (const side of [folder.from, folder.to]) mkdirSync(join(side, 'data'))
  for (let index = 0; index < 8; index++) writeFileSync(join(folder.from, 'data', `file${index}`), 'x')
  platform = await startTestPlatform()
  await addLocal(platform, 'from', 'source', folder.from)
  await addLocal(platform, 'to', 'target', folder.to)
})
afterAll(async () => {
  await platform[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})

const migrationId = 'matched'
const extra = (count: number) => {
  for (let index = 0; index < count; index++) writeFileSync(join(folder.to, 'data', `extra${index}`), 'old')
}
const get = () => platform.call(migrations.get, { migrationId })

test('a migration plans, holds more deletions than it may make, makes them when they are approved, and keeps them', async () => {
  extra(4)
  const stopped = await nextEvent(platform, 'stopped', migrationId)
  const input = { migrationId, path: '/data', source: 'from', target: 'to', targetMatch: true, trash: true }
  await platform.call(migrations.create, input)
  const planned = await gantry(['migrations', 'plan', migrationId, '--json'], {
    env: { GANTRY_HOME: platform.home },
  })
  expect(JSON.parse(planned.out)).toMatchObject({
    status: 'COMPLETE',
    filesToCopy: 8,
    filesToDelete: 4,
    deletionsNeedApproval: true,
  })
  expect(readdirSync(join(folder.to, 'data'))).toHaveLength(4)

  await platform.call(migrations.start, { migrationId })
  await stopped.payload
  const held = await get()
  expect(held).toMatchObject({
    state: 'STOPPED',
    resumable: true,
    abortReason: 'AUTO_ABORTED',
    stateText: expect.stringContaining('stopped before deleting 4 files at the target'),
    // Of twelve files and the folder.
    deletions: { isHeld: true, files: 4, folders: 0, bytes: 12, percent: (100 * 4) / 13 },
    conditions: [{ reason: 'WAITS_FOR_APPROVAL', message: expect.stringContaining('such as /data/extra') }],
  })
  const extras = Array.from({ length: 4 }, (_, index) => `/data/extra${index}`)
  expect(held.deletions?.samples?.toSorted()).toEqual(extras)
  expect(readdirSync(join(folder.to, 'data'))).toHaveLength(12)

  // More than were approved of are not made.
  const again = await nextEvent(platform, 'stopped', migrationId)
  extra(5)
  await platform.call(migrations['approve-deletions'], { migrationId })
  await again.payload
  expect((await get()).deletions).toMatchObject({ isHeld: true, files: 5 })

  const completed = await nextEvent(platform, 'completed', migrationId)
  const approved = await platform.rest('migrator', 'POST', `/migrations/${migrationId}/approveDeletions`)
  expect(approved.status).toBe(200)
  await completed.payload
  expect(await get()).toMatchObject({
    state: 'COMPLETED',
    deletions: { isHeld: false, files: 5, folders: 0, bytes: 15 },
  })
  expect(readdirSync(join(folder.to, 'data'))).toHaveLength(8)
  const [scan] = readdirSync(join(folder.to, '.gantry-trash'))
  expect(readdirSync(join(folder.to, '.gantry-trash', scan!, 'data'))).toHaveLength(5)

  const refused = await platform.rest('migrator', 'POST', `/migrations/${migrationId}/approveDeletions`)
  expect(refused).toMatchObject({
    status: 403,
    body: { message: `no deletions of ${migrationId} wait for approval` },
  })
})

test('few deletions are made at once, by the numbers that the migration was given; times of folders stay those of the source', async () => {
  await platform.call(migrations.delete, { migrationId })
  extra(3)
  utimesSync(join(folder.from, 'data'), 1e9, 1e9)
  const completed = await nextEvent(platform, 'completed', migrationId)
  const query =
    'path=/data&source=from&target=to&autoStart=true&targetMatch=true&maxDeletions=3&maxDeletionPercent=50'
  expect((await platform.rest('migrator', 'PUT', `/migrations/${migrationId}?${query}`)).status).toBe(201)
  await completed.payload
  expect((await get()).deletions).toMatchObject({ isHeld: false, files: 3 })
  expect(statSync(join(folder.to, 'data')).mtimeMs).toBe(1e12)
  expect(existsSync(join(folder.to, 'data/extra0'))).toBe(false)
})

test('a migration deletes nothing that another one brings to the same place', async () => {
  using elsewhere = createFolder('data')
  mkdirSync(join(elsewhere.data, 'data'))
  await addLocal(platform, 'elsewhere', 'source', elsewhere.data)
  await addLocal(platform, 'inside', 'target', join(folder.to, 'data'))
  const put = async (id: string, query: string) => {
    const { status, body } = await platform.rest('migrator', 'PUT', `/migrations/${id}?${query}`)
    return { status, message: (body as { message?: string }).message }
  }
  const refused = {
    status: 409,
    message:
      'input: target must not overlap with that of matched, which deletes files that its own source does not have; choose another target folder, use the source of matched, or delete matched first',
  }
  expect(await put('second', 'path=/data&source=elsewhere&target=to')).toEqual(refused)
  expect(await put('second', 'path=/&source=elsewhere&target=inside')).toEqual(refused)
  await platform.call(migrations.delete, { migrationId })
  expect(await put('second', 'path=/data&source=elsewhere&target=to')).toMatchObject({ status: 201 })
  expect(await put(migrationId, 'path=/data&source=from&target=to&targetMatch=true')).toEqual({
    status: 409,
    message:
      'input: targetMatch would delete the files that second copies to the same folder; choose another target folder, or delete second first',
  })
  const live = 'path=/data&source=from&target=to&scanOnlyMigration=false'
  expect(await put('live', live)).toEqual({
    status: 409,
    message:
      'input: target must not overlap with that of second: a live migration deletes files that its own source does not have; choose another target folder, use the source of second, or delete second first',
  })
  await platform.call(migrations.delete, { migrationId: 'second' })
  expect(await put('live', live)).toMatchObject({ status: 201 })
  expect(await put('second', 'path=/data&source=elsewhere&target=to')).toEqual({
    status: 409,
    message: refused.message.replaceAll(migrationId, 'live'),
  })
  await platform.call(migrations.delete, { migrationId: 'live' })
  // Of one source, both are sure to have it.
  expect(await put('whole', 'path=/&source=from&target=to')).toMatchObject({ status: 201 })
  expect(await put(migrationId, 'path=/data&source=from&target=to&targetMatch=true')).toMatchObject({
    status: 201,
  })
})

test('a scan of one folder matches it once, and nothing beside it', async () => {
  const { migrationId: whole } = await platform.call(migrations.get, { migrationId: 'whole' })
  await platform.call(migrations.delete, { migrationId })
  const scanned = await nextEvent(platform, 'completed', whole)
  await platform.call(migrations.start, { migrationId: whole })
  await scanned.payload
  extra(1)
  writeFileSync(join(folder.to, 'beside'), 'stays')
  const matched = await nextEvent(platform, 'completed', whole)
  const query = 'path=/data&targetMatch=true'
  expect(
    (await platform.rest('migrator', 'POST', `/migrations/${whole}/addPendingRegion?${query}`)).status,
  ).toBe(200)
  await matched.payload
  expect(await platform.call(migrations.get, { migrationId: whole })).toMatchObject({
    targetMatch: false,
    deletions: { isHeld: false, files: 1 },
  })
  expect(existsSync(join(folder.to, 'data/extra0'))).toBe(false)
  expect(existsSync(join(folder.to, 'beside'))).toBe(true)
})

test('settings without a match, or without a place for the trash, are refused with the field', async () => {
  const put = async (query: string) => {
    const { status, body } = await platform.rest(
      'migrator',
      'PUT',
      `/migrations/other?path=/data&source=from&target=to&${query}`,
    )
    return { status, message: (body as { message: string }).message }
  }
  expect(await put('maxDeletions=3')).toEqual({
    status: 409,
    message: 'input: maxDeletions is only for targetMatch=true or live migrations',
  })
  expect(await put('targetMatch=true&maxDeletionPercent=101')).toMatchObject({ status: 400 })
  expect((await platform.rest('migrator', 'GET', '/migrations/whole/plan?planId=none')).status).toBe(404)
})

test('of migrations that are asked for at the same moment, and may not be beside each other, one is made', async () => {
  using folders = createFolder('one', 'two', 'both')
  await addLocal(platform, 'one', 'source', folders.one)
  await addLocal(platform, 'two', 'source', folders.two)
  await addLocal(platform, 'both', 'target', folders.both)
  const put = async (id: string, query: string) =>
    (await platform.rest('migrator', 'PUT', `/migrations/${id}?path=/&target=both&${query}`)).status
  for (let round = 0; round < 5; round++) {
    const ids = [`live-${round}`, `same-${round}`, `other-${round}`] as const
    const statuses = await Promise.all([
      put(ids[0], 'source=one&scanOnlyMigration=false'),
      put(ids[1], 'source=one'),
      put(ids[2], 'source=two'),
    ])
    const made = ids.filter((_, index) => statuses[index] === 201)
    expect([made.length, statuses.includes(500)], statuses.join(' ')).toEqual([1, false])
    await platform.call(migrations.delete, { migrationId: made[0]! })
  }
  // One that is refused itself stands in nobody's way.
  const asked = { source: 'one', target: 'both', path: '/' }
  const [refused, made] = await Promise.allSettled([
    platform.call(migrations.create, { ...asked, migrationId: 'refused', exclusions: ['no such rule'] }),
    platform.call(migrations.create, { ...asked, migrationId: 'made' }),
  ])
  expect(refused).toMatchObject({ status: 'rejected', reason: { message: /no such rule/ } })
  expect(made).toMatchObject({ status: 'fulfilled', value: { migrationId: 'made' } })
})
