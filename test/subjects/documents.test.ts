import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import asyncApi from '@asyncapi/specs'
import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv } from 'ajv'
import { describe, expect, test } from 'vitest'
import { asyncApiDocument } from '../../subjects/asyncapi.ts'
import { catalogue } from '../../subjects/catalogue.ts'
import { contracts, eventContracts } from '../../subjects/index.ts'
import { type HttpServerName, httpServers } from '../../subjects/names.ts'
import { openApiDocument } from '../../subjects/openapi.ts'

/** The golden files show a change of the API, not of the release. */
const version = '0.0.0'
const servers: HttpServerName[] = ['platform', 'migrator']

const asyncDocument = asyncApiDocument(contracts, eventContracts, { version })
interface Part {
  readonly resource: string
}
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the test takes apart
const whole = catalogue(contracts, eventContracts, { version }) as { contracts: Part[]; events: Part[] }
const documents: Record<string, object> = {
  ...Object.fromEntries(
    servers.map((server) => [`openapi-${server}`, openApiDocument(server, contracts, { version })]),
  ),
  asyncapi: asyncDocument,
  catalogue: whole,
}

/** The catalogue has every schema in full: a file for each resource, so that a change of one is read in its own. */
function catalogueFiles(): [string, object][] {
  const { contracts: calls, events, ...head } = whole
  const byResource = Map.groupBy([...calls, ...events], ({ resource }) => resource)
  return [
    ['catalogue', head],
    ...Array.from(byResource, ([resource, parts]): [string, object] => [`catalogue/${resource}`, parts]),
  ]
}

test.each([...Object.entries(documents).filter(([name]) => name !== 'catalogue'), ...catalogueFiles()])(
  '%s is the reviewed one; `npx vitest -u` writes it anew',
  async (name, document) => {
    await expect(`${JSON.stringify(document, null, 2)}\n`).toMatchFileSnapshot(`../golden/${name}.json`)
  },
)

test('there is no golden file of what is gone', () => {
  const resources = catalogueFiles().map(([name]) => `${name}.json`)
  const kept = readdirSync(join(import.meta.dirname, '../golden/catalogue')).map(
    (file) => `catalogue/${file}`,
  )
  expect(kept.toSorted()).toEqual(resources.filter((name) => name.includes('/')).toSorted())
})

describe.each(Object.entries(documents))('%s', (_, document) => {
  test('survives JSON', () => {
    expect(JSON.parse(JSON.stringify(document))).toEqual(document)
  })

  test('every reference in it leads somewhere', () => {
    const broken = referencesOf(document).filter((reference) => target(document, reference) === undefined)
    expect(broken).toEqual([])
  })
})

test('every server has a document', () => {
  expect(servers).toEqual(Object.keys(httpServers))
})

test.each(servers)('the document of the %s is OpenAPI', async (server) => {
  const result = await new Validator().validate({ ...openApiDocument(server, contracts, { version }) })
  expect(result.errors).toBeUndefined()
  expect(result.valid).toBe(true)
})

test('the document of the broker is AsyncAPI', () => {
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
  validate(asyncDocument)
  expect(validate.errors ?? []).toEqual([])
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
