import { readFileSync, statSync } from 'node:fs'
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { settings } from '../../subjects/access/settings.ts'
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
  expect(logged.text()).toContain('200 without anything that Glue answers')
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
