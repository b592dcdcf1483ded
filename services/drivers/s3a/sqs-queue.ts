import { hash } from 'node:crypto'
import type { StoreAddress } from '../http/store-address.ts'
import type { AwsCredentials } from '../aws-credentials/host-credentials.ts'
import type { FailureClass, StoreError } from '../contract/driver.ts'
import { failuresWith, type Fixes } from '../http/failures.ts'
import { jsonObject } from '../http/json.ts'
import type { Renewable } from '../http/renewed.ts'
import { request, type RetryLimits, retryAfterMs, type Service } from '../http/requests.ts'
import { StoreClock } from '../http/store-clock.ts'
import { type StoreAnswer, Transport, type TransportLimits } from '../http/transport.ts'
import { maxFeedAnswerBytes } from '../feeds/answers.ts'
import type { MessageQueue, QueueMessage, ReceivedMessage } from '../notifications/message-queue.ts'
import type { QueueAddress } from './queue-address.ts'
import { S3Signer, signingTime } from './signing.ts'

/** In one request: the most that the service takes. */
const batchSize = 10
/** The longest that the service waits for messages. */
const waitSeconds = 20
/** What is not done comes again this time after a kill; as long as it is worked on it is hidden anew before that. */
const hiddenSeconds = 30
/** Of a queue that is not set to another; services that keep messages for ever do not tell. */
const usualRetentionSeconds = 4 * 24 * 3_600
/** An error is a few lines. */
const maxErrorBytes = 64 * 1024
/** Of a message: the most that the service takes. */
const maxBodyLength = 1024 * 1024
/** An answer comes when something does, or the wait is over. */
const idleTimeoutMs = (waitSeconds + 20) * 1_000
/** Of messages that are removed or hidden: as many as are received. */
const batchesAtOnce = 4
/** Those that wait for messages, which are four, and others. */
const connections = 4 + 2 * batchesAtOnce

/** An answer of the service. */
interface SqsAnswer extends StoreAnswer {
  /** Without the name of its API; undefined on success. */
  readonly code: string | undefined
}

const failureOfCode: Readonly<Record<string, FailureClass>> = {
  QueueDoesNotExist: 'gone',
  'AWS.SimpleQueueService.NonExistentQueue': 'gone',
  NonExistentQueue: 'gone',
  InvalidAddress: 'gone',
  OverLimit: 'throttled',
  RequestThrottled: 'throttled',
  ThrottlingException: 'throttled',
  KmsThrottled: 'throttled',
  KmsAccessDenied: 'refused',
  KmsDisabled: 'refused',
  KmsInvalidState: 'refused',
  KmsNotFound: 'refused',
  InvalidSecurity: 'refused',
  ServiceUnavailable: 'unreachable',
}

const fixes: Fixes = {
  gone: 'check sqsQueue, and the region and account that it is of',
  refused:
    'allow the key sqs:GetQueueUrl, sqs:GetQueueAttributes, sqs:ReceiveMessage, sqs:DeleteMessage and sqs:ChangeMessageVisibility',
  unreachable: 'check sqsEndpoint, network and the state of the service',
  throttled: 'try later',
}

const { failed, networkError, noEndpoint } = failuresWith(fixes)

/** Services other than Amazon's leave out the headers of its name. */
const isOfService = ({ headers, code }: SqsAnswer): boolean =>
  code !== undefined ||
  headers['x-amzn-requestid'] !== undefined ||
  /^application\/(?:x-amz-json-1\.[01]|json)\b/.test(headers['content-type'] ?? '')

function failureOf({ status, code }: SqsAnswer): FailureClass {
  const known = code === undefined ? undefined : failureOfCode[code]
  if (known !== undefined) return known
  if (status === 401 || status === 403 || /^(?:AccessDenied|UnrecognizedClient)/.test(code ?? ''))
    return 'refused'
  // Whatever else is said about credentials or signatures comes as a 400.
  if (/Token|Signature|Credential|ClientId/.test(code ?? '')) return 'refused'
  if (status === 429) return 'throttled'
  return status >= 500 || code === undefined ? 'unreachable' : 'io'
}

