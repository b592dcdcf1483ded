import { failuresWith } from '../http/failures.ts'
import { jsonObject } from '../http/json.ts'
import { request, type RetryLimits, retryAfterMs, type Service } from '../http/requests.ts'
import type { FailureClass } from '../contract/driver.ts'
import type { StoreAnswer } from '../http/transport.ts'
import type { MessageQueue, QueueMessage } from '../notifications/message-queue.ts'
import type { AuthorizedTransport } from './authorized-transport.ts'

/** Messages of one answer; the service gives 10 MB at most, whatever is asked for. */
const maxMessages = 1_000
/** Receipts of one request, of some 200 bytes each: the service takes 512 KiB. */
const maxReceipts = 1_000
/** Whoever dies leaves its messages hidden for so long at most; the service takes ten minutes. */
const hiddenMs = 180_000

export const defaultPubSubEndpoint = 'pubsub.googleapis.com'

/** Whether a host is Google's that subscriptions are at, of a region too. */
export const isPubSub = (host: string): boolean => /^(?:[a-z0-9-]+-)?pubsub\.googleapis\.com$/.test(host)

/** An answer of Pub/Sub. */
interface PubSubAnswer extends StoreAnswer {
  /** Undefined where the body is no JSON object. */
  readonly json: Readonly<Record<string, unknown>> | undefined
}

/** A subscription of Pub/Sub, read by pulling: "projects.subscriptions" of its REST reference. */
export class Subscription implements MessageQueue {
  readonly name: string
  readonly hiddenMs = hiddenMs
  readonly #path: string
  readonly #transport: AuthorizedTransport
  readonly #retry: RetryLimits
  readonly #service: Service<PubSubAnswer>

  /** @param path `projects/…/subscriptions/…` @param transport closed with the subscription */
  constructor(path: string, host: string, transport: AuthorizedTransport, limits: RetryLimits) {
    this.name = `subscription ${path}`
    this.#path = path
    this.#transport = transport
    this.#retry = limits
    this.#service = pubSubService(host)
  }

  async identify(signal: AbortSignal): Promise<{ readonly stream: string; readonly keepsMs: number }> {
    const its = await this.#ask('', undefined, signal)
    const { topic, messageRetentionDuration, detached, pushConfig } = its
    if (typeof topic !== 'string' || topic === '_deleted-topic_' || detached === true)
      throw failed('gone', `read ${this.name}`, 'it has no topic any more')
    const pushed = [its['bigqueryConfig'], its['cloudStorageConfig'], textIn(pushConfig, 'pushEndpoint')]
    if (pushed.some((one) => one !== undefined))
      throw failed(
        'refused',
        `read ${this.name}`,
        'its messages are delivered elsewhere: make one of type pull',
      )
    const [, seconds] = /^(\d{1,10})(?:\.\d+)?s$/.exec(String(messageRetentionDuration)) ?? []
    if (seconds === undefined) throw failed('io', `read ${this.name}`, 'the answer is not what Pub/Sub sends')
    return { stream: `${this.#path} ${topic}`.slice(0, 1_000), keepsMs: Number(seconds) * 1_000 }
  }

  async receive(signal: AbortSignal): Promise<readonly QueueMessage[]> {
    const { receivedMessages = [] } = await this.#ask(':pull', { maxMessages }, signal)
    if (!Array.isArray(receivedMessages))
      throw failed('io', `read ${this.name}`, 'the answer has no messages')
    const messages = receivedMessages.map((received) => this.#messageOf(received))
    // They are hidden for as long as the subscription says, which may be ten seconds.
    return this.hide(messages)
  }

  async remove(messages: readonly QueueMessage[]): Promise<void> {
    for (const ackIds of receiptsOf(messages)) await this.#ask(':acknowledge', { ackIds })
  }

  /** Receipts stay; that one is over the service does not say. */
  async hide<M extends Pick<QueueMessage, 'receipt'>>(messages: readonly M[]): Promise<readonly M[]> {
    for (const ackIds of receiptsOf(messages))
      await this.#ask(':modifyAckDeadline', { ackIds, ackDeadlineSeconds: hiddenMs / 1_000 })
    return messages
  }

  close(): void {
    this.#transport.close()
  }

  #messageOf(received: unknown): QueueMessage {
    const receipt = textIn(received, 'ackId')
    const message = memberOf(received, 'message')
    const sentMs = Date.parse(textIn(message, 'publishTime') ?? '')
    if (receipt === undefined || Number.isNaN(sentMs))
      throw failed('io', `read ${this.name}`, 'a message has no receipt, or no time')
    return { body: JSON.stringify(memberOf(message, 'attributes') ?? {}), sentMs, receipt }
  }

