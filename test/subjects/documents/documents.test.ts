import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import asyncApi from '@asyncapi/specs'
import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv } from 'ajv'
import { describe, expect, test } from 'vitest'
import { Type } from 'typebox'
import { asyncApiDocument, asyncApiPart, growingAsyncApi } from '../../../subjects/documents/asyncapi.ts'
import { catalogue } from '../../../subjects/documents/catalogue.ts'
import type { Contract } from '../../../subjects/kit/contract.ts'
import { endpointContract, endpointPath } from '../../../subjects/extensions/contract.ts'
import type { Endpoint } from '../../../subjects/extensions/model.ts'
import type { IncrementalDocument } from '../../../subjects/documents/incremental-document.ts'
import { contracts, eventContracts } from '../../../subjects/index.ts'
import { openApiPath } from '../../../http-edge/documents/docs.ts'
import { servers } from '../../../http-edge/index.ts'
import { type Json, Summary } from './summary.ts'
import { growingOpenApi, openApiDocument, openApiPart } from '../../../subjects/documents/openapi.ts'

/** The golden files show a change of the API, not of the release. */
const version = '0.0.0'

const asyncDocument = asyncApiDocument(contracts, eventContracts, { version })
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the test takes apart
const whole = catalogue(contracts, eventContracts, { version }) as Json

/** Two extensions with a model of the same name that is not the same, and one of ours. */
const extensions: [prefix: string, contracts: Contract[]][] = ['weather', 'tides'].map((prefix) => {
  const Place = Type.Object({ [prefix]: Type.String() }, { title: 'Place' })
  const Error = Type.Object({ why: Type.Enum(['wind', 'water']) }, { title: 'Error' })
  const input = Type.Object({ place: Place, error: Type.Optional(Error) })
  const endpoints = ['forecast', 'history'].map((name): Endpoint => {
    const own = { name, summary: 'What is known', input: { ...input }, output: { ...Place } }
    return name === 'history' ? { ...own, method: 'GET', errors: ['NOT_FOUND', 'STORAGE_FULL'] } : own
  })
  return [prefix, endpoints.map((endpoint) => endpointContract(prefix, endpoint))]
})

/** As it is sent. */
function grown(document: IncrementalDocument, partOf: typeof openApiPart): Record<string, unknown> {
  const parts = extensions.map(([prefix, all]) => {
    const making = partOf(prefix, all)
    for (;;) {
      const { done, value } = making.next()
      if (done) return value
    }
  })
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the test takes apart
  return JSON.parse(Buffer.concat([...document.with(parts)]).toString()) as Record<string, unknown>
}

const growing = growingOpenApi(contracts, { version })
const withExtensions = {
  'openapi-platform with extensions': grown(growing, openApiPart),
  'asyncapi with extensions': grown(growingAsyncApi(contracts, eventContracts, { version }), asyncApiPart),
}

/** Of each server, what its page shows. */
const ofServers = Object.fromEntries(
  servers.map(({ name, documents }) => [`openapi-${name}`, documents[openApiPath]!({ version })]),
)
const documents: Record<string, object> = {
  ...ofServers,
  asyncapi: asyncDocument,
  catalogue: whole,
}

const summary = new Summary()

/** Of everything that a document says, in the order of the documents: the models of all come last. */
const summaries: [string, string][] = [
  ...Object.entries(ofServers).map(([name, document]): [string, string] => [name, summary.openApi(document)]),
  ['asyncapi', summary.asyncApi(asyncDocument)],
  ['catalogue', summary.catalogue(whole)],
  ['models', summary.models()],
]

test.each(summaries)('what %s says is reviewed; `npx vitest run -u` writes it anew', async (name, said) => {
  await expect(said).toMatchFileSnapshot(`../../golden/documents/${name}.txt`)
})

test('there is no golden file of what is gone', () => {
  const kept = readdirSync(join(import.meta.dirname, '../../golden/documents'))
  expect(kept.toSorted()).toEqual(summaries.map(([name]) => `${name}.txt`).toSorted())
})

describe.each(Object.entries({ ...documents, ...withExtensions }))('%s', (_, document) => {
  test('survives JSON', () => {
    expect(JSON.parse(JSON.stringify(document))).toEqual(document)
  })

  test('every reference in it leads somewhere', () => {
    const broken = referencesOf(document).filter((reference) => target(document, reference) === undefined)
    expect(broken).toEqual([])
  })

  test('no model has the name that clients for Go give to the constructor of another', () => {
    const { schemas = {} } = (document as { components?: { schemas?: object } }).components ?? {}
    const constructors = new Set(
      Object.keys(schemas).flatMap((name) => [`New${name}`, `New${name}WithDefaults`]),
    )
    expect(Object.keys(schemas).filter((name) => constructors.has(name))).toEqual([])
  })
})

test.each([...Object.keys(ofServers), 'openapi-platform with extensions'])(
  'the document %s is OpenAPI',
  async (name) => {
    const result = await new Validator().validate({ ...{ ...documents, ...withExtensions }[name] })
    expect(result.errors).toBeUndefined()
    expect(result.valid).toBe(true)
  },
)

test.each(['asyncapi', 'asyncapi with extensions'])('the document %s is AsyncAPI', (name) => {
  // The specification's schema brings the meta schema of draft 07 itself.
  const ajv = new Ajv({
    meta: false,
    validateSchema: false,
    strict: false,
    validateFormats: false,
    allErrors: true,
  })
  const schema: object = asyncApi.schemas['3.0.0']
  const validate = ajv.compile({ ...schema })
  validate({ ...documents, ...withExtensions }[name])
  expect(validate.errors ?? []).toEqual([])
})

test('without extensions the growing document is the document', () => {
  const text = Buffer.concat([...growing.with([])]).toString()
  expect(text).toBe(JSON.stringify(documents['openapi-platform']))
})

test('what extensions add is what their contracts alone would say, with models under names of their own', () => {
  const openApi = withExtensions['openapi-platform with extensions'] as {
    tags: { name: string }[]
    paths: object
    components: { schemas: Record<string, object>; responses: object }
  }
  const whole = openApiDocument([...contracts, ...extensions.flatMap(([, all]) => all)], {
    version,
  }) as typeof openApi
  expect(openApi.tags).toEqual(whole.tags)
  expect(Object.keys(openApi.paths)).toEqual(Object.keys(whole.paths))
  expect(openApi.components.responses).toEqual(whole.components.responses)
  expect(openApi.components.schemas['Error']).toEqual(whole.components.schemas['Error'])
  expect(openApi.components.schemas).toMatchObject({
    'weather.Place': { properties: { weather: { type: 'string' } } },
    'weather.Error': { properties: { why: { type: 'string', enum: ['wind', 'water'] } } },
    'tides.Place': { properties: { tides: { type: 'string' } } },
  })
  expect(openApi.paths).toMatchObject({
    [endpointPath('tides', 'forecast')]: {
      post: {
        responses: {
          200: { content: { 'application/json': { schema: { $ref: '#/components/schemas/tides.Place' } } } },
        },
      },
    },
  })
})

function referencesOf(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) =>
    key === '$ref' && typeof inner === 'string' ? [inner] : referencesOf(inner),
  )
}

/** What a JSON pointer of this document leads to. */
function target(document: object, reference: string): unknown {
  return reference
    .split('/')
    .slice(1)
    .reduce<unknown>((value, key) => (isRecord(value) ? value[key] : undefined), document)
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null