function answerError(what: string, answer: SqsAnswer): StoreError {
  const { status, code, headers } = answer
  const id = headers['x-amzn-requestid']
  const said = `${status} ${code ?? 'without an error code'}${typeof id === 'string' ? ` (request ${id.slice(0, 100)})` : ''}`
  return failed(failureOf(answer), what, said, { retryAfterMs: retryAfterMs(answer) })
}

const sqsService = (
  host: string,
  address: Pick<StoreAddress, 'mayBeRefused'> | undefined,
): Service<SqsAnswer> => ({
  isOfService,
  answerError,
  foreignAnswer: (what, { status }) =>
    failed('unreachable', what, `${status} without anything that SQS answers`),
  networkError,
  noEndpoint: (what, found) => noEndpoint(what, host, 'SQS', found, address),
})

export interface SqsOptions {
  readonly address: QueueAddress
  readonly credentials: Renewable<AwsCredentials>
  readonly limits: RetryLimits & Pick<TransportLimits, 'connectTimeoutMs'>
  /** Where connections may go; undefined for anywhere. */
  readonly bounds: StoreAddress | undefined
}

type Call =
  | 'GetQueueUrl'
  | 'GetQueueAttributes'
  | 'ReceiveMessage'
  | 'DeleteMessageBatch'
  | 'ChangeMessageVisibilityBatch'

interface Asked {
  readonly signal?: AbortSignal
  readonly isProbe?: boolean
  readonly retries?: number
}

/** A queue of Amazon SQS, or of a service that speaks its JSON protocol. */
export class SqsQueue implements MessageQueue {
  readonly name: string
  readonly hiddenMs = hiddenSeconds * 1_000
  readonly #options: SqsOptions
  readonly #transport: Transport
  readonly #service: Service<SqsAnswer>
  readonly #clock = new StoreClock()
  #signer: S3Signer | undefined
  #url: string | undefined

