import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, vi } from 'vitest'
import { createBounds } from '../../../services/drivers/contract/bounds.ts'
import type { Catalog } from '../../../services/metadata/catalogs/contract/catalog.ts'
import { openCatalog } from '../../../services/metadata/catalogs/index.ts'
import { loopback } from '../../../subjects/kit/names.ts'
import type { Partition } from '../../../subjects/metadata/objects.ts'
import { GlueDouble } from '../../support/glue-double.ts'
import { type Moto, noMoto, startMoto } from '../../support/moto.ts'
import { testUnless } from '../../support/unless.ts'

/** What moto does not have: pages, limits of calls, functions, and failures. */
const missing = noMoto()
const never = new AbortController().signal
let moto: Moto | undefined
beforeAll(async () => {
  if (missing === undefined) moto = await startMoto()
}, 60_000)
afterAll(async () => {
  await moto?.[Symbol.asyncDispose]()
})

let double: GlueDouble
let server: Awaited<ReturnType<GlueDouble['listen']>> | undefined
let catalog: Catalog | undefined
beforeEach(async () => {
  if (missing !== undefined) return
  // All that was in moto before is gone.
  await fetch(`${moto!.endpoint}/moto-api/reset`, { method: 'POST' })
  double = new GlueDouble(moto!.endpoint)
  server = await double.listen()
  const keys = { accessKey: 'visible', secretKey: 'hidden' }
  catalog = await openCatalog({
    kind: 'glue',
    options: { glueEndpoint: server.endpoint, glueMaxRetries: 1, ...keys },
  })
})
afterEach(async () => {
  vi.unstubAllEnvs()
  catalog?.close()
  await server?.[Symbol.asyncDispose]()
})
const glueTest = (name: string, work: () => Promise<void>) => testUnless(missing, `Glue: ${name}`, work)

const storage = { compressed: false, bucketCount: -1, bucketColumns: [], sortColumns: [], parameters: {} }
const table = { database: 'lake', name: 'events' }
const partition = (value: number): Partition => ({
  values: [String(value)],
  columns: [{ name: 'id', type: 'bigint' }],
  storage: { ...storage, location: `s3://lake/events/${value}` },
  parameters: {},
})
async function addEvents(): Promise<void> {
  await catalog!.writer!.createDatabase({ name: 'lake', parameters: {} }, never)
  const made = {
    ...table,
    type: 'EXTERNAL_TABLE',
    columns: [{ name: 'id', type: 'bigint' }],
    partitionKeys: [{ name: 'day', type: 'int' }],
    storage,
    parameters: {},
  }
  await catalog!.writer!.createTable(made, never)
}

glueTest('lists come in pages, and all of them are there', async () => {
  await addEvents()
  for (const name of ['b', 'a', 'd', 'c', 'e', 'f', 'g'])
    await catalog!.writer!.createDatabase({ name, parameters: {} }, never)
  expect(await catalog!.databases(never)).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'lake'])
  expect(double.calls.filter((call) => call === 'GetDatabases')).toHaveLength(3)
  const old = await catalog!.table('lake', 'events', never)
  for (let index = 0; index < 5; index++)
    await catalog!.writer!.createTable({ ...old!, name: `table${index}` }, never)
  expect((await catalog!.tables('lake', never)).map(({ name }) => name)).toEqual([
    'events',
    ...Array.from({ length: 5 }, (_, index) => `table${index}`),
  ])
})

glueTest('partitions are listed in segments once there is more than a page, and got by 1,000', async () => {
  await addEvents()
  const all = Array.from({ length: 130 }, (_, index) => partition(index))
  await catalog!.writer!.addPartitions(table, all.slice(0, 3), never)
  expect(await catalog!.partitionNames(table, never)).toEqual(['day=0', 'day=1', 'day=2'])
  expect(double.calls.filter((call) => call === 'GetPartitions')).toHaveLength(1)
  await catalog!.writer!.addPartitions(table, all, never)
  const names = await catalog!.partitionNames(table, never)
  expect(names).toEqual(all.map(({ values }) => `day=${values[0]}`).toSorted())
  // 40 at a time are answered: the rest is asked for again.
  expect(await catalog!.partitions(table, names, never)).toHaveLength(130)
  expect(double.calls.filter((call) => call === 'BatchGetPartition')).toHaveLength(4)
  await catalog!.writer!.alterPartitions(table, all, never)
  await catalog!.writer!.dropPartitions(table, names, never)
  expect(await catalog!.partitionNames(table, never)).toEqual([])
})

glueTest('pages that lead back, and partitions that never come, end', async () => {
  await addEvents()
  const circle = (list: string) => (response: ServerResponse) =>
    response
      .writeHead(200, { 'x-amzn-requestid': '1' })
      .end(JSON.stringify({ [list]: [], NextToken: 'again' }))
  double.replace('GetDatabases', circle('DatabaseList'), 20)
  await expect(catalog!.databases(never)).rejects.toMatchObject({ failure: 'io' })
  double.answeredAtOnce = 0
  await expect(catalog!.partitions(table, ['day=1'], never)).rejects.toMatchObject({ failure: 'throttled' })
})

glueTest('an answer that is too long, or is not what Glue gives, is none', async () => {
  const none = { failure: 'unreachable', message: expect.stringMatching(/^databases of AWS Glue at /) }
  for (const body of [
    ' '.repeat(65 * 1024 * 1024),
    'no JSON',
    '{"DatabaseList":{}}',
    '{"DatabaseList":[{"Name":{"a":1}}]}',
  ]) {
    double.replace('GetDatabases', (response) =>
      response.writeHead(200, { 'x-amzn-requestid': '1', 'content-length': body.length }).end(body),
    )
    await expect(catalog!.databases(never)).rejects.toMatchObject(none)
  }
})

