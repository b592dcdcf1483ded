import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { settings } from '../../subjects/access/settings.ts'
import { filesystems } from '../../subjects/filesystems/filesystems.ts'
import { loopback } from '../../subjects/kit/names.ts'
import { metadataCatalogs } from '../../subjects/metadata/catalogs.ts'
import { listenOnLoopback } from '../support/loopback.ts'
import { freePort, startTestPlatform, type TestPlatform } from '../support/platform.ts'

let platform: TestPlatform
beforeAll(async () => {
  platform = await startTestPlatform()
})
afterAll(() => platform[Symbol.asyncDispose]())

const catalogId = 'warehouse'
const create = (options: object) =>
  platform.call(metadataCatalogs['create-hive'], { catalogId, metastoreUris: '', ...options })
const at = (port: number) => ({ metastoreUris: `thrift://127.0.0.1:${port}` })

test('a metastore on this host or in an inner network is refused, until the setting storeHosts has it', async () => {
  const port = await freePort()
  await platform.call(settings.put, { storeHosts: [] })
  await expect(create(at(port))).rejects.toMatchObject({
    code: 'NOT_ACCEPTED',
    details: [{ field: 'metastoreUris', problem: expect.stringContaining('storeHosts') }],
  })
  await expect(create({ metastoreUris: 'thrift://169.254.169.254:9083' })).rejects.toMatchObject({
    code: 'NOT_ACCEPTED',
    details: [{ field: 'metastoreUris', problem: expect.stringContaining('credentials of machines') }],
  })
  await platform.call(settings.put, { storeHosts: [loopback] })
  await expect(create(at(port))).rejects.toMatchObject({
    code: 'STORE_UNREACHABLE',
    message: expect.stringContaining(`127.0.0.1:${port}`),
  })
})

test('what is no metastore is refused with a reason, and nothing is kept', async () => {
  await platform.call(settings.put, { storeHosts: [loopback] })
  await using web = await listenOnLoopback(createHttpServer((_, response) => response.end('hello')))
  await expect(create(at(web.port))).rejects.toMatchObject({
    code: 'STORE_REFUSED',
    message: expect.stringContaining('this is no Hive metastore'),
  })
  expect(await platform.call(metadataCatalogs['check-hive'], at(web.port))).toMatchObject({
    ok: false,
    checks: [
      { check: 'reach', result: 'no', detail: expect.stringContaining('no Hive metastore') },
      { check: 'list', result: 'untried' },
      { check: 'read', result: 'untried' },
    ],
  })
  expect(await platform.call(metadataCatalogs.list, {})).toEqual([])
})

test.each([
  [{ metastoreUris: 'metastore:9083' }, 'metastoreUris', 'thrift://'],
  [{ metastoreUris: 'thrift://metastore:70000' }, 'metastoreUris', 'thrift://'],
  [{ metastoreUris: 'thrift://metastore.example', user: 'a b' }, 'user', 'letters'],
  [{ metastoreUris: 'thrift://metastore.example', caCertificate: 'x' }, 'caCertificate', 'ssl'],
])('%j is refused at %s', async (options, field, fix) => {
  await expect(create(options)).rejects.toMatchObject({
    details: [{ field, problem: expect.stringContaining(fix) }],
  })
})

test('a catalog that there is not', async () => {
  const missing = { code: 'NOT_FOUND', message: `there is no catalog ${catalogId}` }
  const { get, delete: remove, databases, tables } = metadataCatalogs
  await expect(platform.call(get, { catalogId })).rejects.toMatchObject(missing)
  await expect(platform.call(remove, { catalogId })).rejects.toMatchObject(missing)
  await expect(platform.call(databases, { catalogId })).rejects.toMatchObject(missing)
  await expect(platform.call(tables, { catalogId, database: 'default' })).rejects.toMatchObject(missing)
  expect(await platform.rest('platform', 'GET', `/api/v1/metadata/catalogs/${catalogId}`)).toMatchObject({
    status: 404,
    body: { code: 'NOT_FOUND' },
  })
})

