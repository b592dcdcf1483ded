import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { call, isError, replyError, send } from '../../broker/rpc/client.ts'
import type { NatsConnection } from '../../broker/rpc/connection.ts'
import { isRequestId } from '../../broker/messages/headers.ts'
import { maxRequestBytes } from '../../broker/common/message-limits.ts'
import { textOf } from '../../broker/messages/request.ts'
import type { Contract } from '../../subjects/kit/contract.ts'
import type { Further, Part } from '../../subjects/kit/download.ts'
import { GantryError, isGantryError } from '../../subjects/kit/errors.ts'
import { platform } from '../../subjects/platform/platform.ts'
import { type Authority, byConnection, whileAnswering } from '../callers/authority.ts'
import { addDocs } from '../documents/docs.ts'
import { askEach } from './ask-each.ts'
import { sendDownload } from './download.ts'
import { sendUnlessKnown } from './conditional.ts'
import { markedAddress } from './client-address.ts'
import type { Edge, Route, ServerDefinition } from './definition.ts'
import {
  errorSender,
  maxHeaderBytes,
  pathOf,
  type SendError,
  toGantryError,
  unparsedAnswerer,
} from './failures.ts'
import { measurer } from './measure.ts'
import { limitSockets, maxUnderWay, pipelineLimit } from './socket-limit.ts'
import { tracedBy } from './trace.ts'

/** Clients that send their headers, or their request, slower than this are cut off, so that they hold no socket. */
const headersTimeoutMs = 30_000
const requestTimeoutMs = 60_000
/** How often that is looked at: a socket lives for so much longer. */
const slowCheckMs = 5_000
/**
 * The largest body of a request that anybody may send. The largest one there is, the end of a sign-in, has 10 kB; reading
 * more costs the process that serves everybody.
 */
const maxPublicRequestBytes = 16 * 1024
/** Longer than the longest deadline of a contract, so that its own answer arrives. */
const connectionTimeoutMs = 120_000

declare module 'fastify' {
  interface FastifyRequest {
    /** On whose connection the request goes on; known from the first hook on. */
    caller: NatsConnection | null
  }

  interface FastifyContextConfig {
    /** It answers that there is no such operation, and is none of the methods that its path takes. */
    isMissing?: true
  }
}

/** What others look at to see whether the platform works; a broker that does not answer is no reason to wait. */
const isOfHealth = new Set<Contract>([platform.health, platform.ready])

/** An HTTP server as it is defined. It translates and decides nothing. */
export async function createHttpServer(definition: ServerDefinition, edge: Edge): Promise<FastifyInstance> {
  const { name, errors, codec } = definition
  const { pulse, log } = edge
  const sendError = errorSender(errors)
  const app = fastify({
    // Routes that know their caller before they read take more.
    bodyLimit: maxPublicRequestBytes,
    http: {
      headersTimeout: headersTimeoutMs,
      connectionsCheckingInterval: slowCheckMs,
      maxHeaderSize: maxHeaderBytes,
    },
    requestTimeout: requestTimeoutMs,
    connectionTimeout: connectionTimeoutMs,
    requestIdHeader: 'x-request-id',
    genReqId: () => crypto.randomUUID(),
    routerOptions: { caseSensitive: true, ignoreTrailingSlash: true, maxParamLength: 1_000 },
    // Our own log at the boundary knows which headers are secret.
    logger: false,
    clientErrorHandler: unparsedAnswerer(errors),
    // Faults from before the first hook.
    frameworkErrors: (error, request, reply) => {
      begin(request, reply)
      void sendError(reply, toGantryError(error, log, request))
    },
  })
  limitSockets(app.server)
  app.decorateRequest('caller', null)
  app.decorateRequest('span', null)
  app.decorateRequest('beganMs', 0)
  const isOneTooMany = pipelineLimit()
  app.addHook('onRequest', (request, reply, done) => {
    begin(request, reply)
    done(isOneTooMany(request.raw, reply.raw) ? tooManyAhead : repeatedHeader(request))
  })
  const methodsOf = knownMethods(app)
  const challenges = definition.challenges(edge)
  const measure = measurer({ ...edge, server: name })
  app.addHook('onSend', (request, reply, payload, done) => {
    measure(request, reply)
    definition.addHeaders?.(request, reply)
    if (reply.statusCode === 401) reply.header('www-authenticate', challenges)
    done(null, payload)
  })
  app.removeAllContentTypeParsers()
  app.decorateRequest('bodyBytes', 0)
  codec.addBodyParsers(app, edge.charged)
  app.setErrorHandler((error, request, reply) =>
    sendError(reply, pulse.explained(toGantryError(error, log, request))),
  )
  app.setNotFoundHandler((request, reply) => {
    const path = pathOf(request)
    const methods = methodsOf(path)
    if (methods.length === 0) return sendError(reply, errors.unknownPath(request.method, path))
    const allowed = methods.join(', ')
    return sendError(
      reply.header('allow', allowed),
      new GantryError('METHOD_NOT_ALLOWED', `${path} does not support ${request.method}; use ${allowed}`),
    )
  })
  const answering = (authority: Authority) => whileAnswering(pulse, authority)
  const authority = answering(definition.authority(edge))
  const admit = definition.admit?.(edge, authority)
  if (admit !== undefined) app.addHook('onRequest', admit)
  const own = definition.ownAuthorities?.(edge)
  for (const route of codec.routes()) {
    const usual = route.public ? byConnection(edge.edgeConnection) : undefined
    const special = own?.get(route.path) ?? usual
    addRoute(app, route, {
      edge,
      sendError,
      authority: special === undefined ? authority : answering(special),
    })
  }
  addDocs(app, definition, edge)
  await definition.addPages?.(app, edge, authority)
  return app
}