glueTest('functions are made, listed in pages, changed and dropped', async () => {
  await addEvents()
  const { functions } = catalog!.writer!
  const made = Array.from({ length: 7 }, (_, index) => ({
    database: 'lake',
    name: `f${index}`,
    className: 'org.example.F',
    owner: { name: 'ada', type: 'role' as const },
    resources: [
      { type: 'jar' as const, uri: 's3://lake/f.jar' },
      { type: 'archive' as const, uri: 's3://lake/f.zip' },
    ],
  }))
  for (const one of made) await functions!.create({ ...one, name: one.name.toUpperCase() }, never)
  const createdMs = 1_760_000_000_000
  expect(await catalog!.functions!.list('Lake', never)).toEqual(made.map((one) => ({ ...one, createdMs })))
  await expect(functions!.create(made[0]!, never)).rejects.toMatchObject({ failure: 'changed' })
  await functions!.alter({ ...made[0]!, className: 'org.example.G' }, never)
  await functions!.drop('lake', 'f1', never)
  await expect(functions!.drop('lake', 'f1', never)).rejects.toMatchObject({ failure: 'changed' })
  expect((await catalog!.functions!.list('lake', never)).map(({ className }) => className)).toEqual([
    'org.example.G',
    ...Array<string>(5).fill('org.example.F'),
  ])
})

for (const [name, status, failure] of [
  ['ThrottlingException', 400, 'throttled'],
  ['AccessDeniedException', 400, 'permission'],
  ['UnrecognizedClientException', 400, 'refused'],
  ['InvalidSignatureException', 400, 'refused'],
  ['InternalServiceException', 500, 'unreachable'],
  ['ResourceNumberLimitExceededException', 400, 'full'],
  ['InvalidInputException', 400, 'unsupported'],
  ['ConcurrentModificationException', 400, 'changed'],
] as const)
  glueTest(`${name} is ${failure}, with the service's words and no secret`, async () => {
    double.fail('GetDatabase', name, { status, times: 5 })
    const asked = catalog!.database('lake', never)
    await expect(asked).rejects.toMatchObject({
      failure,
      message: expect.stringMatching(new RegExp(`database lake .*${name}: as it was told`)),
    })
    await asked.catch((error: unknown) => expect(JSON.stringify(error)).not.toContain('hidden'))
  })

glueTest('what is throttled once is asked again', async () => {
  await addEvents()
  double.fail('GetTable', 'ThrottlingException')
  expect(await catalog!.table('lake', 'events', never)).toMatchObject({ name: 'events' })
})

glueTest('what is no Glue is told of in the same words, whatever it is', async () => {
  const said = new Set<string>()
  for (const [status, content] of [
    [200, '{}'],
    [302, ''],
    [404, 'nothing here'],
    [500, 'broken'],
  ] as const) {
    double.replace(
      'GetDatabases',
      (response) => response.writeHead(status, { location: 'http://127.0.0.1:1/' }).end(content),
      2,
    )
    const failed = await catalog!.probe(never).catch((error: unknown) => error as Error)
    said.add(failed?.message ?? 'nothing')
  }
  await server![Symbol.asyncDispose]()
  said.add((await catalog!.probe(never).catch((error: unknown) => error as Error))!.message)
  expect([...said]).toEqual([expect.stringContaining('127.0.0.1 is no Glue endpoint that can be reached')])
})

glueTest('credentials of the host that have ended are got anew', async () => {
  const identities = ['environment']
  const bounds = createBounds([], { roots: undefined, hosts: [loopback], hostCredentials: identities })
  const hosts = await openCatalog(
    {
      kind: 'glue',
      options: {
        glueEndpoint: server!.endpoint,
        credentialsProvider: 'EnvironmentVariableCredentialsProvider',
      },
    },
    { bounds },
  )
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'hidden')
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'first')
  await hosts.databases(never)
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'second')
  await hosts.databases(never)
  double.fail('GetDatabases', 'ExpiredTokenException')
  await hosts.databases(never)
  expect(double.signers).toEqual(['first', 'first', 'first', 'second'])
  hosts.close()
})

glueTest('the environment and the files of the host say nothing else', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-glue-'))
  const file = join(folder, 'config')
  writeFileSync(file, '[default]\nregion = nowhere-1\nendpoint_url = http://127.0.0.1:1\nmax_attempts = 1\n')
  for (const [name, value] of Object.entries({
    AWS_CONFIG_FILE: file,
    AWS_ENDPOINT_URL: 'http://127.0.0.1:1',
    AWS_ENDPOINT_URL_GLUE: 'http://127.0.0.1:1',
    AWS_REGION: 'nowhere-1',
    AWS_MAX_ATTEMPTS: '1',
    AWS_ACCESS_KEY_ID: 'of-the-host',
    AWS_SECRET_ACCESS_KEY: 'hidden',
  }))
    vi.stubEnv(name, value)
  try {
    double.fail('GetDatabases', 'ThrottlingException')
    expect(await catalog!.databases(never)).toEqual([])
    expect(double.signers).toEqual(['visible', 'visible'])
    expect(double.regions).toEqual(['us-east-1', 'us-east-1'])
  } finally {
    rmSync(folder, { recursive: true })
  }
})

glueTest('whoever gives up gets the reason', async () => {
  const controller = new AbortController()
  const reason = new Error('enough')
  double.replace('GetDatabases', () => controller.abort(reason))
  await expect(catalog!.databases(controller.signal)).rejects.toBe(reason)
})
