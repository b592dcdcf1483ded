import { describe, expect, test } from 'vitest'
import { openApiPath } from '../../../http-edge/documents/docs.ts'
import { servers } from '../../../http-edge/index.ts'
import { tagsOf } from '../../../subjects/documents/about.ts'
import { exampleInput, examplePayload } from '../../../subjects/documents/examples.ts'
import { openApiDocument } from '../../../subjects/documents/openapi.ts'
import { endpointContract } from '../../../subjects/extensions/contract.ts'
import { contracts, eventContracts } from '../../../subjects/index.ts'
import { problemsOf } from '../../../subjects/kit/validate.ts'

test('the example of every contract and every event is what its schema says', () => {
  const inputs = contracts.map(({ subject, input }, index) => [
    subject,
    problemsOf(input, exampleInput(contracts[index]!)),
  ])
  const payloads = eventContracts.map((event) => [
    event.subject,
    problemsOf(event.payload, examplePayload(event)),
  ])
  expect([...inputs, ...payloads].filter(([, problems]) => problems!.length > 0)).toEqual([])
})

test('every resource says what it is about', () => {
  const ofExtension = tagsOf([...contracts, ...eventContracts]).filter(({ description }) =>
    description.startsWith('Endpoints of the extension'),
  )
  expect(ofExtension).toEqual([])
})

interface Operation {
  readonly description: string
  readonly parameters?: readonly { in: string; example?: unknown; required?: boolean; content?: Content }[]
  readonly requestBody?: { readonly content: Content }
}
type Content = Readonly<Record<string, { readonly example?: unknown }>>

const isThere = (content: Content | undefined): boolean =>
  content !== undefined && Object.values(content).every(({ example }) => example !== undefined)

describe.each(servers)('the document of the $name', ({ documents }) => {
  const { paths } = documents[openApiPath]!({ version: '0.0.0' }) as {
    paths: Record<string, Record<string, Operation>>
  }
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ name: `${method} ${path}`, operation })),
  )

  test('has an example of all that a request needs, and a description', () => {
    const lacking = operations.filter(
      ({ operation: { description, parameters = [], requestBody } }) =>
        description === '' ||
        parameters.some(
          ({ required, example, content }) => required === true && example === undefined && !isThere(content),
        ) ||
        (requestBody !== undefined && !isThere(requestBody.content)),
    )
    expect(lacking.map(({ name }) => name)).toEqual([])
  })
})

test('an endpoint of an extension has an example where its schema lets one be made, and else none that is wrong', () => {
  const field = (schema: object) => ({ type: 'object', properties: { city: schema }, required: ['city'] })
  const endpoints = {
    named: field({ type: 'string' }),
    given: field({ type: 'string', pattern: '^[A-Z]{3}$', examples: ['OSL'] }),
    unknown: field({ type: 'string', pattern: '^[A-Z]{3}$' }),
  }
  const all = Object.entries(endpoints).map(([name, input]) =>
    endpointContract('weather', { name, summary: 'The weather', input }),
  )
  const { paths } = openApiDocument(all, { version: '0.0.0' }) as {
    paths: Record<string, { post: { requestBody: { content: Content } } }>
  }
  const examples = Object.values(paths).map(
    ({ post }) => post.requestBody.content['application/json']!.example,
  )
  expect(examples).toEqual([{ city: 'Oslo' }, { city: 'OSL' }, undefined])
})