  constructor(options: SqsOptions) {
    const { address, limits, bounds } = options
    this.#options = options
    this.name = queueName(address)
    this.#service = sqsService(address.endpoint.host, bounds)
    this.#url = address.url
    this.#transport = new Transport(
      address.endpoint,
      {
        connectTimeoutMs: limits.connectTimeoutMs,
        idleTimeoutMs,
        connections,
        maxAnswerBytes: maxFeedAnswerBytes,
      },
      bounds,
    )
  }

  /** Its ARN is the same for another queue of its name: when it was made is not. */
  async identify(signal: AbortSignal): Promise<{ readonly stream: string; readonly keepsMs: number }> {
    return this.#attributes({ signal })
  }

  /** Throws a StoreError where the queue is not there or may not be read: it is asked for one message, which stays. */
  async probe(signal: AbortSignal): Promise<void> {
    await this.#attributes({ signal, isProbe: true, retries: 1 })
    await this.#call(
      'ReceiveMessage',
      {
        QueueUrl: await this.#queueUrl({ signal }),
        MaxNumberOfMessages: 1,
        VisibilityTimeout: 0,
        WaitTimeSeconds: 0,
      },
      { signal, retries: 1 },
    )
  }

  async #attributes(asked: Asked): Promise<{ readonly stream: string; readonly keepsMs: number }> {
    const answer = await this.#call(
      'GetQueueAttributes',
      {
        QueueUrl: await this.#queueUrl(asked),
        AttributeNames: ['QueueArn', 'CreatedTimestamp', 'MessageRetentionPeriod'],
      },
      asked,
    )
    const {
      QueueArn: arn,
      CreatedTimestamp: made,
      MessageRetentionPeriod: seconds = usualRetentionSeconds,
    } = recordOf(answer['Attributes'])
    const keepsMs = Number(seconds) * 1_000
    if (
      typeof arn !== 'string' ||
      typeof made !== 'string' ||
      arn.length + made.length > 900 ||
      !(keepsMs > 0)
    )
      throw failed('unreachable', `attributes of ${this.name}`, 'the answer has none')
    return { stream: `${arn} ${made}`, keepsMs }
  }

  async receive(signal: AbortSignal): Promise<readonly QueueMessage[]> {
    const { Messages: messages } = await this.#call(
      'ReceiveMessage',
      {
        QueueUrl: await this.#queueUrl({ signal }),
        MaxNumberOfMessages: batchSize,
        WaitTimeSeconds: waitSeconds,
        VisibilityTimeout: hiddenSeconds,
        AttributeNames: ['SentTimestamp'],
      },
      // Whoever waits for messages asks again in any case.
      { signal, retries: 0 },
    )
    return (Array.isArray(messages) ? messages : []).flatMap((message) => messageOf(message) ?? [])
  }

  async remove(messages: readonly ReceivedMessage[]): Promise<void> {
    const kept = (await this.#each('DeleteMessageBatch', messages, {})).filter((one) => one === 'failed')
    if (kept.length > 0)
      throw failed(
        'unreachable',
        `remove messages of ${this.name}`,
        `${kept.length} of ${messages.length} are left`,
      )
  }

  async hide(messages: readonly ReceivedMessage[]): Promise<readonly (ReceivedMessage | undefined)[]> {
    const outcomes = await this.#each('ChangeMessageVisibilityBatch', messages, {
      VisibilityTimeout: hiddenSeconds,
    })
    return messages.map((message, index) => (outcomes[index] === 'done' ? message : undefined))
  }

  close(): void {
    this.#transport.close()
  }

  /** Does something to each of the messages, as many together as may be; one that is not there any more is `gone`. */
  async #each(
    call: Call,
    messages: readonly ReceivedMessage[],
    entry: Readonly<Record<string, unknown>>,
  ): Promise<readonly ('done' | 'gone' | 'failed')[]> {
    const outcomes = messages.map((): 'done' | 'gone' | 'failed' => 'failed')
    const url = await this.#queueUrl({})
    const batch = async (at: number) => {
      const entries = messages
        .slice(at, at + batchSize)
        .map(({ receipt }, index) => ({ Id: String(at + index), ReceiptHandle: receipt, ...entry }))
      const answer = await this.#call(call, { QueueUrl: url, Entries: entries }, {})
      for (const { Id: id } of recordsIn(answer['Successful'])) outcomes[Number(id)] &&= 'done'
      for (const { Id: id, SenderFault: isOurs } of recordsIn(answer['Failed']))
        if (isOurs === true) outcomes[Number(id)] &&= 'gone'
    }
    let next = 0
    const work = async () => {
      for (let at = next; at < messages.length; at = next) {
        next = at + batchSize
        await batch(at)
      }
    }
    await Promise.all(Array.from({ length: batchesAtOnce }, work))
    return outcomes
  }

  async #queueUrl(asked: Asked): Promise<string> {
    if (this.#url !== undefined) return this.#url
    const { name, account } = this.#options.address
    const answer = await this.#call(
      'GetQueueUrl',
      { QueueName: name, ...(account !== undefined && { QueueOwnerAWSAccountId: account }) },
      asked,
    )
    const url = answer['QueueUrl']
    if (typeof url !== 'string' || url.length > 1_000)
      throw failed('unreachable', `find ${this.name}`, 'the answer has no address')
    // A name for the service alone: requests go to the endpoint.
    this.#url = url
    return url
  }

  async #call(
    call: Call,
    parameters: Readonly<Record<string, unknown>>,
    { signal, isProbe = false, retries }: Asked,
  ): Promise<Readonly<Record<string, unknown>>> {
    const body = Buffer.from(JSON.stringify(parameters))
    const what = () => `${call} of ${this.name}`
    const asked = { what, isProbe, ...(signal && { signal }), ...(retries !== undefined && { retries }) }
    const answer = await request(
      this.#service,
      this.#options.limits,
      asked,
      () => this.#exchange(call, body, signal),
      ({ status }) => status === 200,
    )
    const json = jsonObject(answer.body)
    if (json === undefined) throw failed('unreachable', what(), 'the answer cannot be read')
    return json
  }

  /** One try, and one more where the credentials have ended, or only the clock was wrong. */
  async #exchange(call: Call, body: Buffer, signal: AbortSignal | undefined): Promise<SqsAnswer> {
    const aheadMs = this.#clock.aheadMs
    const answer = await this.#send(call, body, signal)
    if (answer.status === 200 || failureOf(answer) !== 'refused') return answer
    const isExpired = /Expired|Token/.test(answer.code ?? '')
    const { credentials } = this.#options
    if (isExpired && credentials.forget !== undefined && this.#signer !== undefined) {
      credentials.forget(this.#signer.credentials)
      return this.#send(call, body, signal)
    }
    return this.#clock.aheadMs === aheadMs ? answer : this.#send(call, body, signal)
  }

  async #send(call: Call, body: Buffer, signal: AbortSignal | undefined): Promise<SqsAnswer> {
    const { address, credentials: renewable } = this.#options
    const { host, port, secure } = address.endpoint
    const credentials = await renewable.get()
    if (credentials !== this.#signer?.credentials)
      this.#signer = new S3Signer(credentials, address.region, 'sqs')
    const time = signingTime(Date.now() + this.#clock.aheadMs)
    const headers: (readonly [string, string])[] = [
      ['content-type', 'application/x-amz-json-1.0'],
      ['host', port === (secure ? 443 : 80) ? host : `${host}:${port}`],
      ['x-amz-date', time],
      ...(credentials.sessionToken === undefined
        ? []
        : ([['x-amz-security-token', credentials.sessionToken]] as const)),
      ['x-amz-target', `AmazonSQS.${call}`],
    ]
    const payload = hash('sha256', body)
    const { authorization } = this.#signer.sign({
      method: 'POST',
      path: '/',
      query: '',
      headers,
      payload,
      time,
    })
    const sent = [...headers.flat(), 'authorization', authorization, 'user-agent', 'gantry']
    const askedMs = Date.now()
    const answer = await this.#transport.exchange({
      method: 'POST',
      target: '/',
      headers: [...sent, 'content-length', String(body.length)],
      body,
      signal,
    })
    // Of one that waited for messages the date is that of its end.
    this.#clock.told(answer.headers.date ?? '', askedMs, Date.now())
    return { ...answer, code: codeOf(answer) }
  }
}

