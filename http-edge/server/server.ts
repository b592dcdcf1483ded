import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { call, isError, replyError, send } from '../../broker/rpc/client.ts'
import type { AddressMarks } from '../../broker/messages/client-address.ts'
import type { NatsConnection } from '../../broker/rpc/connection.ts'
import { isRequestId } from '../../broker/messages/headers.ts'
import type { Log } from '../../broker/common/log.ts'
import { maxRequestBytes } from '../../broker/common/message-limits.ts'
import { textOf } from '../../broker/messages/request.ts'
import type { BeginSpan } from '../../broker/messages/tracing.ts'
import type { Contract, HttpRoute } from '../../subjects/kit/contract.ts'
import { type Part, partField } from '../../subjects/kit/download.ts'
import { GantryError, isGantryError } from '../../subjects/kit/errors.ts'
import type { MetricRegistry } from '../../subjects/observability/metric-registry.ts'
import type { HttpServerName } from '../../subjects/kit/names.ts'
import { platform } from '../../subjects/platform/platform.ts'
import type { Authority } from '../callers/authority.ts'
import type { Charged } from '../callers/charging.ts'
import { sendDownload } from './download.ts'
import { markedAddress } from './client-address.ts'
import { answerUnparsed, maxHeaderBytes, pathOf, sendError, toGantryError } from './failures.ts'
import { addBodyParser, inputReader } from './input.ts'
import { measurer } from './measure.ts'
import type { BrokerPulse } from './pulse.ts'
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
}

export interface HttpServerOptions {
  readonly server: HttpServerName
  readonly contracts: readonly Contract[]
  /** For routes that need a caller. */
  readonly authority: Authority
  /** For routes with an authority of their own, by path. */
  readonly ownAuthorities: ReadonlyMap<string, Authority>
  /** Whether browsers may ask people for a password. */
  readonly takesPasswords: boolean
  /** For routes that anybody may call. */
  readonly publicAuthority: Authority
  /** Whether the broker answers. */
  readonly pulse: BrokerPulse
  readonly marks: AddressMarks
  readonly charged: Charged
  /** Hears of a call that the broker did not let a connection make, and from which address it came. */
  readonly onDenied: (connection: NatsConnection, subject: string, address: string) => void
  /** Where requests are counted. */
  readonly metrics: MetricRegistry
  /** Begins a span for each request that belongs to a trace. */
  readonly beginSpan: BeginSpan
  readonly log: Log
}

/** What others look at to see whether the platform works; a broker that does not answer is no reason to wait. */
const isOfHealth = new Set<Contract>([platform.health, platform.ready])

/** An HTTP server whose routes are those of the contracts. It translates and decides nothing. */
export function createHttpServer(options: HttpServerOptions): FastifyInstance {
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
    clientErrorHandler: answerUnparsed,
    // Faults from before the first hook.
    frameworkErrors: (error, request, reply) => {
      begin(request, reply)
      void sendError(reply, toGantryError(error, options.log, request), request.id)
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
  const challenge = options.takesPasswords
    ? ['Basic realm="Gantry migrator", charset="UTF-8"', 'Bearer']
    : 'Bearer'
  const measure = measurer(options)
  app.addHook('onSend', (request, reply, payload, done) => {
    measure(request, reply)
    if (reply.statusCode === 401) reply.header('www-authenticate', challenge)
    done(null, payload)
  })
  addBodyParser(app, options.charged)
  app.setErrorHandler((error, request, reply) =>
    sendError(reply, options.pulse.explained(toGantryError(error, options.log, request)), request.id),
  )
  app.setNotFoundHandler((request, reply) => {
    const path = pathOf(request)
    const methods = methodsOf(path)
    if (methods.length === 0)
      return sendError(
        reply,
        new GantryError('NOT_FOUND', `there is no ${request.method} ${path} here`),
        request.id,
      )
    const allowed = methods.join(', ')
    return sendError(
      reply.header('allow', allowed),
      new GantryError('METHOD_NOT_ALLOWED', `${path} does not take ${request.method}, but ${allowed}`),
      request.id,
    )
  })
  for (const contract of options.contracts) {
    for (const route of contract.http) {
      if (route.server === options.server) addRoute(app, contract, route, options)
    }
  }
  return app
}

// Made once: with its stack an error costs more than to refuse a request.
const tooManyAhead = new GantryError(
  'THROTTLED',
  `more than ${maxUnderWay} requests were sent ahead on one connection: wait for answers`,
)

/** Headers that say where a request goes and who sends it: a proxy before us may take the other one of two. */
const singleHeaders = ['host', 'authorization']

function repeatedHeader({ raw: { rawHeaders } }: FastifyRequest): GantryError | undefined {
  const seen = new Set<string>()
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!.toLowerCase()
    if (!singleHeaders.includes(name)) continue
    if (seen.has(name))
      return new GantryError('INVALID_INPUT', `the header ${name} is there twice: send it once`)
    seen.add(name)
  }
  return undefined
}

