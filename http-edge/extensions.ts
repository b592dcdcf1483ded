import type { FastifyInstance, FastifyRequest } from 'fastify'
import { isUtf8 } from 'node:buffer'
import { call, type CallOptions, isError, replyError, send } from '../broker/client.ts'
import type { NatsConnection } from '../broker/connection.ts'
import type { Log } from '../broker/log.ts'
import type { BeginSpan } from '../broker/tracing.ts'
import type { Contract, HttpRoute } from '../subjects/contract.ts'
import { commonCodes, type ErrorCode, GantryError, isGantryError } from '../subjects/errors.ts'
import { answerProblem, endpointContract, endpointPath } from '../subjects/extension-contract.ts'
import { extensionsInternal } from '../subjects/extensions.ts'
import { check } from '../subjects/validate.ts'
import type { Authority } from './authority.ts'
import { sendError } from './failures.ts'
import { inputReader } from './input.ts'
import { bodyOf, callerFirst, connectionOf, sendReply } from './server.ts'
import { tracedBy } from './trace.ts'
import { UnderWay } from './under-way.ts'

/** Endpoints whose schemas are kept compiled: all that are in use on a large platform. */
const maxKept = 1_000

/** Lookups that are remembered, of 100 bytes or so: those of some callers of each endpoint that is kept. */
const maxLookups = 20_000

/** Methods without a body. */
const bodiless = new Set(['GET', 'DELETE'])

export interface ExtensionRouteOptions {
  readonly authority: Authority
  /** The key of a caller's connection. */
  readonly keyIdOf: (connection: NatsConnection) => string | undefined
  /** Where extensions are looked up; it may ask nothing else. */
  readonly lookup: NatsConnection
  /** Has a listener called whenever what a lookup says may have changed. */
  readonly onChange: (listener: () => void) => void
  /** Hears of a call that the broker did not let a connection make. */
  readonly onDenied: (connection: NatsConnection, subject: string, address: string) => void
  readonly beginSpan: BeginSpan
  readonly log: Log
}

/** An endpoint that was called before: its contract, and how its input is read, without and with a body. */
interface Known {
  readonly contract: Contract
  readonly fromQuery: ReturnType<typeof inputReader>
  readonly fromBody: ReturnType<typeof inputReader>
}

/**
 * The route of all endpoints of all extensions. Which there are, and who sees them, is asked once for each connection, and
 * again when an extension has come, changed or gone (a key that may see less has its connections dropped); whether the
 * caller may call one, the broker decides at each call. Both input and output are held against the endpoint's schemas.
 */
