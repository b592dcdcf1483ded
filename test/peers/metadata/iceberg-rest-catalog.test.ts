import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer as createTlsServer } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished } from 'vitest'
import { openCatalog } from '../../../services/metadata/catalogs/index.ts'
import type { Catalog } from '../../../services/metadata/catalogs/contract/catalog.ts'
import { answer } from '../../../services/metadata/catalogs/questions.ts'
import type { CatalogOptions } from '../../../subjects/metadata/kinds.ts'
import type { Database, Table } from '../../../subjects/metadata/objects.ts'
import { makeCertificates } from '../../support/certificates.ts'
import {
  type IcebergRelease,
  icebergReleases,
  type IcebergServer,
  icebergTest,
  noIceberg,
  startIceberg,
} from '../../support/iceberg-rest.ts'
import { listenOnLoopback } from '../../support/loopback.ts'

const never = new AbortController().signal

const fields = [
  { id: 1, name: 'id', required: true, type: 'long', doc: 'Which one' },
  { id: 2, name: 'amount', required: false, type: 'decimal(10, 2)' },
  { id: 3, name: 'at', required: false, type: 'timestamptz' },
  { id: 4, name: 'key', required: false, type: 'fixed[16]' },
  {
    id: 5,
    name: 'tags',
    required: false,
    type: {
      type: 'map',
      'key-id': 6,
      key: 'string',
      'value-id': 7,
      'value-required': false,
      value: {
        type: 'list',
        'element-id': 8,
        'element-required': false,
        element: {
          type: 'struct',
          fields: [{ id: 9, name: 'a', required: false, type: 'uuid' }],
        },
      },
    },
  },
]
const schema = { type: 'struct', 'schema-id': 0, fields }

