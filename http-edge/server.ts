import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { isError, send } from '../broker/client.ts'
import { errorOf, isRequestId, serviceErrorCodeHeader, serviceErrorHeader } from '../broker/headers.ts'
import type { Log } from '../broker/log.ts'
import { maxRequestBytes } from '../broker/serve.ts'
import { coerceField } from '../subjects/coerce.ts'
import type { Contract, HttpRoute } from '../subjects/contract.ts'
import { GantryError, type Problem } from '../subjects/errors.ts'
import type { HttpServerName } from '../subjects/names.ts'
import { routeFields } from '../subjects/route.ts'
import type { Authority } from './authority.ts'

/** Clients that send their request slower than this are cut off, so that they hold no socket. */
const requestTimeoutMs = 60_000
/** Longer than the longest deadline of a contract, so that its own answer arrives. */
const connectionTimeoutMs = 120_000

export interface HttpServerOptions {
  readonly server: HttpServerName
  readonly contracts: readonly Contract[]
  /** For routes that need a caller. */
  readonly authority: Authority
  /** For routes that anybody may call. */
  readonly publicAuthority: Authority
  readonly log: Log
}

/** An HTTP server whose routes are those of the contracts. It translates and decides nothing. */
export function createHttpServer(options: HttpServerOptions): FastifyInstance {
  const app = fastify({
    bodyLimit: maxRequestBytes,
    requestTimeout: requestTimeoutMs,
    connectionTimeout: connectionTimeoutMs,
    requestIdHeader: 'x-request-id',
    genReqId: () => crypto.randomUUID(),
    routerOptions: { caseSensitive: true, maxParamLength: 1_000 },
    // Our own log at the boundary knows which headers are secret.
    logger: false,
  })
  app.addHook('onRequest', (request, reply, done) => {
    if (!isRequestId(request.id)) request.id = crypto.randomUUID()
    reply.header('x-request-id', request.id)
    reply.header('x-content-type-options', 'nosniff')
    reply.header('cache-control', 'no-store')
    done()
  })
  app.setErrorHandler((error, request, reply) =>
    sendError(reply, toGantryError(error, options.log, request), request.id),
  )
  app.setNotFoundHandler((request, reply) =>
    sendError(
      reply,
      new GantryError('NOT_FOUND', `there is no ${request.method} ${pathOf(request)} here`),
      request.id,
    ),
  )
  for (const contract of options.contracts) {
    for (const route of contract.http) {
      if (route.server === options.server) addRoute(app, contract, route, options)
    }
  }
  return app
}

function addRoute(
  app: FastifyInstance,
  contract: Contract,
  route: HttpRoute,
  options: HttpServerOptions,
): void {
  const authority = route.public ? options.publicAuthority : options.authority
  const readInput = inputReader(contract, route)
  const status = route.status ?? 200
  app.route({
    method: route.method,
    url: route.path.replaceAll(/\{(\w+)\}/g, ':$1'),
    handler: async (request, reply) => {
      const found = authority(request)
      const connection = found instanceof Promise ? await found : found
      const message = await send(connection, contract, JSON.stringify(readInput(request)), {
        requestId: request.id,
      })
      if (isError(message)) {
        reply.status(Number(message.headers!.get(serviceErrorCodeHeader)) || 500)
        const error = errorOf(message.json(), message.headers!.get(serviceErrorHeader))
        return sendError(reply, error, request.id)
      }
      // The service has checked its reply against the schema; the edge passes it on as it is.
      const { buffer, byteOffset, byteLength } = message.data
      return reply
        .status(status)
        .header('content-type', 'application/json; charset=utf-8')
        .send(Buffer.from(buffer, byteOffset, byteLength))
    },
  })
}

/** Puts the input together: `{...query, ...body, ...path, ...bind}`. A field comes from its place alone. */
function inputReader(
  contract: Contract,
  route: HttpRoute,
): (request: FastifyRequest) => Record<string, unknown> {
  const fields = routeFields(contract, route)
  const properties = (contract.input as { properties?: Record<string, object> }).properties ?? {}
  const inQuery = new Set(fields.query)
  const takesBody = route.method !== 'GET' && route.method !== 'DELETE' && fields.body.length > 0
  return (request) => {
    const input: Record<string, unknown> = {}
    const problems: Problem[] = []
    for (const [name, text] of Object.entries(request.query as Record<string, string | string[]>)) {
      if (inQuery.has(name)) input[name] = coerceField(properties[name] as Contract['input'], text)
      else problems.push({ field: name, problem: notHere('query', fields.query) })
    }
    const { body } = request
    if (body !== undefined && body !== null) {
      if (!takesBody) problems.push({ field: 'body', problem: 'is not taken by this call' })
      else if (typeof body !== 'object' || Array.isArray(body)) {
        problems.push({ field: 'body', problem: 'must be a JSON object' })
      } else {
        for (const [name, value] of Object.entries(body)) {
          if (
            fields.path.includes(name) ||
            inQuery.has(name) ||
            (route.bind && Object.hasOwn(route.bind, name))
          ) {
            problems.push({ field: name, problem: notHere('body', fields.body) })
          } else input[name] = value
        }
      }
    }
    if (problems.length > 0) {
      const text = problems.map(({ field, problem }) => `${field} ${problem}`).join('; ')
      throw new GantryError('INVALID_INPUT', `input: ${text}`, { details: problems })
    }
    for (const [name, text] of Object.entries(request.params as Record<string, string>)) {
      input[name] = coerceField(properties[name] as Contract['input'], text)
    }
    return Object.assign(input, route.bind)
  }
}

const notHere = (place: string, known: readonly string[]): string =>
  known.length === 0
    ? `is not a ${place} field of this call, which has none`
    : `is not a ${place} field of this call; those are ${known.join(', ')}`

function sendError(reply: FastifyReply, error: GantryError, requestId: string): FastifyReply {
  if (error.status === 401) reply.header('www-authenticate', 'Bearer')
  return reply.status(error.status).send(error.toBody(error.requestId ?? requestId))
}

/** Faults that Fastify found before any handler ran have its own codes; anything unknown is ours, and logged. */
function toGantryError(error: unknown, log: Log, request: FastifyRequest): GantryError {
  if (error instanceof GantryError) return error
  const { statusCode, code, message } = error as { statusCode?: number; code?: string; message?: string }
  if (statusCode === 413)
    return new GantryError('TOO_LARGE', `the body is larger than ${maxRequestBytes} bytes`)
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
      return new GantryError(
        'INVALID_INPUT',
        'body: send JSON, with the header Content-Type: application/json',
      )
    }
    return new GantryError('INVALID_INPUT', `body: ${message ?? 'the request is malformed'}`)
  }
  log.error({ err: error, requestId: request.id, path: pathOf(request) }, 'The edge failed.')
  return new GantryError('INTERNAL', 'the service failed; its log has the request id')
}

/** The path without its query, which may hold what does not belong into a log. */
const pathOf = (request: FastifyRequest): string => request.url.split('?')[0] ?? ''
