import type { Contract, HttpRoute } from '../kit/contract.ts'
import { contact, httpDescription, licence, tagOf, tagsOf } from './about.ts'
import { withModels } from './document.ts'
import { codesOf, errorOfCodes, ErrorSchema } from './error-schema.ts'
import { type ErrorCode, errors, isErrorCode } from '../kit/errors.ts'
import { type ExampleFields, exampleOf, exampleOnRoute } from './examples.ts'
import { type DocumentPart, IncrementalDocument, PartMaker } from './incremental-document.ts'
import { fieldsOf, type JsonSchema, jsonSchema, pick } from '../kit/json-schema.ts'
import { httpServers } from '../kit/names.ts'
import { routeFields } from '../kit/route.ts'

/** The schemas of 3.1 are JSON Schema, so those of the contracts go in as they are. */
const openapi = '3.1.0'

const bearer = { token: [] }
const oidcBearer = { oidcToken: [] }

interface Operation {
  readonly contract: Contract
  readonly route: HttpRoute
  readonly id: string
}

/** The OpenAPI document of the platform's server: an operation for each route of a contract. */
export function openApiDocument(contracts: readonly Contract[], { version }: { version: string }): object {
  const operations = contracts.flatMap(operationsOf)
  return withModels({
    openapi,
    info: {
      title: httpServers.platform.title,
      version,
      description:
        'Every operation is also available as a request on the message broker; see the AsyncAPI document. All errors have the same body: base decisions on its `code`.',
      contact,
      license: licence,
    },
    servers: [{ url: '/', description: 'The server that provides this document' }],
    security: [bearer],
    tags: tagsOf(operations.map(({ contract }) => contract)),
    paths: pathsOf(operations),
    components: {
      schemas: { Error: ErrorSchema },
      responses: responsesOf(operations),
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: 'API token: `Authorization: Bearer …`' },
        ...(operations.some(({ route }) => route.bearer !== undefined) ? { oidcToken } : {}),
      },
    },
  })
}

/** The document of the platform, for extensions to add what `openApiPart` makes. */
export const growingOpenApi = (
  contracts: readonly Contract[],
  about: { version: string },
): IncrementalDocument =>
  new IncrementalDocument(openApiDocument(contracts, about), ['tags', 'paths'], {
    section: 'components.responses',
    valueOf: (name) => failure({ codes: codesNamed(name) }),
  })

/** What an extension adds to the document of the platform. It can be left for a while after each contract. */
export function* openApiPart(prefix: string, contracts: readonly Contract[]): Generator<void, DocumentPart> {
  const part = new PartMaker(prefix)
  part.add('tags', contracts.length === 0 ? [] : [tagOf(prefix)])
  for (const contract of contracts) {
    const operations = operationsOf(contract)
    part.add('paths', pathsOf(operations))
    part.share(operations.flatMap(failuresOf).map(({ name }) => name))
    yield
  }
  return part.finish()
}

const oidcToken = {
  type: 'http',
  scheme: 'bearer',
  description: 'Token of the identity provider: `Authorization: Bearer …`',
}

/** A contract with several routes is told apart by what each binds, or else by their order. */
function operationsOf(contract: Contract): Operation[] {
  const routes = contract.http
  return routes.map((route, index) => {
    const distinction = Object.values(route.bind ?? {}).join('.') || (index === 0 ? '' : String(index + 1))
    const suffix = routes.length === 1 || distinction === '' ? '' : `.${distinction}`
    return { contract, route, id: `${contract.resource}.${contract.verb}${suffix}` }
  })
}

function pathsOf(operations: readonly Operation[]): Record<string, Record<string, object>> {
  const paths: Record<string, Record<string, object>> = {}
  for (const operation of operations) {
    const { path, method } = operation.route
    paths[path] = { ...paths[path], [method.toLowerCase()]: describe(operation) }
  }
  return paths
}