/**
 * Tells the methods of the route that a path belongs to: of several the one whose fields come last, which is the one that
 * the documents name for it. To be called before there are routes.
 */
function knownMethods(app: FastifyInstance): (path: string) => string[] {
  const routes = new Map<string, { readonly segments: readonly string[]; readonly methods: Set<string> }>()
  app.addHook('onRoute', ({ url, method }) => {
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

function addRoute(
  app: FastifyInstance,
  contract: Contract,
  route: HttpRoute,
  options: HttpServerOptions,
): void {
  const usual = route.public ? options.publicAuthority : options.authority
  const authority = options.ownAuthorities.get(route.path) ?? usual
  const readInput = inputReader(contract, route)
  const status = route.status ?? 200
  // The broker sees the edge as the client; who is behind it counts where it is recorded, or throttled.
  const isFromSomewhere =
    contract.audit !== undefined || route.method !== 'GET' || route.public === 'credentials'
  const ask = async (connection: NatsConnection, request: FastifyRequest, input: string) => {
    const { id: requestId } = request
    const traced = tracedBy(request, options.beginSpan)
    try {
      const answer = send(
        connection,
        contract,
        input,
        isFromSomewhere || traced !== undefined
          ? { requestId, ...traced, ...markedAddress(options.marks, contract, request) }
          : { requestId },
      )
      return await (isOfHealth.has(contract) ? options.pulse.orSilence(answer) : answer)
    } catch (error) {
      if (isGantryError(error, 'DENIED')) options.onDenied(connection, contract.subject, request.ip)
      throw error
    }
  }
  app.route({
    method: route.method,
    url: route.path.replaceAll(/\{(\w+)\}/g, ':$1'),
    ...(route.public ? {} : { bodyLimit: maxRequestBytes }),
    onRequest: callerFirst(authority),
    handler: async (request, reply) => {
      const found = connectionOf(request, authority)
      // Nearly always at hand: each turn of the queue of promises is felt at thousands of requests a second.
      const connection = found instanceof Promise ? await found : found
      const input = options.charged(request, () => textOf(readInput(request)))
      const message = await ask(connection, request, input)
      if (isError(message)) return sendError(reply, replyError(message), request.id)
      if (contract.download !== undefined) {
        const askPart = async (from: number) =>
          // The contract says that its replies are parts.
          (await call(
            await authority(request),
            contract,
            Object.assign(readInput(request), { [partField]: from }),
            { requestId: request.id },
          )) as Part
        return sendDownload(reply, message.json<Part>(), askPart)
      }
      // The service has checked its reply against the schema; the edge passes it on as it is.
      return sendReply(reply.status(status), message.data)
    },
  })
}

/** Finds the caller's connection; who may not call is told so before the body is read. */
export const callerFirst =
  (authority: Authority) =>
  (request: FastifyRequest, _reply: FastifyReply, done: (error?: Error) => void): void => {
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
