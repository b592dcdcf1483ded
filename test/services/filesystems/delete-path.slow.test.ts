import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { viewer } from '../../../services/access/roles/built-in-roles.ts'
import { audit } from '../../../subjects/access/audit.ts'
import { filesystems } from '../../../subjects/filesystems/filesystems.ts'
import { migrations } from '../../../subjects/migrations/migrations.ts'
import { rawRequest } from '../../support/http.ts'
import { addLocal, createFolder } from '../../support/migrations.ts'
import { startTestPlatform, type TestPlatform } from '../../support/platform.ts'
import { until } from '../../support/until.ts'
import { fillWithNames } from '../../support/many-files.ts'

const folder = createFolder('from', 'to', 'outside')
const at = (path: string) => join(folder.to, path)
let platform: TestPlatform
beforeAll(async () => {
  platform = await startTestPlatform()
  await addLocal(platform, 'from', 'source', folder.from)
  await addLocal(platform, 'to', 'target', folder.to)
  await addLocal(platform, 'above', 'target', folder.root)
})
afterAll(async () => {
  await platform[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})
beforeEach(() => {
  mkdirSync(at('tree/inner'), { recursive: true })
  writeFileSync(at('tree/inner/file'), '12345')
  writeFileSync(at('tree/100%'), '123')
})

const remove = (path: string, more: { recursive?: boolean; fileSystemId?: string } = {}) =>
  platform.call(filesystems['delete-path'], { fileSystemId: 'to', path, ...more })
const onSurface = (path: string, body?: object, place = 'targets/to') =>
  rawRequest(platform, 'migrator', {
    method: 'POST',
    path: `/fs/${place}/deleteByPath?path=${encodeURIComponent(path)}`,
    ...(body === undefined
      ? {}
      : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  })

test('a file goes, its name escaped as in lists; nothing beside it does', async () => {
  expect(await remove('/tree/100%25')).toEqual({ removed: 1, bytes: 3, complete: true })
  expect(readdirSync(at('tree'))).toEqual(['inner'])
  await expect(remove('/tree/100%25')).rejects.toMatchObject({ code: 'NOT_FOUND' })
})

test('a folder that is not empty goes only when that is asked for', async () => {
  await expect(remove('/tree')).rejects.toMatchObject({
    code: 'NOT_ALLOWED_IN_STATE',
    message: '/tree of to is not empty: set recursive to delete the folder with its contents',
  })
  expect(existsSync(at('tree/inner/file'))).toBe(true)
  expect(await remove('/tree', { recursive: true })).toEqual({ removed: 4, bytes: 8, complete: true })
  expect(existsSync(at('tree'))).toBe(false)
  mkdirSync(at('empty'))
  expect(await remove('/empty')).toEqual({ removed: 1, bytes: 0, complete: true })
})

test.each(['/', '/%2F'])('the root stays (%s)', async (path) => {
  await expect(remove(path, { recursive: true })).rejects.toMatchObject({
    code: expect.stringMatching(/NOT_ACCEPTED|INVALID_INPUT/) as string,
  })
  expect(existsSync(at('tree/inner/file'))).toBe(true)
})

test('links go and are not followed, neither on the way nor in a tree', async () => {
  writeFileSync(join(folder.outside, 'kept'), 'x')
  symlinkSync(folder.outside, at('tree/out'))
  symlinkSync('tree', at('way'))
  await expect(remove('/way/inner', { recursive: true })).rejects.toMatchObject({ code: 'STORE_REFUSED' })
  expect(existsSync(at('tree/inner/file'))).toBe(true)
  expect(await remove('/way', { recursive: true })).toMatchObject({ removed: 1 })
  expect(await remove('/tree', { recursive: true })).toMatchObject({ removed: 5, complete: true })
  expect(readdirSync(folder.outside)).toEqual(['kept'])
})

describe('where a migration works', () => {
  beforeAll(async () => {
    mkdirSync(join(folder.from, 'tree'))
    writeFileSync(join(folder.from, 'tree', 'new'), 'x')
    await platform.call(migrations.create, {
      migrationId: 'busy',
      path: '/tree',
      source: 'from',
      target: 'to',
      scanOnlyMigration: false,
      autoStart: true,
    })
    const state = async () => (await platform.call(migrations.get, { migrationId: 'busy' })).state === 'LIVE'
    await until('the state of the migration', state)
  })
  afterAll(async () => {
    await platform.call(migrations.delete, { migrationId: 'busy' })
  })

  test.each([
    ['at the place', '/tree', 'to'],
    ['in it', '/tree/inner', 'to'],
    ['above it, in a filesystem of another name', '/to', 'above'],
    ['at its source', '/from/tree/new', 'above'],
  ])('nothing goes %s, and the migration is named', async (_, path, fileSystemId) => {
    await expect(remove(path, { recursive: true, fileSystemId })).rejects.toMatchObject({
      code: 'IN_USE',
      message: `${path} of ${fileSystemId} is in use by migration busy: stop it first with "gantry migrations stop busy"`,
      details: { migrations: ['busy'] },
    })
    expect(existsSync(at('tree/inner/file'))).toBe(true)
    expect(existsSync(join(folder.from, 'tree/new'))).toBe(true)
  })

  test('what is beside it goes, and all once it is stopped', async () => {
    writeFileSync(at('beside'), 'x')
    expect(await remove('/beside')).toMatchObject({ removed: 1 })
    await platform.call(migrations.stop, { migrationId: 'busy' })
    const state = async () =>
      (await platform.call(migrations.get, { migrationId: 'busy' })).state === 'STOPPED'
    await until('the state of the migration', state)
    expect(await remove('/tree', { recursive: true })).toMatchObject({ complete: true })
  })
})

test('a migration that begins meanwhile ends a removal, and loses nothing of what it brings', async () => {
  const files = 20_000
  mkdirSync(at('many'))
  fillWithNames(at('many'), files)
  mkdirSync(join(folder.from, 'many'))
  for (let n = 0; n < 50; n++) writeFileSync(join(folder.from, `many/new ${n}`), 'x')
  const removing = remove('/many', { recursive: true })
  removing.catch(() => undefined)
  await until('some are gone', () => readdirSync(at('many')).length < files)
  const migrationId = 'begins-meanwhile'
  const place = { path: '/many', source: 'from', target: 'to' }
  await platform.call(migrations.create, { migrationId, ...place, autoStart: true })
  await expect(removing).rejects.toMatchObject({
    code: 'IN_USE',
    message: expect.stringContaining('begins-meanwhile, which started during the removal') as string,
  })
  await until('the end of the migration', async () => {
    const { state } = await platform.call(migrations.get, { migrationId })
    return state === 'COMPLETED'
  })
  const there = readdirSync(at('many'))
  expect(there.filter((name) => name.startsWith('new'))).toHaveLength(50)
  expect(there.length).toBeGreaterThan(50)
})

test('the surface of the migrator: true, 404 for what is not there, its own error for the rest', async () => {
  expect(await onSurface('/nothing')).toMatchObject({ status: 404, body: { errorCode: 'FILE_NOT_FOUND' } })
  expect(await onSurface('/tree')).toMatchObject({ status: 409, body: { errorCode: 'FILE_IO_ERROR' } })
  expect(await onSurface('/tree', { recursive: 'false' })).toMatchObject({ status: 409 })
  expect(await onSurface('/tree', { recursive: 'true' }, 'sources/to')).toMatchObject({ status: 404 })
  const done = await onSurface('/tree', { recursive: 'true' })
  expect(done).toMatchObject({ status: 200, body: true })
  expect(existsSync(at('tree'))).toBe(false)
  expect(await onSurface('')).toMatchObject({ status: 400 })
})

test('the audit log has who, in which filesystem, at which path, and how much is gone', async () => {
  await remove('/tree', { recursive: true })
  await expect(remove('/tree')).rejects.toMatchObject({ code: 'NOT_FOUND' })
  const { records } = await platform.call(audit.list, {
    what: filesystems['delete-path'].subject,
    limit: 2,
  })
  expect(records).toMatchObject([
    { object: 'to', path: '/tree', result: 'NOT_FOUND' },
    { object: 'to', path: '/tree', result: 'ok', removed: 4 },
  ])
  expect(records.every(({ user }) => user !== undefined)).toBe(true)
})

test('who may only look may not remove', () => {
  expect(viewer.pub.allow).toContain(filesystems['list-paths'].subject)
  expect(viewer.pub.allow).not.toContain(filesystems['delete-path'].subject)
})
