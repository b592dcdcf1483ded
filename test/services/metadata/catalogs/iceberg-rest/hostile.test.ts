import { createServer } from 'node:http'
import { expect, test } from 'vitest'
import { IcebergCatalog } from '../../../../../services/metadata/catalogs/iceberg-rest/iceberg.ts'
import { sendableError } from '../../../../../services/drivers/contract/sent-error.ts'
import { listenOnLoopback } from '../../../../support/loopback.ts'

/** What a catalog of Iceberg answers that wishes nobody well. Whatever comes has to be plain data, or an error of the catalog. */
const never = new AbortController().signal

type Answer = { readonly status?: number; readonly location?: string; readonly body: unknown }

/** @param answers by the path behind `/v1/`; a configuration with nothing in it where there is none */
async function icebergDouble(answers: Readonly<Record<string, Answer>>) {
  const asked: string[] = []
  const server = createServer((request, response) => {
    const path = (request.url ?? '').split('?')[0]!.replace('/v1/', '')
    asked.push(`${request.method} ${path}`)
    const answer = new Map(Object.entries(answers)).get(path)
    const {
      status = answer === undefined && path !== 'config' ? 404 : 200,
      location,
      body,
    } = answer ?? { body: {} }
    response.writeHead(status, {
      'content-type': 'application/json',
      ...(location !== undefined && { location }),
    })
    response.end(JSON.stringify(body))
  })
  const listening = await listenOnLoopback(server)
  const catalog = new IcebergCatalog({ uri: `http://127.0.0.1:${listening.port}` })
  return {
    asked,
    catalog,
    [Symbol.asyncDispose]: async () => {
      catalog.close()
      await listening[Symbol.asyncDispose]()
    },
  }
}

const loaded = (fields: unknown) => ({
  'metadata-location': 's3://lake/t/metadata.json',
  metadata: { 'current-schema-id': 0, schemas: [{ 'schema-id': 0, fields }] },
})
/** It cannot be made a text of. */
const noText = { toString: 1 }

test('an error that is called as something of JavaScript crosses between threads', async () => {
  const body = { error: { type: 'constructor', message: 'no', code: 400 } }
  await using double = await icebergDouble({ 'namespaces/a': { status: 400, body } })
  const failure = await double.catalog.database('a', never).catch((error: unknown) => error)
  expect(structuredClone(sendableError(failure))).toMatchObject({ failure: 'unsupported' })
})

test.each([
  [[{ name: 'id', type: 'constructor' }], 'constructor'],
  [[{ name: 'id', type: 'hasOwnProperty' }], 'hasOwnProperty'],
])('a type that is called as something of JavaScript is a text', async (fields, type) => {
  await using double = await icebergDouble({ 'namespaces/a/tables/t': { body: loaded(fields) } })
  const table = await double.catalog.table('a', 't', never)
  expect(table?.columns).toEqual([{ name: 'id', type }])
})

test.each([
  ['a column without a name', [{ type: 'int' }]],
  ['a name that is no text', [{ name: noText, type: 'int' }]],
  ['a field that is nothing', [{ name: 'a', type: { type: 'struct', fields: [null] } }]],
  [
    'a field whose name is no text',
    [{ name: 'a', type: { type: 'struct', fields: [{ name: noText, type: 'int' }] } }],
  ],
])('a table with %s is refused', async (_, fields) => {
  await using double = await icebergDouble({ 'namespaces/a/tables/t': { body: loaded(fields) } })
  await expect(double.catalog.table('a', 't', never)).rejects.toMatchObject({ failure: 'unsupported' })
})

test.each([
  ['namespaces', { namespaces: [[noText]] }, 'databases'],
  ['namespaces/a/tables', { identifiers: [{ name: noText }] }, 'tables'],
  ['namespaces/a/tables', { identifiers: [{}] }, 'tables'],
] as const)('names of %s that are no texts are refused: %j', async (path, body, question) => {
  await using double = await icebergDouble({ [path]: { body } })
  const { catalog } = double
  const asked = question === 'databases' ? catalog.databases(never) : catalog.tables('a', never)
  await expect(asked).rejects.toMatchObject({ failure: 'unsupported' })
})

test.each([
  { overrides: null, defaults: null },
  { overrides: 'x', defaults: [1] },
])('a configuration of %j is one with nothing in it', async (body) => {
  await using double = await icebergDouble({ config: { body }, namespaces: { body: { namespaces: [] } } })
  expect(await double.catalog.databases(never)).toEqual([])
})

test.each(['.', '..', ''])('no name leads to another path of the catalog: "%s"', async (name) => {
  await using double = await icebergDouble({})
  const { catalog } = double
  const refused = { failure: 'unsupported', message: expect.stringContaining('as a name') }
  await expect(catalog.table('a', name, never)).rejects.toMatchObject(refused)
  await expect(
    catalog.database(name === '.' ? '%2E' : name === '..' ? '%2E%2E' : '', never),
  ).rejects.toMatchObject(refused)
  await expect(catalog.writer.dropTable({ database: 'a', name }, never)).rejects.toMatchObject(refused)
  expect(double.asked.filter((one) => !one.endsWith('config'))).toEqual([])
})

test('nobody is led elsewhere', async () => {
  await using other = await icebergDouble({})
  const location = `http://127.0.0.1:${other.catalog.place.split(':').at(-1)}/v1/namespaces`
  await using double = await icebergDouble({ namespaces: { status: 307, location, body: {} } })
  await expect(double.catalog.databases(never)).rejects.toMatchObject({ failure: expect.any(String) })
  expect(other.asked).toEqual([])
})