for (const release of Object.keys(icebergReleases) as IcebergRelease[])
  describe(`a catalog of Iceberg ${release}`, () => {
    const theTest = (name: string, work: () => Promise<void>) => icebergTest(release, name, work)
    let server: IcebergServer
    let catalog: Catalog
    if (noIceberg(release) === undefined) {
      beforeAll(async () => {
        server = await startIceberg(release)
        catalog = await openCatalog({ kind: 'iceberg-rest', options: { uri: server.uri } })
      })
      afterAll(async () => {
        catalog?.close()
        await server?.[Symbol.asyncDispose]()
      })
    }
    const writer = () => catalog.writer!
    const database = (name: string): Database => ({
      name,
      description: `What ${name} is`,
      owner: { name: 'ada' },
      parameters: { a: '1' },
    })
    /** A table of the server's own, and where its metadata are. */
    const make = async (namespace: string, name: string) => {
      const asked = { name, schema, properties: { comment: 'All of them' } }
      const made = await server.ask('POST', `namespaces/${namespace}/tables`, asked)
      return String(made['metadata-location'])
    }

    theTest('databases with levels and dots are made, changed, listed and dropped', async () => {
      await catalog.probe(never)
      const names = ['sales', 'sales.eu', 'sales.eu.north', 'other', 'Größe']
      for (const name of names) await writer().createDatabase(database(name), never)
      await expect(writer().createDatabase(database('sales'), never)).rejects.toMatchObject({
        failure: 'changed',
      })
      expect(await catalog.databases(never)).toEqual([
        'Größe',
        'other',
        'sales',
        'sales.eu',
        'sales.eu.north',
      ])
      for (const name of names) expect(await catalog.database(name, never)).toMatchObject(database(name))
      expect(await catalog.database('none', never)).toBeUndefined()
      await writer().alterDatabase({ name: 'other', parameters: { b: '2' } }, never)
      const altered = await catalog.database('other', never)
      expect(altered?.parameters).toEqual({ b: '2' })
      expect(altered?.description).toBeUndefined()
      for (const name of names.toReversed()) await writer().dropDatabase(name, never)
      expect(await catalog.databases(never)).toEqual([])
      await expect(writer().dropDatabase('sales', never)).rejects.toMatchObject({ failure: 'changed' })
      await expect(writer().alterDatabase(database('sales'), never)).rejects.toMatchObject({
        failure: 'changed',
      })
    })

    theTest('a table is read in Hive’s words', async () => {
      await writer().createDatabase(database('read'), never)
      const at = await make('read', 'orders')
      expect(await catalog.tables('read', never)).toEqual([{ name: 'orders', type: 'EXTERNAL_TABLE' }])
      await expect(catalog.tables('none', never)).rejects.toMatchObject({ failure: 'gone' })
      const table = await catalog.table('read', 'orders', never)
      expect(table).toMatchObject({
        database: 'read',
        name: 'orders',
        type: 'EXTERNAL_TABLE',
        columns: [
          { name: 'id', type: 'bigint', comment: 'Which one' },
          { name: 'amount', type: 'decimal(10,2)' },
          { name: 'at', type: 'timestamp with local time zone' },
          { name: 'key', type: 'binary' },
          { name: 'tags', type: 'map<string,array<struct<a:string>>>' },
        ],
        partitionKeys: [],
        storage: { location: at.replace(/\/metadata\/.*/, '') },
        parameters: {
          table_type: 'ICEBERG',
          metadata_location: at,
          comment: 'All of them',
          EXTERNAL: 'TRUE',
        },
      })
      expect(writer().refuses(table!)).toBeUndefined()
      expect(await catalog.table('read', 'none', never)).toBeUndefined()
      expect(await catalog.partitionNames({ database: 'read', name: 'orders' }, never)).toEqual([])
      await expect(catalog.partitionNames({ database: 'read', name: 'none' }, never)).rejects.toMatchObject({
        failure: 'gone',
      })
    })

    theTest(
      'a table is registered, registered anew where its metadata have moved on, and dropped',
      async () => {
        await writer().createDatabase(database('written'), never)
        const first = await make('written', 'orders')
        const table = (await catalog.table('written', 'orders', never))!
        // Another commit: the catalog's own, of which the metadata are a file beside the first.
        const commit = { requirements: [], updates: [{ action: 'set-properties', updates: { step: '2' } }] }
        const committed = await server.ask('POST', 'namespaces/written/tables/orders', commit)
        const second = String(committed['metadata-location'])
        expect(second).not.toBe(first)
        const its = { database: 'written', name: 'orders' }
        const at = (location: string): Table => ({
          ...table,
          parameters: { ...table.parameters, metadata_location: location },
        })
        await expect(writer().createTable(at(first), never)).rejects.toMatchObject({ failure: 'changed' })
        await writer().dropTable(its, never)
        expect(await catalog.table('written', 'orders', never)).toBeUndefined()
        await expect(writer().dropTable(its, never)).rejects.toMatchObject({ failure: 'changed' })
        await expect(writer().alterTable(at(first), never)).rejects.toMatchObject({ failure: 'changed' })
        await writer().createTable(at(first), never)
        const locationNow = async () =>
          (await catalog.table('written', 'orders', never))?.parameters['metadata_location']
        expect(await locationNow()).toBe(first)
        await writer().alterTable(at(first), never)
        expect(await locationNow()).toBe(first)
        await writer().alterTable(at(second), never)
        expect(await locationNow()).toBe(second)
        expect((await catalog.table('written', 'orders', never))?.parameters['step']).toBe('2')
        // Metadata that are not there: it is as it was.
        await expect(writer().alterTable(at(`${second}.none`), never)).rejects.toThrow('orders')
        expect(await locationNow()).toBe(second)
        await expect(writer().dropDatabase('written', never)).rejects.toMatchObject({ failure: 'changed' })
        // Data and metadata have stayed.
        await writer().dropTable(its, never)
        const folder = join(table.storage.location!.replace(/^file:/, ''), 'metadata')
        expect(readdirSync(folder).filter((file) => /^\d.*\.json$/.test(file))).toHaveLength(2)
      },
    )

    theTest('over a table of a catalog that can, another is registered in one step', async () => {
      await writer().createDatabase(database('over'), never)
      const first = await make('over', 'orders')
      const second = await make('over', 'others')
      const calls: string[] = []
      await using front = await listenOnLoopback(
        createServer((request: IncomingMessage, response: ServerResponse) => {
          calls.push(`${request.method} ${request.url?.replace(/\?.*/, '')}`)
          void passOn(server.uri, request, response, overwriteDouble)
        }),
      )
      const options = { uri: `http://127.0.0.1:${front.port}` }
      const opened = await openCatalog({ kind: 'iceberg-rest', options })
      const table = (await opened.table('over', 'orders', never))!
      expect(table.parameters['metadata_location']).toBe(first)
      await opened.writer!.alterTable(
        { ...table, parameters: { ...table.parameters, metadata_location: second } },
        never,
      )
      expect((await opened.table('over', 'orders', never))?.parameters['metadata_location']).toBe(second)
      expect(calls.filter((one) => !one.startsWith('GET'))).toEqual(['POST /v1/namespaces/over/register'])
      opened.close()
    })

    theTest('views are shown', async () => {
      await writer().createDatabase(database('views'), never)
      await server.ask('POST', 'namespaces/views/views', {
        name: 'small',
        schema,
        properties: {},
        'view-version': {
          'version-id': 1,
          'timestamp-ms': 1_700_000_000_000,
          'schema-id': 0,
          summary: {},
          'default-namespace': ['views'],
          representations: [{ type: 'sql', sql: 'SELECT 1 AS id', dialect: 'spark' }],
        },
      })
      expect(await catalog.tables('views', never)).toEqual([{ name: 'small', type: 'VIRTUAL_VIEW' }])
      const view = await catalog.table('views', 'small', never)
      expect(view).toMatchObject({ type: 'VIRTUAL_VIEW', view: { originalText: 'SELECT 1 AS id' } })
      expect(writer().refuses(view!)).toContain('view')
      await writer().dropTable({ database: 'views', name: 'small' }, never)
      expect(await catalog.tables('views', never)).toEqual([])
    })

    theTest('what is no Iceberg table is refused, and so are partitions', async () => {
      const table = (await catalog.table('read', 'orders', never))!
      const { table_type: _, ...others } = table.parameters
      expect(writer().refuses({ ...table, parameters: others })).toContain('table_type')
      const { metadata_location: __, ...without } = table.parameters
      expect(writer().refuses({ ...table, parameters: without })).toContain('metadata_location')
      await expect(
        writer().createTable({ ...table, name: 'text', parameters: others }, never),
      ).rejects.toMatchObject({ failure: 'unsupported' })
      const partition = { values: ['1'], columns: [], storage: table.storage, parameters: {} }
      await expect(writer().addPartitions(table, [partition], never)).rejects.toMatchObject({
        failure: 'unsupported',
      })
      await writer().dropPartitions(table, ['day=1'], never)
    })

    theTest('it is checked line by line', async () => {
      const spec = { kind: 'iceberg-rest', options: { uri: server.uri } } as const
      expect(await answer({ kind: 'check', spec })).toMatchObject({
        checks: [
          { check: 'reach', result: 'yes' },
          { check: 'list', result: 'yes' },
          { check: 'read', result: 'yes', detail: expect.stringMatching(/^table \w+\.orders$/) },
          { check: 'write', result: 'untried' },
        ],
      })
    })

    theTest('a token is got for id and secret, and comes with each question', async () => {
      const seen: string[] = []
      await using front = await listenOnLoopback(
        createServer((request: IncomingMessage, response: ServerResponse) => {
          seen.push(`${request.url} ${request.headers.authorization ?? 'nobody'}`)
          void passOn(server.uri, request, response)
        }),
      )
      const uri = `http://127.0.0.1:${front.port}`
      const opened = async (options: Partial<CatalogOptions<'iceberg-rest'>>) =>
        openCatalog({ kind: 'iceberg-rest', options: { uri, ...options } })
      const byClient = await opened({ clientId: 'mover', clientSecret: 'top-secret', warehouse: 'lake' })
      expect(await byClient.databases(never)).toContain('read')
      byClient.close()
      expect(seen[0]).toBe('/v1/oauth/tokens nobody')
      expect(seen[1]).toMatch(/^\/v1\/config\?warehouse=lake Bearer client-credentials-token:sub=mover$/)
      for (const line of seen.slice(1)) expect(line).toContain(' Bearer ')
      seen.length = 0
      const byToken = await opened({ token: 'given' })
      await byToken.probe(never)
      byToken.close()
      expect(seen).toEqual(['/v1/config Bearer given'])
    })

    theTest('over TLS, with an authority that is given', async () => {
      const folder = mkdtempSync(join(tmpdir(), 'gantry-iceberg-tls-'))
      onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
      const { ca, certificate, key } = makeCertificates(folder)
      const files = { cert: readFileSync(certificate), key: readFileSync(key) }
      await using front = await listenOnLoopback(
        createTlsServer(files, (request, response) => void passOn(server.uri, request, response)),
      )
      const options = { uri: `https://127.0.0.1:${front.port}`, clientId: 'mover', clientSecret: 'secret' }
      const trusted = await openCatalog({
        kind: 'iceberg-rest',
        options: { ...options, caCertificate: readFileSync(ca, 'utf8') },
      })
      await trusted.probe(never)
      trusted.close()
      const untrusted = await openCatalog({ kind: 'iceberg-rest', options })
      await expect(untrusted.probe(never)).rejects.toMatchObject({ failure: 'unreachable' })
      untrusted.close()
    })
  })