test('a catalog of documents is in a filesystem that there is', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-documents-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const {
    'create-filesystem': createDocuments,
    'check-stored': check,
    databases,
    table,
    partitions,
    delete: forget,
  } = metadataCatalogs
  const documents = { catalogId: 'documents', fileSystemId: 'lake', rootFolder: '/metadata' }
  await expect(platform.call(createDocuments, documents)).rejects.toMatchObject({
    code: 'NOT_ACCEPTED',
    details: [{ field: 'fileSystemId', problem: expect.stringContaining('lake') }],
  })
  await platform.call(filesystems['create-local'], {
    fileSystemId: 'lake',
    role: 'source',
    fsRoot: folder,
  })
  await platform.call(createDocuments, documents)
  const { catalogId } = documents
  expect(await platform.call(databases, { catalogId })).toEqual([])
  const storage = { compressed: false, bucketCount: -1, bucketColumns: [], sortColumns: [], parameters: {} }
  const days = {
    database: 'sales',
    name: 'days',
    type: 'EXTERNAL_TABLE',
    columns: [],
    partitionKeys: [{ name: 'day', type: 'date' }],
    storage,
    parameters: {},
  }
  const put = (path: string, document: object) => {
    const file = join(folder, 'metadata', path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, JSON.stringify(document))
  }
  put('sales/database.json', { name: 'sales', parameters: {} })
  put('sales/tables/days.json', days)
  const partition = { values: ['2026-11-25'], columns: [], storage, parameters: {} }
  put('sales/tables/days.partitions/first.json', { 'day=2026-11-25': partition })
  expect(await platform.call(check, { catalogId })).toMatchObject({
    ok: true,
    checks: [{ result: 'yes' }, { result: 'yes' }, { result: 'yes', detail: 'table sales.days' }],
  })
  expect(await platform.call(table, { catalogId, database: 'sales', table: 'days' })).toEqual(days)
  expect(await platform.call(partitions, { catalogId, database: 'sales', table: 'days' })).toEqual([
    { name: 'day=2026-11-25' },
  ])
  put('sales/tables/days.json', { ...days, colums: [] })
  await expect(platform.call(table, { catalogId, database: 'sales', table: 'days' })).rejects.toMatchObject({
    code: 'STORE_REFUSED',
    message: expect.stringContaining('/metadata/sales/tables/days.json: colums'),
  })
  await platform.call(forget, { catalogId })
})

test('a catalog of Iceberg is where catalogs may be, and answers as one', async () => {
  const { 'create-iceberg-rest': createIceberg, list } = metadataCatalogs
  const add = (options: object) => platform.call(createIceberg, { catalogId, uri: '', ...options })
  await using web = await listenOnLoopback(createHttpServer((_, response) => response.end('hello')))
  const uri = `http://127.0.0.1:${web.port}`
  await platform.call(settings.put, { storeHosts: [] })
  await expect(add({ uri })).rejects.toMatchObject({
    code: 'NOT_ACCEPTED',
    details: [{ field: 'uri', problem: expect.stringContaining('storeHosts') }],
  })
  const client = { uri: 'http://catalog.example', clientId: 'mover', clientSecret: 'top-secret' }
  await expect(add({ ...client, oauth2ServerUri: `${uri}/tokens` })).rejects.toMatchObject({
    code: 'NOT_ACCEPTED',
    details: [{ field: 'oauth2ServerUri', problem: expect.stringContaining('storeHosts') }],
  })
  await platform.call(settings.put, { storeHosts: [loopback] })
  await expect(add({ uri })).rejects.toMatchObject({
    code: 'STORE_UNREACHABLE',
    message: expect.stringContaining('is no Iceberg REST endpoint'),
  })
  for (const [options, field] of [
    [{ uri: 'catalog.example' }, 'uri'],
    [{ uri: `${uri}/?a=b` }, 'uri'],
    [{ ...client, token: 'given' }, 'token'],
    [{ uri, clientId: 'mover' }, 'clientSecret'],
    [{ uri, clientSecret: 'top-secret' }, 'clientId'],
  ] as const)
    await expect(add(options)).rejects.toMatchObject({ details: [{ field }] })
  expect(await platform.call(list, {})).toEqual([])
})