// Made once: with its stack an error costs more than to refuse a request.
const tooManyAhead = new GantryError(
  'THROTTLED',
  `more than ${maxUnderWay} requests were pipelined on one connection: wait for replies before sending more`,
)

/** Headers that say where a request goes and who sends it: a proxy before us may take the other one of two. */
const singleHeaders = ['host', 'authorization']

function repeatedHeader({ raw: { rawHeaders } }: FastifyRequest): GantryError | undefined {
  for (const name of singleHeaders) {
    let count = 0
    for (let index = 0; index < rawHeaders.length; index += 2) {
      const given = rawHeaders[index]!
      // Most are told apart by their lengths.
      if (given.length === name.length && given.toLowerCase() === name) count += 1
    }
    if (count > 1) return new GantryError('INVALID_INPUT', `the header ${name} was sent twice: send it once`)
  }
  return undefined
}

/**
 * Tells the methods of the route that a path belongs to: of several the one whose fields come last, which is the one that
 * the documents name for it. To be called before there are routes.
 */
function knownMethods(app: FastifyInstance): (path: string) => string[] {
  const routes = new Map<string, { readonly segments: readonly string[]; readonly methods: Set<string> }>()
  app.addHook('onRoute', ({ url, method, config }) => {
    if (config?.isMissing === true) return
    const segments = url.split('/')
    const shape = shapeOf(segments)
    const known = routes.get(shape) ?? { segments, methods: new Set() }
    for (const one of [method].flat()) known.methods.add(one)
    routes.set(shape, known)
  })
  return (path) => {
    const segments = path.replace(/\/$/, '').split('/')
    const matching = [...routes].filter(
      ([, route]) =>
        route.segments.length === segments.length &&
        route.segments.every((segment, index) =>
          isField(segment) ? segments[index] !== '' : segment === segments[index],
        ),
    )
    // A field sorts after every fixed segment.
    const [first] = matching.map(([shape]) => shape).toSorted()
    return first === undefined ? [] : [...routes.get(first)!.methods].toSorted()
  }
}

const isField = (segment: string): boolean => segment.startsWith(':')

/** Which segments of a route are fields, whatever these are called. */
const shapeOf = (segments: readonly string[]): string =>
  segments.map((segment) => (isField(segment) ? '1' : '0')).join('') +
  segments.filter((one) => !isField(one)).join('/')

/** What every reply has. */
function begin(request: FastifyRequest, reply: FastifyReply): void {
  request.beganMs = performance.now()
  if (!isRequestId(request.id)) request.id = crypto.randomUUID()
  reply.header('x-request-id', request.id)
  reply.header('x-content-type-options', 'nosniff')
  reply.header('cache-control', 'no-store')
  // Pages say for themselves what they load; nothing else is to be shown as one, or inside another.
  reply.header('content-security-policy', "default-src 'none'; frame-ancestors 'none'")
  reply.header('x-frame-options', 'DENY')
  // Not none at all: browsers would then send forms of our own pages without their origin.
  reply.header('referrer-policy', 'same-origin')
}

const jsonType = 'application/json; charset=utf-8'
const sendJson = (reply: FastifyReply, text: string): FastifyReply =>
  reply.header('content-type', jsonType).send(text)

/** An input by its fields. */
type Wire = Readonly<Record<string, unknown>>

interface RouteOptions {
  readonly edge: Edge
  readonly sendError: SendError
  readonly authority: Authority
}

