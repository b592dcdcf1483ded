import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openApiPath } from '../../../http-edge/documents/docs.ts'
import { type HttpServerName, httpServers } from '../../../subjects/kit/names.ts'
import { startTestPlatform, type TestPlatform } from '../../support/platform.ts'
import { rawRequest } from '../../support/http.ts'
import { addLocal, createFolder, migrate } from '../../support/migrations.ts'
import { metadataCatalogs } from '../../../subjects/metadata/catalogs.ts'
import { metadataMigrations } from '../../../subjects/metadata/migrations.ts'
import { metadataRules } from '../../../subjects/metadata/rules.ts'

interface Parameter {
  name: string
  in: 'path' | 'query'
  example?: unknown
  content?: Record<string, { example?: unknown }>
}
interface Operation {
  operationId: string
  parameters?: Parameter[]
  requestBody?: { content: Record<string, { example?: unknown }> }
}
interface Document {
  paths: Record<string, Record<string, Operation>>
}

/** What the examples are about, so that they find it. */
async function makeObjects(platform: TestPlatform, folder: string): Promise<void> {
  for (const name of ['here', 'there', 'my-target', 'lake']) {
    const path = join(folder, name)
    mkdirSync(join(path, 'data'), { recursive: true })
    await addLocal(platform, name, name === 'here' ? 'source' : 'target', path)
  }
  writeFileSync(join(folder, 'here/data/file'), 'content')
  await migrate(platform, { migrationId: 'nightly', source: 'here', target: 'there' })
  for (const catalogId of ['here', 'there', 'warehouse'])
    await platform.call(metadataCatalogs['create-filesystem'], {
      catalogId,
      fileSystemId: 'lake',
      rootFolder: `/${catalogId}`,
    })
  await platform.call(metadataRules.create, {
    ruleName: 'sales',
    databasePattern: 'sales',
    tablePattern: '*',
  })
  await platform.call(metadataMigrations.create, {
    migrationName: 'lake',
    source: 'here',
    target: 'there',
    ruleNames: ['sales'],
  })
}

const textOf = (value: unknown): string =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? JSON.stringify(value) : String(value)

/** The request that an operation's examples make. */
function requestOf(path: string, { parameters = [], requestBody }: Operation) {
  const query = new URLSearchParams()
  let filled = path
  for (const one of parameters) {
    const example = one.example ?? one.content?.['application/json']?.example
    if (one.in === 'path') filled = filled.replace(`{${one.name}}`, encodeURIComponent(textOf(example)))
    else if (example !== undefined) query.append(one.name, textOf(example))
  }
  const body = requestBody?.content['application/json']?.example
  const suffix = query.size === 0 ? '' : `?${query.toString()}`
  return { path: `${filled}${suffix}`, body: body === undefined ? undefined : JSON.stringify(body) }
}

/** Not sent: they ask a store, a catalog or a receiver of somebody else, or bring a file. Schemas alone hold their examples. */
const notSent = [
  /\/(?:adls2|s3a|hdfs|gcs)(?:\/|$)/,
  /\/metadata\/catalog(?:s|-checks)\/(?:hive|glue|iceberg-rest)(?:\/|$)/,
  /\/alert-webhooks\/\{name\}\/test$/,
]

/** What an example may be told that has the right form: it names what is not there, or what is there already. */
const otherAnswers = new Set([
  'ALREADY_EXISTS',
  'CONFLICT',
  'IN_USE',
  'NOT_ALLOWED_IN_STATE',
  'NOT_FOUND',
  'STORE_REFUSED',
  'UNAUTHENTICATED',
  'UNSUPPORTED',
])

/** Objects are looked at, then changed, then deleted. */
const order = ['get', 'post', 'put', 'patch', 'delete']

test.each(Object.keys(httpServers) as HttpServerName[])(
  'every example of the document of the %s is taken as it stands',
  async (server) => {
    await using platform = await startTestPlatform()
    using folder = createFolder<never>()
    await makeObjects(platform, folder.root)
    const { body } = await rawRequest(platform, server, { path: openApiPath })
    const { paths } = body as unknown as Document
    const operations = Object.entries(paths)
      .flatMap(([path, methods]) =>
        Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
      )
      .filter(({ path }) => !notSent.some((pattern) => pattern.test(path)))
      .toSorted((one, other) => order.indexOf(one.method) - order.indexOf(other.method))
    const wrong: string[] = []
    let done = 0
    for (const { path, method, operation } of operations) {
      const request = requestOf(path, operation)
      const { status, text, body } = await rawRequest(platform, server, {
        method: method.toUpperCase(),
        path: request.path,
        headers: {
          authorization: `Bearer ${platform.operatorToken}`,
          ...(request.body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(request.body === undefined ? {} : { body: request.body }),
      })
      if (status < 300) done += 1
      else if (!otherAnswers.has(String(body['code'])))
        wrong.push(`${method} ${request.path} ${request.body ?? ''}: ${status} ${text}`)
    }
    expect(wrong).toEqual([])
    // Most of them do what they say, on the objects that are here.
    expect(done).toBeGreaterThan(operations.length / 2)
  },
)