export function addExtensionRoutes(
  app: FastifyInstance,
  { authority, keyIdOf, lookup, onChange, onDenied, beginSpan, log }: ExtensionRouteOptions,
): void {
  const kept = new Map<string, Known>()
  const lookups = new Lookups()
  const underWay = new UnderWay(() => call(lookup, extensionsInternal.lost, {}))
  onChange(() => {
    lookups.clear()
    underWay.look()
  })
  const keep = (id: string, known: Known): Known => {
    // The one that was used longest ago goes first.
    kept.delete(id)
    kept.set(id, known)
    if (kept.size > maxKept) kept.delete(kept.keys().next().value!)
    return known
  }
  const find = async (
    connection: NatsConnection,
    prefix: string,
    name: string,
    about: CallOptions,
  ): Promise<Known> => {
    const place = lookups.placeOf(connection, `${prefix}/${name}`)
    const remembered = lookups.get(place)
    const found = remembered === undefined ? undefined : kept.get(remembered)
    if (remembered !== undefined && found !== undefined) return keep(remembered, found)
    const key = keyIdOf(connection)
    if (key === undefined) throw new GantryError('UNAUTHENTICATED', 'extensions are called with a token')
    const { changes } = lookups
    const { endpoint, revision } = await call(
      lookup,
      extensionsInternal.endpoint,
      { key, prefix, name },
      about,
    ).catch(asUnknown)
    const id = `${revision} ${name}`
    const known = kept.get(id) ?? knownOf(endpointContract(prefix, endpoint))
    // What was said before the last change may not be so any more.
    if (changes === lookups.changes) lookups.set(place, id)
    return keep(id, known)
  }
  const report = (prefix: string, name: string, problem: string): void => {
    call(lookup, extensionsInternal.failed, { prefix, name, problem }).catch((err: unknown) =>
      log.warn({ err, prefix, name }, 'What went wrong with an extension is not in its log.'),
    )
  }
  app.route({
    method: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
    url: endpointPath(':prefix', ':endpoint'),
    onRequest: callerFirst(authority),
    handler: async (request, reply) => {
      const { prefix, endpoint: name } = request.params as { prefix: string; endpoint: string }
      const connection = await connectionOf(request, authority)
      const about = { requestId: request.id, ...tracedBy(request, beginSpan) }
      const known = await find(connection, prefix, name, about)
      const { contract } = known
      const input = check(contract.input, inputOf(known, request))
      const asked = send(connection, contract, bodyOf(input), about)
      const message = await underWay.answerOf(prefix, asked).catch((error: unknown) => {
        if (isGantryError(error, 'DENIED')) onDenied(connection, contract.subject, request.ip)
        if (isGantryError(error, 'TIMEOUT'))
          report(prefix, name, `no answer within ${contract.deadlineMs} ms`)
        throw error
      })
      const failure = isError(message) ? failureOf(contract, replyError(message)) : undefined
      if (failure !== undefined) {
        if (failure.code === 'INTERNAL' || failure.code === 'TIMEOUT') report(prefix, name, failure.message)
        return sendError(reply, failure, request.id)
      }
      const problem = problemOf(contract, message)
      if (problem === undefined) return sendReply(reply, message.data)
      report(prefix, name, problem)
      throw new GantryError('INTERNAL', `${prefix} has failed: ${problem}`)
    },
  })
}

/** Which registration each connection was told of, by endpoint, until any of them changes. */
class Lookups {
  readonly #connections = new WeakMap<NatsConnection, number>()
  #count = 0
  readonly #ids = new Map<string, string>()
  /** How often it was cleared. */
  changes = 0

  placeOf(connection: NatsConnection, endpoint: string): string {
    let number = this.#connections.get(connection)
    if (number === undefined) this.#connections.set(connection, (number = this.#count += 1))
    return `${number} ${endpoint}`
  }

  get(place: string): string | undefined {
    return this.#ids.get(place)
  }

  set(place: string, id: string): void {
    this.#ids.set(place, id)
    if (this.#ids.size > maxLookups) this.#ids.delete(this.#ids.keys().next().value!)
  }

  clear(): void {
    this.#ids.clear()
    this.changes += 1
  }
}

/** What is wrong with the form of a name means that there is none. */
function asUnknown(error: unknown): never {
  if (isGantryError(error, 'INVALID_INPUT')) throw new GantryError('NOT_FOUND', 'there is no such extension')
  throw error
}

function knownOf(contract: Contract): Known {
  const [route] = contract.http as [HttpRoute]
  return {
    contract,
    fromQuery: inputReader(contract, { ...route, method: 'GET' }),
    fromBody: inputReader(contract, { ...route, method: 'POST' }),
  }
}

const inputOf = ({ fromQuery, fromBody }: Known, request: FastifyRequest): unknown =>
  bodiless.has(request.method) ? fromQuery(request) : fromBody(request)

/** What the caller is told of an error: one that the endpoint declares, or that may happen to any; else INTERNAL. */
function failureOf({ resource, errors }: Contract, error: GantryError): GantryError {
  const may: readonly ErrorCode[] = [...commonCodes, ...errors]
  // Whether the caller's token is right, no extension knows.
  if (error.code !== 'UNAUTHENTICATED' && may.includes(error.code)) {
    return new GantryError(error.code, error.message, { details: error.details })
  }
  return new GantryError('INTERNAL', `${resource} has failed with ${error.code}: ${error.message}`)
}

function problemOf(
  contract: Contract,
  message: { readonly data: Uint8Array; json(): unknown },
): string | undefined {
  const unreadable = 'the answer is not UTF-8 JSON'
  if (!isUtf8(message.data)) return unreadable
  let answer: unknown
  try {
    answer = message.json()
  } catch {
    return unreadable
  }
  return answerProblem(contract, answer)
}
