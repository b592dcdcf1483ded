import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { settings } from '../../subjects/access/settings.ts'
import { filesystems } from '../../subjects/filesystems/filesystems.ts'
import { loopback } from '../../subjects/kit/names.ts'
import { metadataCatalogs } from '../../subjects/metadata/catalogs.ts'
import { listenOnLoopback } from '../support/loopback.ts'
import { recordingLog } from '../support/log.ts'
import { namesBelow } from '../support/names-below.ts'
import { freePort, startTestPlatform, type TestPlatform } from '../support/platform.ts'

const logged = recordingLog()
let platform: TestPlatform
beforeAll(async () => {
  platform = await startTestPlatform({ log: logged.log })
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
    message: expect.stringContaining('this is not a Hive metastore'),
  })
  expect(await platform.call(metadataCatalogs['check-hive'], at(web.port))).toMatchObject({
    ok: false,
    checks: [
      { check: 'reach', result: 'no', detail: expect.stringContaining('not a Hive metastore') },
      { check: 'list', result: 'untried' },
      { check: 'read', result: 'untried' },
      { check: 'write', result: 'untried' },
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
    checks: [
      { result: 'yes' },
      { result: 'yes' },
      { result: 'yes', detail: 'table sales.days' },
      { check: 'write', result: 'untried' },
    ],
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

test('the filesystem with the data must be one that there is', async () => {
  const gone = { fileSystemId: 'nowhere' }
  const hive = { ...gone, metastoreUris: 'thrift://127.0.0.1:1' }
  const databricks = {
    ...gone,
    jdbcServerHostname: 'a.example',
    jdbcPort: 443,
    jdbcHttpPath: '/',
    accessToken: 'a',
  }
  const id = { catalogId: 'lake' }
  for (const asked of [
    () => platform.call(metadataCatalogs['create-hive'], { ...id, ...hive }),
    () => platform.call(metadataCatalogs['check-hive'], hive),
    () => platform.call(metadataCatalogs['create-glue'], { ...id, ...gone, awsRegion: 'eu-west-1' }),
    () => platform.call(metadataCatalogs['create-databricks'], { ...id, ...databricks }),
  ])
    await expect(asked()).rejects.toMatchObject({
      code: 'NOT_ACCEPTED',
      details: [
        { field: 'fileSystemId', problem: expect.stringContaining('there is no filesystem nowhere') },
      ],
    })
  expect(await platform.call(metadataCatalogs.list, {})).toEqual([])
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

test('the secret of a catalog is sealed, masked, and given again for another endpoint', async () => {
  await using glue = await listenOnLoopback(createHttpServer(answerAsGlueDouble))
  await platform.call(settings.put, { storeHosts: [loopback] })
  const secret = 'a-secret-that-is-nowhere-else'
  const id = { catalogId: 'lake' }
  const place = { glueEndpoint: `http://127.0.0.1:${glue.port}` }
  const keys = { accessKey: 'visible', secretKey: secret }
  const { 'create-glue': add, 'update-glue': update, get, list, 'check-stored': check } = metadataCatalogs
  const answers: unknown[] = [
    await platform.call(add, { ...id, ...place, ...keys }),
    await platform.call(get, id),
    await platform.call(list, {}),
    await platform.call(update, { ...id, glueMaxRetries: 1 }),
    // With the secret that was opened again.
    await platform.call(check, id),
  ]
  expect(answers[0]).toMatchObject({ properties: { accessKey: 'visible', secretKey: '********' } })
  expect(answers[3]).toMatchObject({ properties: { glueMaxRetries: '1', secretKey: '********' } })
  expect(answers[4]).toMatchObject({ ok: true })
  expect(signedWith).toEqual(new Set(['visible']))
  await using other = await listenOnLoopback(createHttpServer(answerAsGlueDouble))
  const moved = { ...id, glueEndpoint: `http://127.0.0.1:${other.port}` }
  await expect(platform.call(update, moved)).rejects.toMatchObject({
    code: 'NOT_ACCEPTED',
    details: [
      { field: 'secretKey', problem: expect.stringContaining('give it again with another glueEndpoint') },
    ],
  })
  await expect(platform.call(update, { ...moved, secretKey: `${secret}\n` })).rejects.toMatchObject({
    details: [{ field: 'secretKey' }],
  })
  answers.push(await platform.call(update, { ...moved, secretKey: secret }))
  expect(JSON.stringify(answers)).not.toContain(secret)
  const audit = await platform.rest('platform', 'GET', '/api/v1/audit')
  expect(JSON.stringify(audit.body)).not.toContain(secret)
  const paths = namesBelow(platform.home).map((name) => join(platform.home, name))
  const files = paths.filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true)
  expect(files.length).toBeGreaterThan(0)
  expect(files.filter((path) => readFileSync(path).includes(secret))).toEqual([])
  await platform.call(metadataCatalogs.delete, id)
})

test('whatever is at an endpoint that is no Glue, callers are told the same; the log says what', async () => {
  await platform.call(settings.put, { storeHosts: [loopback] })
  const keys = { catalogId: 'lake', accessKey: 'visible', secretKey: 'hidden' }
  const said = new Set<string>()
  await using web = await listenOnLoopback(createHttpServer((_, response) => response.end('hello')))
  for (const port of [web.port, await freePort()]) {
    const glueEndpoint = `http://127.0.0.1:${port}`
    const made = platform.call(metadataCatalogs['create-glue'], { ...keys, glueEndpoint })
    await expect(made).rejects.toMatchObject({ code: 'STORE_UNREACHABLE' })
    await made.catch((error: unknown) => said.add((error as Error).message))
  }
  expect([...said]).toEqual([expect.stringContaining('127.0.0.1 is no Glue endpoint that can be reached')])
  expect(logged.text()).toContain('200 with a reply that is not from Glue')
  expect(logged.text()).toContain('ECONNREFUSED')
  expect(logged.text()).not.toContain('hidden')
})

const signedWith = new Set<string>()

/** Stands for Glue with nothing in it. */
function answerAsGlueDouble(request: IncomingMessage, response: ServerResponse): void {
  signedWith.add(/Credential=([^/]+)\//.exec(request.headers.authorization ?? '')?.[1] ?? 'nobody')
  response.writeHead(200, { 'content-type': 'application/x-amz-json-1.1', 'x-amzn-requestid': '1' })
  response.end('{"DatabaseList":[]}')
}