function describe(operation: Operation): object {
  const { contract, route, id } = operation
  const { path, query, body } = routeFields(contract, route)
  const fields = fieldsOf(contract.input)
  const required = jsonSchema(contract.input).required ?? []
  const example = exampleOnRoute(contract, route)
  const parameters = [
    ...path.map((name) => parameter('path', name, fields[name], true, example)),
    ...query.map((name) => parameter('query', name, fields[name], required.includes(name), example)),
  ]
  const failures = failuresOf(operation).map(({ status, reference }): [number, object] => [status, reference])
  return {
    operationId: id,
    tags: [contract.resource],
    summary: contract.summary,
    description: httpDescription(contract, {
      description: contract.description,
      isPublic: route.public !== undefined,
    }),
    ...(route.public ? { security: route.bearer === undefined ? [] : [oidcBearer] } : {}),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(body.length > 0 ? { requestBody: requestBody(contract, body, example) } : {}),
    responses: { [route.status ?? 200]: success(contract), ...Object.fromEntries(failures) },
  }
}

/** A parameter of an operation. */
export function parameter(
  place: 'path' | 'query',
  name: string,
  field: JsonSchema = {},
  required: boolean,
  examples: ExampleFields,
): object {
  const { description, ...schema } = field
  const example = Object.hasOwn(examples, name) ? { example: examples[name] } : {}
  return {
    name,
    in: place,
    ...(required ? { required } : {}),
    ...(description === undefined ? {} : { description }),
    // Objects in a query string have no common form; as JSON every client can write them.
    ...(schema.type === 'object'
      ? { content: { 'application/json': { schema, ...example } } }
      : { schema, ...example }),
  }
}

function requestBody({ input }: Contract, names: readonly string[], examples: ExampleFields): object {
  const schema = pick(input, names)
  const example = exampleOf(schema, examples)
  return { required: schema.required !== undefined, content: { 'application/json': { schema, example } } }
}

const success = ({ output, download }: Contract) => ({
  description: 'Success',
  content:
    download === undefined
      ? { 'application/json': { schema: output } }
      : Object.fromEntries(download.types.map((type) => [type, { schema: { type: 'string' } }])),
})

interface Failure {
  readonly status: number
  readonly codes: readonly ErrorCode[]
  /** Of the component that describes it: its codes. */
  readonly name: string
  readonly reference: object
}

/** Nobody's token is looked at on a public route. */
const isOf = ({ public: open }: HttpRoute, code: ErrorCode): boolean =>
  open === undefined || (code !== 'DENIED' && (code !== 'UNAUTHENTICATED' || open === 'credentials'))

/** What an operation answers when it fails, one for each status. */
function failuresOf({ contract, route }: Operation): readonly Failure[] {
  const codes = codesOf(contract).filter((code) => isOf(route, code))
  const id = codes.join()
  const known = knownFailures.get(id)
  if (known !== undefined) return known
  const byStatus = Map.groupBy(codes, (code) => errors[code].status)
  const failures = [...byStatus].map(([status, codes]) => {
    const name = nameOf(codes)
    return { status, codes, name, reference: { $ref: `#/components/responses/${name}` } }
  })
  if (knownFailures.size >= maxKnownFailures) knownFailures.clear()
  knownFailures.set(id, failures)
  return failures
}

const nameOf = (codes: readonly ErrorCode[]): string => codes.join('.')
const codesNamed = (name: string): ErrorCode[] => name.split('.').filter(isErrorCode)

/** Combinations of codes: we have some fifty, and extensions choose theirs. */
const maxKnownFailures = 1_000

/** By codes: operations by the thousand fail in the same few ways. */
const knownFailures = new Map<string, readonly Failure[]>()

/** Each only once. */
function responsesOf(operations: readonly Operation[]): Record<string, object> {
  const failures = new Map(operations.flatMap(failuresOf).map((each) => [each.name, each]))
  return Object.fromEntries([...failures].map(([name, each]) => [name, failure(each)]))
}

const failure = ({ codes }: Pick<Failure, 'codes'>) => ({
  description: codes.map((code) => `${code}: ${errors[code].meaning}`).join(' '),
  content: { 'application/json': { schema: errorOfCodes(codes) } },
})
