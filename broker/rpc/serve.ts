import type { Msg, NatsConnection, Subscription } from '@nats-io/transport-node'
import type { Contract, Handler, Handlers, Resource } from '../../subjects/kit/contract.ts'
import { commonCodes, type ErrorCode, GantryError, isGantryError } from '../../subjects/kit/errors.ts'
import type { MetricRegistry } from '../../subjects/observability/metric-registry.ts'
import { holdsText, jsonSchema } from '../../subjects/kit/json-schema.ts'
import { product, roots, serviceQueue } from '../../subjects/kit/names.ts'
import { unguessable } from '../../subjects/kit/unguessable.ts'
import { check, problemsOf } from '../../subjects/kit/validate.ts'
import { callerOf } from '../messages/caller.ts'
import { addressMarks, addressOf } from '../messages/client-address.ts'
import { deadlineOf } from '../../client/call.ts'
import { Announcer, EndpointStats, serviceMeters } from './discovery.ts'
import { errorReply, fits } from '../messages/error-reply.ts'
import { type FloodGuard, measuredBytes, throttled } from '../limits/flood-guard.ts'
import { replyHeader, replyHeaders } from '../messages/headers.ts'
import { inRequest } from '../messages/request-context.ts'
import type { Identity } from '../identity/identity.ts'
import { isTransient } from '../state/jetstream.ts'
import type { Log } from '../common/log.ts'
import { type Recorder, Recording } from './recording.ts'
import { bodyOf, requestIdOf } from '../messages/request.ts'
import { ServedCall } from './served-call.ts'
import { maxPayloadBytes } from '../common/message-limits.ts'
import { type BeginSpan, type Span, traceOf } from '../messages/tracing.ts'

/** Requests that one service works on at once; more are told to come again, before memory fills with them. */
const defaultConcurrency = 256
/**
 * A service that is full takes this part of its concurrency from each further caller, so that nobody keeps it from the
 * others with requests that take long; and this many times its concurrency from all together.
 */
const shareOfCaller = 1 / 32
const whenShared = 5

export interface ServeOptions {
  readonly identity: Pick<Identity, 'GANTRY' | 'AGENTS' | 'derive'>
  readonly version: string
  readonly log: Log
  /** Takes the outcomes of contracts that say that they are recorded. */
  readonly recorder?: Recorder
  readonly concurrency?: number
  /** Holds up those who send more than they may. */
  readonly floods?: Pick<FloodGuard, 'judge' | 'answered' | 'took'>
  /** Where it is announced together with others; alone by default. */
  readonly announcer?: Announcer
  /** Where requests are counted. */
  readonly metrics?: MetricRegistry
  /** Begins a span for each request that belongs to a trace. */
  readonly beginSpan?: BeginSpan
}

/** A service that is answering. */
export interface Service {
  readonly name: string
  readonly id: string
  /** Takes no more requests and resolves when those under way are answered. */
  stop(): Promise<void>
}

/**
 * Answers the contracts of a resource with its handlers, as a micro-service (NATS ADR-32). Every request gets exactly
 * one reply: the output, checked against its schema, or an error body.
 */
