import { setTimeout as delay } from 'node:timers/promises'
import { InnerAddressError } from '../../../broker/common/inner-addresses.ts'
import { StoreError } from '../contract/driver.ts'
import { jobSignal } from './job-signal.ts'
import { isStaleConnection, type StoreAnswer, UnreadableBody, UntakenBody } from './transport.ts'

export interface RetryLimits {
  readonly retries: number
  readonly minBackoffMs: number
  readonly maxBackoffMs: number
}

/** What is asked of a store, whatever its protocol. */
export interface Asked {
  /** Operation and object for messages, made only when they are needed. */
  readonly what: () => string
  readonly retries?: number
  /** The endpoint is one that nobody has spoken to: what is there if it is no such service, is not told. */
  readonly isProbe?: boolean
  /** Default: that of the job which it is asked in. */
  readonly signal?: AbortSignal | undefined
  /** Called before each repetition, with what the request depends on and the store does not check: what it throws is thrown. */
  readonly beforeRetry?: () => Promise<void>
}

/** How a service answers. The errors that it makes have the class and the words for callers. */
export interface Service<A extends StoreAnswer> {
  /** Whether an answer comes from such a service: a redirection, a proxy or any other server does not say so. */
  isOfService(answer: A): boolean
  answerError(what: string, answer: A): StoreError
  /** Of an answer that would be right, if the service had given it. */
  foreignAnswer(what: string, answer: A): StoreError
  networkError(what: string, error: NodeJS.ErrnoException): StoreError
  /** In place of any error of a probe that no such service answered; the same whatever is there. */
  noEndpoint(what: string, found: StoreError): StoreError
}

/** Statuses after which the same request may succeed. */
const retryable = new Set([408, 429, 500, 502, 503, 504])

/**
 * The answer of the service, if it is accepted. Throws a StoreError otherwise, after the retries that the kind of failure is
 * worth; the signal's reason when aborted; what a body throws that cannot be read, or a receiver. For requests that are harmless when
 * repeated: the answer to one that was says so, as the service may have done it already at an earlier try whose answer was
 * lost.
 * @param exchange one try, which ends with the signal
 * @param isAccepted whether an answer is one for the caller, and no error
 */
export async function request<A extends StoreAnswer>(
  service: Service<A>,
  limits: RetryLimits,
  { what, retries = limits.retries, isProbe = false, signal = jobSignal(), beforeRetry }: Asked,
  exchange: (signal: AbortSignal | undefined) => Promise<A>,
  isAccepted: (answer: A) => boolean,
): Promise<A & { readonly isRepeated: boolean }> {
  let isRepeated = false
  for (let attempt = 0; ; isRepeated = true) {
    if (isRepeated) await beforeRetry?.()
    const outcome = await exchange(signal).catch((error: Error) => error)
    signal?.throwIfAborted()
    if (outcome instanceof UnreadableBody || outcome instanceof UntakenBody) throw outcome.cause
    // What a try found out beyond the answer.
    if (outcome instanceof StoreError) throw outcome
    if (isStaleConnection(outcome)) continue
    const answered = !(outcome instanceof Error)
    const isOurs = answered && service.isOfService(outcome)
    const accepted = answered && isAccepted(outcome)
    if (isOurs && accepted) return { ...outcome, isRepeated }
    const problem = !answered
      ? service.networkError(what(), outcome)
      : accepted
        ? service.foreignAnswer(what(), outcome)
        : service.answerError(what(), outcome)
    const askedMs = problem.retryAfterMs ?? 0
    const isFinal = answered
      ? !accepted && !retryable.has(outcome.status)
      : !isProbe && outcome instanceof InnerAddressError
    if (attempt >= retries || askedMs > limits.maxBackoffMs || isFinal)
      throw isProbe && !isOurs ? service.noEndpoint(what(), problem) : problem
    const waitMs = Math.max(askedMs, backoffMs(limits, attempt++))
    await delay(waitMs, undefined, signal === undefined ? {} : { signal }).catch(() =>
      signal?.throwIfAborted(),
    )
  }
}

/** Doubles, up to the limit; half of it is random, so that workers that were refused together do not return together. */
const backoffMs = ({ minBackoffMs, maxBackoffMs }: RetryLimits, attempt: number): number =>
  Math.min(minBackoffMs * 2 ** attempt, maxBackoffMs) * (0.5 + Math.random() / 2)

/** Milliseconds that an answer asks to wait, in whole seconds; a date, which HTTP also allows, no store uses. */
export function retryAfterMs({ headers }: StoreAnswer): number | undefined {
  const seconds = Number(headers['retry-after'] ?? NaN)
  return seconds >= 0 ? seconds * 1_000 : undefined
}
