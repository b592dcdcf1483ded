import { contact, httpDescription, licence, tagsOf } from '../../subjects/documents/about.ts'
import { codesOf } from '../../subjects/documents/error-schema.ts'
import { withModels } from '../../subjects/documents/document.ts'
import type { ErrorCode } from '../../subjects/kit/errors.ts'
import { errors } from '../../subjects/kit/errors.ts'
import type { JsonSchema } from '../../subjects/kit/json-schema.ts'
import { httpServers } from '../../subjects/kit/names.ts'
import {
  type ExampleFields,
  exampleFields,
  exampleInput,
  exampleOf,
} from '../../subjects/documents/examples.ts'
import { parameter } from '../../subjects/documents/openapi.ts'
import type { SurfaceErrors } from './errors.ts'
import type { Fields, Operation } from './operation.ts'
import { wholeSchemas } from './reply.ts'
import type { Surface } from './surface.ts'

/** The OpenAPI document of a surface, made of its operations. */
export function surfaceDocument(surface: Omit<Surface, 'before'>, { version }: { version: string }): object {
  const { name, operations, description, errors: told, absentFields } = surface
  const { title } = httpServers[name]
  const describe = describer({ told, wholeSchema: wholeSchemas(absentFields) })
  const paths: Record<string, Record<string, object>> = {}
  const ids = new Map<string, number>()
  for (const operation of operations) {
    const { path, method, id } = operation
    const count = (ids.get(id) ?? 0) + 1
    ids.set(id, count)
    paths[path] = {
      ...paths[path],
      [method.toLowerCase()]: describe(operation, count === 1 ? id : `${id}.${count}`),
    }
  }
  return withModels({
    openapi: '3.1.0',
    info: {
      title,
      version,
      description: `${description} Unknown fields are ignored and reported in the header Warning.`,
      contact,
      license: licence,
    },
    servers: [{ url: '/', description: 'The server that provides this document' }],
    // It takes a token or a password, and does without while no access control is enabled.
    security: [{}, { token: [] }, { password: [] }],
    tags: tagsOf(operations.map(({ calls }) => calls)),
    paths,
    components: {
      schemas: { Error: told.schema },
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: 'API token: `Authorization: Bearer …`' },
        password: {
          type: 'http',
          scheme: 'basic',
          description: 'User name and password, if access control is enabled',
        },
      },
    },
  })
}

interface Telling {
  readonly told: SurfaceErrors
  readonly wholeSchema: ReturnType<typeof wholeSchemas>
}

const describer =
  ({ told, wholeSchema }: Telling) =>
  (operation: Operation, operationId: string): object => {
    const { summary, description, parameters, query, body, required, reply, calls, status } = operation
    const example = exampleOfOperation(operation)
    const of = (place: 'path' | 'query', fields: Fields) =>
      Object.entries(fields).map(([name, field]) =>
        parameter(place, name, field, place === 'path' || required.includes(name), example),
      )
    const all = [...of('path', parameters), ...of('query', query)]
    const content =
      calls.download === undefined
        ? { 'application/json': { schema: wholeSchema(reply) } }
        : Object.fromEntries(calls.download.types.map((type) => [type, { schema: { type: 'string' } }]))
    return {
      operationId,
      tags: [calls.resource],
      summary,
      description: httpDescription(calls, { description, isPublic: operation.public !== undefined }),
      ...(operation.public === undefined ? {} : { security: [] }),
      ...(all.length === 0 ? {} : { parameters: all }),
      ...(Object.keys(body).length === 0 ? {} : { requestBody: requestBody(operation, example) }),
      responses: {
        [status]: { description: 'Done', content },
        ...(operation.conditional ? { 304: { description: 'Not modified (If-None-Match)' } } : {}),
        ...failuresOf(operation, told),
      },
    }
  }

/** Of what the operation takes, as the contract's own example has it. */
function exampleOfOperation({ parameters, query, body, required, calls, example }: Operation): ExampleFields {
  const known = { ...exampleInput(calls), ...example }
  return exampleFields({ ...parameters, ...query, ...body }, required, known)
}

function requestBody(
  { body: fields, required, sends, bare }: Pick<Operation, 'body' | 'required' | 'sends' | 'bare'>,
  examples: ExampleFields,
): object {
  if (bare !== undefined) {
    const content = { schema: fields[bare], example: examples[bare] }
    return { required: true, content: { 'application/json': content } }
  }
  const names = required.filter((name) => Object.hasOwn(fields, name))
  const schema: JsonSchema = {
    type: 'object',
    ...(names.length === 0 ? {} : { required: names }),
    properties: fields,
  }
  const example = exampleOf(schema, examples)
  if (sends !== undefined) return { required: names.length > 0, content: { [sends]: { schema, example } } }
  return {
    required: names.length > 0,
    content: {
      'application/json': { schema, example },
      // Objects have no common form there.
      ...(Object.values(fields).some(holdsObjects)
        ? {}
        : { 'application/x-www-form-urlencoded': { schema, example } }),
    },
  }
}

const holdsObjects = (field: JsonSchema): boolean =>
  field.type === 'object' ||
  field.anyOf?.some(holdsObjects) === true ||
  (field.items !== undefined && holdsObjects(field.items))

/** What an operation answers when it fails, by status. */
function failuresOf(
  { calls, errors: own, public: open, refuses }: Operation,
  { wireErrorOf }: SurfaceErrors,
): Record<string, object> {
  const told = (code: ErrorCode): string => `${wireErrorOf(code, own).errorCode}: ${errors[code].meaning}`
  const codes = codesOf(calls).filter((code) => open === undefined || code !== 'DENIED')
  const byStatus = Map.groupBy(codes, (code) => wireErrorOf(code, own).status)
  const failures = Array.from(byStatus, ([status, all]): [number, object] => [
    status,
    failure(all.map(told).join(' ')),
  ])
  const refusals = Object.entries(refuses).map(([status, why]) => [status, failure(why)])
  return { ...Object.fromEntries(failures), ...Object.fromEntries(refusals) } as Record<string, object>
}

const failure = (description: string): object => ({
  description,
  content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
})