export function serve<R extends Resource>(
  connection: NatsConnection,
  contracts: R,
  handlers: Handlers<R>,
  {
    identity,
    version,
    log,
    recorder,
    concurrency = defaultConcurrency,
    floods,
    announcer,
    metrics,
    beginSpan,
  }: ServeOptions,
): Service {
  const id = unguessable()
  const inFlight = new RequestsInFlight()
  const marks = addressMarks(identity)
  const maxReplyBytes = () => connection.info?.max_payload ?? maxPayloadBytes
  const subscriptions: Subscription[] = []
  const endpoints: EndpointStats[] = []
  let resource = ''
  for (const [verb, contract] of Object.entries(contracts)) {
    resource = contract.resource
    const stats = new EndpointStats(contract, metrics && serviceMeters(metrics, resource))
    endpoints.push(stats)
    const handler = handlers[verb as keyof R] as Handler<Contract>
    const addressIn = (message: Msg, requestId: string) =>
      addressOf(message, marks, { subject: contract.subject, requestId })
    const done = (call: ServedCall, span: Span | undefined, error?: GantryError): void => {
      call.answered(connection, log)
      stats.count(call.started, error)
      span?.end(error?.code)
      if (log.level !== 'debug') return
      const { requestId, started } = call
      const details = { requestId, subject: contract.subject, ms: Math.round(performance.now() - started) }
      log.debug({ ...details, result: error?.code ?? 'ok' }, 'Answered a request.')
    }
    const mark = isMarked(contract) ? { headers: replyHeaders(contract.subject) } : undefined
    const refuse = (message: Msg): void => {
      const { body, headers } = errorReply(throttled(), requestIdOf(message), maxReplyBytes())
      headers.set(replyHeader, contract.subject)
      message.respond(body, { headers })
    }
    const take = async (message: Msg): Promise<void> => {
      const call = new ServedCall(message, addressIn)
      const parent = traceOf(message)
      const span = parent && beginSpan?.(parent, contract.subject, { 'gantry.request.id': call.requestId })
      call.trace = span?.context ?? parent
      const caller = callerOf(message, identity)
      const user = caller === undefined ? nobody : caller.kind === 'key' ? caller.keyId : platformUser
      const isRoom = inFlight.add(user, concurrency)
      let recording: Recording | undefined
      try {
        if (!isRoom) {
          throw new GantryError(
            'OVERLOADED',
            `${contract.resource} already processes ${concurrency} requests; try again in a moment`,
          )
        }
        if (recorder !== undefined && contract.audit !== undefined) {
          recorder.requireRoom()
          recording = new Recording({ contract, message, requestId: call.requestId, recorder, marks, log })
          recording.caller = caller
        }
        if (caller === undefined)
          throw new GantryError('UNAUTHENTICATED', 'the request does not identify the caller')
        call.caller = caller
        const output = inRequest(call, answer, contract, handler, call, { recording, floods })
        // An answer that is there at once is sent at once: waiting costs a fifth of a short request.
        const body = typeof output === 'string' ? output : await output
        if (!fits(body, maxReplyBytes())) throw tooLargeReply()
        if (recording !== undefined) await recording.succeeded(call.replaced)
        // Faster than the client, which would make bytes of a text with a TextEncoder.
        const bytes = Buffer.from(body)
        message.respond(bytes, mark)
        // Parts of a download are read one after the other, and the file as fast as the network is.
        if (contract.download === undefined) floods?.answered(message, bytes.length)
        done(call, span)
      } catch (error) {
        const { requestId } = call
        const known = knownError(contract, error, requestId, log)
        if (recording !== undefined) await recording.failed(known)
        const { body, headers } = errorReply(known, requestId, maxReplyBytes())
        headers.set(replyHeader, contract.subject)
        message.respond(body, { headers })
        done(call, span, known)
      } finally {
        inFlight.remove(user)
      }
    }
    subscriptions.push(
      connection.subscribe(contract.subject, {
        queue: serviceQueue,
        callback: (error, message) => {
          if (error !== null) {
            log.error({ err: error, subject: contract.subject }, 'A service lost a subscription.')
            return
          }
          const verdict = floods?.judge(message) ?? 'answer'
          // Without a reply nobody could learn the outcome; a capability is a request or nothing.
          if (verdict === 'drop' || !message.reply) return
          if (verdict === 'refuse') {
            refuse(message)
            return
          }
          take(message).catch((err: unknown) =>
            log.error({ err, subject: contract.subject }, 'A reply could not be sent.'),
          )
        },
      }),
    )
  }
  const name = `${product}-${resource}`
  const own = announcer === undefined ? new Announcer(connection, floods) : undefined
  const started = new Date().toISOString()
  const forget = (announcer ?? own!).add({ name, id, version, endpoints, started })
  const stop = async (): Promise<void> => {
    await Promise.all([forget(), own?.stop()])
    if (!connection.isClosed()) await Promise.all(subscriptions.map((subscription) => subscription.drain()))
    await inFlight.empty()
  }
  let stopped: Promise<void> | undefined
  return { name, id, stop: () => (stopped ??= stop()) }
}