/** For people. */
export const queueName = ({ name }: QueueAddress): string => `the queue ${name} (SQS)`

/** An error has its name in the body, after the name of the API; one of the whole service only in a header. */
function codeOf({ status, headers, body }: StoreAnswer): string | undefined {
  if (status < 300) return undefined
  const type =
    (body.length < maxErrorBytes ? jsonObject(body) : undefined)?.['__type'] ?? headers['x-amzn-errortype']
  return typeof type === 'string' ? /^(?:.*#)?([\w.]{1,100})/.exec(type)?.[1] : undefined
}

const recordOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {}

const recordsIn = (value: unknown): readonly Readonly<Record<string, unknown>>[] =>
  Array.isArray(value) ? value.map(recordOf) : []

/** Undefined for what no message is. */
function messageOf(value: unknown): QueueMessage | undefined {
  const { Body: body, ReceiptHandle: receipt, Attributes: attributes } = recordOf(value)
  if (typeof receipt !== 'string' || typeof body !== 'string') return undefined
  const sentMs = Number(recordOf(attributes)['SentTimestamp'])
  // Too long for the service: nobody understands it.
  return {
    body: body.length > maxBodyLength ? '' : body,
    receipt,
    sentMs: Number.isFinite(sentMs) ? sentMs : 0,
  }
}
