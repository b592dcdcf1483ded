import { codesOf } from '../../subjects/documents/error-schema.ts'
import { withModels } from '../../subjects/documents/document.ts'
import type { ErrorCode } from '../../subjects/kit/errors.ts'
import { errors } from '../../subjects/kit/errors.ts'
import type { JsonSchema } from '../../subjects/kit/json-schema.ts'
import { httpServers } from '../../subjects/kit/names.ts'
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
      description: `${description} Unknown fields are ignored, and told in the header Warning.`,
      license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'The server that this document comes from' }],
    // It takes a token or a password, and does without while no access control is enabled.
    security: [{}, { token: [] }, { password: [] }],
    tags: [...new Set(operations.map(tagOf))].map((tag) => ({ name: tag })),
    paths,
    components: {
      schemas: { Error: told.schema },
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: 'An API token: `Authorization: Bearer …`' },
        password: {
          type: 'http',
          scheme: 'basic',
          description: 'User name and password, while access control is enabled',
        },
      },
    },
  })
}

const tagOf = ({ calls }: Operation): string => calls.resource

interface Telling {
  readonly told: SurfaceErrors
  readonly wholeSchema: ReturnType<typeof wholeSchemas>
}

const describer =
  ({ told, wholeSchema }: Telling) =>
  (operation: Operation, operationId: string): object => {
    const { summary, description, parameters, query, body, required, reply, calls, status } = operation
    const of = (place: 'path' | 'query', fields: Fields) =>
      Object.entries(fields).map(([name, field]) =>
        parameter(place, name, field, place === 'path' || required.includes(name)),
      )
    const all = [...of('path', parameters), ...of('query', query)]
    const content =
      calls.download === undefined
        ? { 'application/json': { schema: wholeSchema(reply) } }
        : Object.fromEntries(calls.download.types.map((type) => [type, { schema: { type: 'string' } }]))
    return {
      operationId,
      tags: [tagOf(operation)],
      summary,
      ...(description === undefined ? {} : { description }),
      ...(operation.public === undefined ? {} : { security: [] }),
      ...(all.length === 0 ? {} : { parameters: all }),
      ...(Object.keys(body).length === 0 ? {} : { requestBody: requestBody(body, required, operation) }),
      responses: {
        [status]: { description: 'Done', content },
        ...(operation.conditional
          ? { 304: { description: 'The caller has it already (If-None-Match)' } }
          : {}),
        ...failuresOf(operation, told),
      },
    }
  }

function requestBody(
  fields: Fields,
  required: readonly string[],
  { sends, bare }: Pick<Operation, 'sends' | 'bare'>,
): object {
  if (bare !== undefined) return { required: true, content: { 'application/json': { schema: fields[bare] } } }
  const names = required.filter((name) => Object.hasOwn(fields, name))
  const schema: JsonSchema = {
    type: 'object',
    ...(names.length === 0 ? {} : { required: names }),
    properties: fields,
  }
  if (sends !== undefined) return { required: names.length > 0, content: { [sends]: { schema } } }
  return {
    required: names.length > 0,
    content: {
      'application/json': { schema },
      // Objects have no common form there.
      ...(Object.values(fields).some(holdsObjects)
        ? {}
        : { 'application/x-www-form-urlencoded': { schema } }),
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