/**
 * Whether each answer says in a header that it is one: whoever may ask chooses where the answer is wanted, and what it holds
 * may be a text of the same caller, so that others might take it for a publication. The header takes a few percent of a
 * short request; answers without any text do without.
 */
const isMarked = ({ subject, output }: Contract): boolean =>
  !subject.startsWith(`${roots.internal}.`) && holdsText(jsonSchema(output))

/** Requests of the platform's own services count as those of one caller; no key has this name. */
const platformUser = ''
/** Those of whom the broker does not say who they are, which are refused; no key has this name either. */
const nobody = '?'

/** Requests that are being answered. */
class RequestsInFlight {
  readonly #byUser = new Map<string, number>()
  #count = 0
  #empty: PromiseWithResolvers<void> | undefined

  /** @returns whether there is room for it; it is to be removed in any case */
  add(user: string, concurrency: number): boolean {
    const own = (this.#byUser.get(user) ?? 0) + 1
    this.#byUser.set(user, own)
    this.#count += 1
    if (this.#count <= concurrency) return true
    return own <= Math.max(1, concurrency * shareOfCaller) && this.#count <= concurrency * whenShared
  }

  remove(user: string): void {
    const own = this.#byUser.get(user)! - 1
    if (own === 0) this.#byUser.delete(user)
    else this.#byUser.set(user, own)
    this.#count -= 1
    if (this.#count === 0) this.#empty?.resolve()
  }

  async empty(): Promise<void> {
    if (this.#count === 0) return
    this.#empty ??= Promise.withResolvers()
    await this.#empty.promise
  }
}

/** The reply's body, at once when the handler is synchronous. @throws what the handler throws */
function answer(
  contract: Contract,
  handler: Handler<Contract>,
  call: ServedCall,
  { recording, floods }: { recording: Recording | undefined; floods: ServeOptions['floods'] },
): string | Promise<string> {
  const input = inputOf(contract, call.message, floods)
  recording?.name(input)
  const body = (output: unknown): string => {
    recording?.name(output)
    return encode(contract, output)
  }
  const output = handler(input, call)
  return output instanceof Promise ? beforeDeadline(contract, output.then(body), call) : body(output)
}

function inputOf(contract: Contract, message: Msg, floods: ServeOptions['floods']): unknown {
  if (floods === undefined || message.data.length < measuredBytes)
    return check(contract.input, bodyOf(message))
  const before = process.threadCpuUsage()
  try {
    return check(contract.input, bodyOf(message))
  } finally {
    const { user, system } = process.threadCpuUsage(before)
    floods.took(message, (user + system) / 1_000)
  }
}

function beforeDeadline(contract: Contract, body: Promise<string>, call: ServedCall): Promise<string> {
  const deadlineMs = deadlineOf(contract)
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const timer = setTimeout(() => {
    reject(new GantryError('TIMEOUT', `${contract.subject} took longer than ${deadlineMs} ms`))
    call.abort()
  }, deadlineMs)
  body.then(resolve, reject).finally(() => clearTimeout(timer))
  return promise
}

function encode(contract: Contract, output: unknown): string {
  const problems = problemsOf(contract.output, output)
  // A wrong reply is the service's fault, never the caller's.
  if (problems.length > 0) throw new Error(`the reply does not fit its schema: ${JSON.stringify(problems)}`)
  return JSON.stringify(output)
}

/** What the caller is told: errors that the contract declares; anything else is INTERNAL, and its cause in our log. */
function knownError(contract: Contract, error: unknown, requestId: string, log: Log): GantryError {
  if (isGantryError(error) && declared(contract, error.code)) return error
  if (isTransient(error)) {
    log.warn({ err: error, subject: contract.subject, requestId }, 'The broker did not answer a handler.')
    return new GantryError('UNAVAILABLE', 'the broker does not respond to the service; try again')
  }
  log.error({ err: error, subject: contract.subject, requestId }, 'A handler failed.')
  return new GantryError('INTERNAL', 'internal error: find the request id in the log')
}

const declared = (contract: Contract, code: ErrorCode): boolean =>
  contract.errors.includes(code) || (commonCodes as readonly ErrorCode[]).includes(code)

const tooLargeReply = () =>
  new GantryError('TOO_LARGE', 'the reply is too large for one message; use a smaller limit')