/** Registers a table over another: the catalogs that can be had here do not, so the other one is dropped first. */
async function overwriteDouble(
  uri: string,
  { method, url = '' }: IncomingMessage,
  body: Buffer,
): Promise<void> {
  if (method !== 'POST' || !url.endsWith('/register')) return
  const { name, overwrite } = JSON.parse(body.toString()) as { name: string; overwrite?: boolean }
  if (overwrite === true)
    await fetch(`${uri}${url.replace('/register', `/tables/${name}`)}?purgeRequested=false`, {
      method: 'DELETE',
    })
}

/** Passes a request on to a catalog. */
async function passOn(
  uri: string,
  request: IncomingMessage,
  response: ServerResponse,
  before: typeof overwriteDouble = async () => undefined,
): Promise<void> {
  const body = Buffer.concat(await Array.fromAsync(request as AsyncIterable<Buffer>))
  await before(uri, request, body)
  // The catalogs that can be had here refuse it on any name.
  const passedBody = body.toString().replace(',"overwrite":true', '')
  const passed = await fetch(uri + request.url, {
    method: request.method!,
    headers: { 'content-type': request.headers['content-type'] ?? 'application/json' },
    ...(body.length > 0 && { body: passedBody }),
  })
  response.writeHead(passed.status, { 'content-type': 'application/json' })
  response.end(Buffer.from(await passed.arrayBuffer()))
}