function addRoute(app: FastifyInstance, route: Route, { edge, sendError, authority }: RouteOptions): void {
  const { calls: usual, status = 200, read, write, before, choose, each } = route
  // The broker sees the edge as the client; who is behind it counts where it is recorded, or throttled.
  const isFromSomewhere =
    usual.audit !== undefined || route.method !== 'GET' || route.public === 'credentials'
  const ask = async (
    connection: NatsConnection,
    request: FastifyRequest,
    { contract, input }: { readonly contract: Contract; readonly input: string },
  ) => {
    const { id: requestId } = request
    const traced = tracedBy(request, edge.beginSpan)
    try {
      const answer = send(
        connection,
        contract,
        input,
        isFromSomewhere || traced !== undefined
          ? { requestId, ...traced, ...markedAddress(edge.marks, contract, request) }
          : { requestId },
      )
      return await (isOfHealth.has(contract) ? edge.pulse.orSilence(answer) : answer)
    } catch (error) {
      if (isGantryError(error, 'DENIED')) edge.onDenied(connection, contract.subject, request.ip)
      throw error
    }
  }
  app.route({
    method: route.method,
    url: route.path.replaceAll(/\{(\w+)\}/g, ':$1'),
    ...(route.public ? {} : { bodyLimit: maxRequestBytes }),
    ...(route.config === undefined ? {} : { config: route.config }),
    onRequest: callerFirst(authority),
    handler: async (request, reply) => {
      const found = connectionOf(request, authority)
      // Nearly always at hand: each turn of the queue of promises is felt at thousands of requests a second.
      const connection = found instanceof Promise ? await found : found
      const first = before?.(request, connection)
      if (first !== undefined) await first
      if (each !== undefined) {
        const inputs = edge.charged(request, () => each.inputs(read(request) as Wire))
        const outcomes = await askEach(inputs, (input) =>
          ask(connection, request, { contract: usual, input: textOf(input) }),
        )
        return sendJson(
          reply.status(status),
          edge.charged(request, () => each.write(outcomes)),
        )
      }
      const asked = edge.charged(request, () => {
        const input = read(request)
        if (choose === undefined) return { contract: usual, input: textOf(input) }
        const chosen = choose(input as Wire)
        return { contract: chosen.calls, input: textOf(chosen.input) }
      })
      const message = await ask(connection, request, asked)
      if (isError(message)) return sendError(reply, replyError(message))
      if (usual.download !== undefined) {
        const askPart = async (further: Further) =>
          // The contract says that its replies are parts.
          (await call(await authority(request), usual, Object.assign(read(request), further), {
            requestId: request.id,
          })) as Part
        const part = message.json<Part>()
        if (route.conditional && part.next === undefined)
          return sendUnlessKnown(
            request,
            reply.header('content-type', `${part.type}; charset=utf-8`),
            part.content,
          )
        return sendDownload(
          reply,
          { by: usual.download.by, part, as: route.download?.(part, request) ?? part },
          askPart,
        )
      }
      reply.status(status)
      // The service has checked its reply against the schema; the edge passes it on as it is.
      if (write === undefined) return sendReply(reply, message.data)
      const text = edge.charged(request, () => write(message.data, request))
      return route.conditional
        ? sendUnlessKnown(request, reply.header('content-type', jsonType), text)
        : sendJson(reply, text)
    },
  })
}

/** Finds the caller's connection, unless it is known; who may not call is told so before the body is read. */
export const callerFirst =
  (authority: Authority) =>
  (request: FastifyRequest, _reply: FastifyReply, done: (error?: Error) => void): void => {
    // Who was admitted is known already.
    if (request.caller !== null) return done()
    const go = (connection: NatsConnection) => {
      request.caller = connection
      done()
    }
    try {
      const found = authority(request)
      if (found instanceof Promise) found.then(go, done)
      else go(found)
    } catch (error) {
      done(error as Error)
    }
  }

/** The caller's connection. A body may come so slowly that the one which was found first is not there any more. */
export function connectionOf(
  request: FastifyRequest,
  authority: Authority,
): NatsConnection | Promise<NatsConnection> {
  const { caller } = request
  return caller === null || caller.isClosed() ? authority(request) : caller
}

/**
 * Replies up to this size are handed on as text, which Node writes together with the header; bytes it writes beside it. For
 * larger ones that costs more than it saves.
 */
const maxTextBytes = 16 * 1024

/** Passes the body of a reply on as it is. */
export function sendReply(reply: FastifyReply, { buffer, byteOffset, byteLength }: Uint8Array): FastifyReply {
  const body = Buffer.from(buffer, byteOffset, byteLength)
  return reply
    .header('content-type', 'application/json; charset=utf-8')
    .send(byteLength > maxTextBytes ? body : body.toString())
}