  async #ask(
    operation: '' | ':pull' | ':acknowledge' | ':modifyAckDeadline',
    body: object | undefined,
    signal?: AbortSignal,
  ): Promise<Readonly<Record<string, unknown>>> {
    const content = Buffer.from(JSON.stringify(body) ?? '')
    const exchange = async () => {
      const answer = await this.#transport.exchange({
        method: body === undefined ? 'GET' : 'POST',
        target: `/v1/${this.#path.split('/').map(encodeURIComponent).join('/')}${operation}`,
        signal,
        ...(body !== undefined && {
          headers: { 'content-type': 'application/json' },
          body: () => ({ sizeBytes: content.length, content }),
        }),
      })
      return { ...answer, json: jsonObject(answer.body) }
    }
    const what = () => `${operation === '' ? 'look at' : operation.slice(1)} ${this.name}`
    const asked = { what, ...(signal && { signal }) }
    const isWanted = ({ status }: PubSubAnswer) => status >= 200 && status < 300
    return (await request(this.#service, this.#retry, asked, exchange, isWanted)).json ?? {}
  }
}

const receiptsOf = (messages: readonly Pick<QueueMessage, 'receipt'>[]): string[][] =>
  Array.from({ length: Math.ceil(messages.length / maxReceipts) }, (_, index) =>
    messages.slice(index * maxReceipts, (index + 1) * maxReceipts).map(({ receipt }) => receipt),
  )

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>)[name] : undefined

/** Undefined where it is no text, or an empty one. */
function textIn(value: unknown, name: string): string | undefined {
  const text = memberOf(value, name)
  return typeof text === 'string' && text !== '' ? text : undefined
}

const { failed, networkError, noEndpoint } = failuresWith({
  gone: 'create the subscription or correct pubSubSubscription',
  refused: "check the key of the service account, and this machine's clock",
  permission: 'give the service account the roles Pub/Sub Subscriber and Pub/Sub Viewer for the subscription',
  unreachable: 'check pubSubEndpoint, network and the state of the service',
})

const failureOfStatus: Readonly<Record<number, FailureClass>> = {
  401: 'refused',
  403: 'permission',
  404: 'gone',
  408: 'unreachable',
  429: 'throttled',
}

const maxMessageLength = 500

function answerError(what: string, answer: PubSubAnswer) {
  const { status, json } = answer
  const said = textIn(json?.['error'], 'message')?.slice(0, maxMessageLength) ?? 'without a reason'
  const known = isOfService(answer) ? failureOfStatus[status] : undefined
  const failure = known ?? (status >= 500 || !isOfService(answer) ? 'unreachable' : 'io')
  return failed(failure, what, `${status} ${said}`, { retryAfterMs: retryAfterMs(answer) })
}

/** Errors have a status in words; all else is a JSON object. */
const isOfService = ({ status, json }: PubSubAnswer): boolean =>
  status < 300 ? json !== undefined : textIn(json?.['error'], 'status') !== undefined

const pubSubService = (host: string): Service<PubSubAnswer> => ({
  isOfService,
  answerError,
  foreignAnswer: (what, { status }) =>
    failed('unreachable', what, `${status} without anything that Pub/Sub answers`),
  networkError,
  noEndpoint: (what, found) => noEndpoint(what, host, 'Pub/Sub', found),
})
