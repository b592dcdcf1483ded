import { type PartBody, piecesOf, type StorePath } from '../contract/driver.ts'
import { nameOf } from '../http/connection.ts'
import { parseJson } from '../http/json.ts'
import { type Asked, request, type RetryLimits, type Service } from '../http/requests.ts'
import type { StoreAddress } from '../http/store-address.ts'
import {
  type Receiver,
  type StoreAnswer,
  type StoreEndpoint,
  Transport,
  type TransportLimits,
} from '../http/transport.ts'
import { failed, type HdfsAnswer, hdfsService, isOfStandby, isTokenRefused } from './errors.ts'
import { DelegationTokens, type Validity } from './delegation-tokens.ts'

export type What = () => string

export interface HdfsRequest extends Asked {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE'
  readonly op: string
  readonly path: StorePath
  /** Parameters, not percent-encoded. */
  readonly params?: Readonly<Record<string, string>>
  /** Sent to the data node that the name node names. */
  readonly body?: Buffer | PartBody
  readonly receiver?: Receiver
  /** Exceptions that are answers to the caller. */
  readonly accept?: readonly string[]
  /** Who asks, where that is not said as in all other requests: by a ticket of Kerberos, or by a token that is to go. */
  readonly as?: 'ticket' | { readonly delegation: string }
}

/** Whoever asks. */
export interface Identity {
  /** Parameters of each request that comes without a token. */
  readonly parameters: Readonly<Record<string, string>>
  /**
   * A ticket for a name node, as HTTP has it in base64: with it tokens are got. Without it the cluster believes the parameters.
   * Rejects with a StoreError.
   */
  readonly negotiate?: ((endpoint: StoreEndpoint) => Promise<string>) | undefined
}

/** Of dates in HTTP, as `Sun, 06 Nov 1994 08:49:37 GMT`. */
const dateLength = 29

/** Longest wait for a cluster to hear that a token is not used any more. */
const farewellMs = 2_000

/** Data nodes that connections are kept to, the one that was not used for the longest time goes first. */
const maxDataNodes = 512

/** Where a redirection leads, and its query: nothing but the web interface of HDFS. */
const redirection =
  /^(https?):\/\/([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):(\d{1,5})\/webhdfs\/v1\/[!->@-~]*\?([!-~]*)$/

/**
 * Requests to one cluster: to the name node that is active, from there to data nodes, retried, errors classified. A data node
 * is at an address that the name node says: it is judged as that of the cluster is.
 */
export class HdfsClient {
  readonly #nameNodes: readonly { readonly endpoint: StoreEndpoint; readonly transport: Transport }[]
  readonly #dataNodes = new Map<string, Transport>()
  readonly #identity: Identity
  readonly #tokens: DelegationTokens | undefined
  readonly #limits: TransportLimits & RetryLimits
  readonly #service: Service<HdfsAnswer>
  readonly #addressOf: ((endpoint: StoreEndpoint) => StoreAddress) | undefined
  /** Index of the name node that answered last. */
  #active = 0

  /** @param addressOf where connections may go; without it anywhere */
  constructor(
    nameNodes: readonly StoreEndpoint[],
    identity: Identity,
    limits: TransportLimits & RetryLimits,
    addressOf?: (endpoint: StoreEndpoint) => StoreAddress,
  ) {
    this.#identity = identity
    this.#limits = limits
    this.#addressOf = addressOf
    this.#nameNodes = nameNodes.map((endpoint) => ({ endpoint, transport: this.#transportTo(endpoint) }))
    const [first] = nameNodes
    this.#service = hdfsService(
      first === undefined ? '' : nameOf(first),
      identity.negotiate !== undefined,
      first && addressOf?.(first),
    )
    this.#tokens = identity.negotiate && new DelegationTokens(this.#tokenService())
  }

  /** See `requests.ts`: an answer is for the caller if it is a success, or its exception is accepted. */
  request(asked: HdfsRequest): Promise<HdfsAnswer & { readonly isRepeated: boolean }> {
    const accept = ({ status, exception }: HdfsAnswer) =>
      (status >= 200 && status < 300) ||
      (exception !== undefined && asked.accept?.includes(exception) === true)
    return request(
      this.#service,
      this.#limits,
      asked,
      (signal) => this.#exchange({ ...asked, signal }),
      accept,
    )
  }

  /** The JSON of an answer, of which `read` takes what the caller wants. Throws `unreachable` where that is not in it. */
  async json<T>(asked: HdfsRequest, read: (json: unknown) => T | undefined): Promise<T> {
    const answer = await this.request(asked)
    const value = read(answer.json)
    if (value === undefined) throw this.#service.foreignAnswer(asked.what(), answer)
    return value
  }

  async close(): Promise<void> {
    await this.#tokens?.close()
    for (const { transport } of this.#nameNodes) transport.close()
    for (const transport of this.#dataNodes.values()) transport.close()
  }

  /** What concerns tokens is about the root, and asked with a ticket. */
  #tokenService() {
    const asked = { method: 'PUT', path: Buffer.alloc(0), as: 'ticket' } as const
    return {
      get: (wanting: Pick<HdfsRequest, 'retries' | 'isProbe'>) => {
        const what = () => 'a delegation token'
        return this.json({ ...asked, ...wanting, method: 'GET', op: 'GETDELEGATIONTOKEN', what }, (json) => {
          const given = field(json, 'Token')
          if (given === null)
            throw failed(
              'unsupported',
              what(),
              'the cluster gives none, as it has no Kerberos; leave kerberosPrincipal and kerberosKeytab out',
            )
          const token = field(given, 'urlString')
          return typeof token === 'string' && /^[A-Za-z0-9_-]{1,8192}$/.test(token) ? token : undefined
        })
      },
      renew: async (token: string, wanting: Pick<HdfsRequest, 'retries' | 'isProbe'>): Promise<Validity> => {
        const what = () => 'renewing the delegation token'
        const renewing = { ...asked, ...wanting, op: 'RENEWDELEGATIONTOKEN', params: { token }, what }
        const answer = await this.request(renewing)
        const untilMs = field(answer.json, 'long')
        if (typeof untilMs !== 'number' || !Number.isSafeInteger(untilMs))
          throw this.#service.foreignAnswer(what(), answer)
        // Name nodes say it twice in one answer.
        const clockMs = Date.parse(answer.headers.date?.slice(0, dateLength) ?? '')
        return { untilMs, leftMs: untilMs - (Number.isNaN(clockMs) ? Date.now() : clockMs) }
      },
      cancel: (token: string) =>
        this.request({
          ...asked,
          as: { delegation: token },
          op: 'CANCELDELEGATIONTOKEN',
          params: { token },
          what: () => 'cancelling the delegation token',
          retries: 0,
          signal: AbortSignal.timeout(farewellMs),
        }),
    }
  }

  /** One try, and another with another token where the cluster does not take the one that there is. */
  async #exchange(asked: HdfsRequest): Promise<HdfsAnswer> {
    if (typeof asked.as === 'object') return this.#exchangeAs(asked, asked.as)
    if (this.#tokens === undefined || asked.as === 'ticket')
      return this.#exchangeAs(asked, this.#identity.parameters)
    const delegation = await this.#tokens.current(asked)
    const answer = await this.#exchangeAs(asked, { delegation })
    if (!isTokenRefused(answer)) return answer
    await this.#tokens.forget(delegation)
    return this.#exchangeAs(asked, { delegation: await this.#tokens.current(asked) })
  }

  /** One try at each name node, beginning with the one that answered last. */
  async #exchangeAs(asked: HdfsRequest, who: Identity['parameters']): Promise<HdfsAnswer> {
    const count = this.#nameNodes.length
    const first = this.#active
    for (let turn = 0; ; turn++) {
      const index = (first + turn) % count
      const isLast = turn === count - 1
      try {
        const answer = await this.#ask(this.#nameNodes[index]!, asked, who)
        if (!isOfStandby(answer)) this.#active = index
        if (!isOfStandby(answer) || isLast) return answer
      } catch (error) {
        if (isLast || asked.signal?.aborted === true || !isOfNetwork(error)) throw error
      }
    }
  }

  async #ask(
    { endpoint, transport }: { readonly endpoint: StoreEndpoint; readonly transport: Transport },
    { method, op, path, params, body, receiver, signal, what, as }: HdfsRequest,
    who: Identity['parameters'],
  ): Promise<HdfsAnswer> {
    const query = new URLSearchParams({ op, ...who, ...params }).toString()
    const ticket = as === 'ticket' ? await this.#identity.negotiate?.(endpoint) : undefined
    const headers = headersOf(endpoint)
    if (ticket !== undefined) headers.push('authorization', `Negotiate ${ticket}`)
    const segments =
      path.length === 0 ? '' : path.toString('utf8').split('/').map(encodeURIComponent).join('/')
    const place = `/webhdfs/v1/${segments}`
    const answer = await transport.exchange({
      method,
      target: `${place}?${query}`,
      headers,
      receiver,
      signal,
    })
    if (answer.status !== 307) return hdfsAnswer(answer)
    const location = answer.headers.location ?? ''
    const [, scheme, host = '', port, itsQuery = ''] = redirection.exec(location) ?? []
    if (scheme !== (endpoint.secure ? 'https' : 'http'))
      throw failed('unreachable', what(), 'the name node redirects to what is no data node')
    const node = {
      ...endpoint,
      host: host.replaceAll(/[[\]]/g, '').toLowerCase(),
      port: Number(port),
    }
    const sizeBytes = body === undefined ? 0 : Buffer.isBuffer(body) ? body.length : body.sizeBytes
    const data = await this.#dataNode(node).exchange({
      method,
      // Name nodes normalize the characters of the path that they redirect to, which may then be another one.
      target: `${place}?${itsQuery}`,
      headers:
        body === undefined
          ? headersOf(node)
          : [
              ...headersOf(node),
              'content-type',
              'application/octet-stream',
              'content-length',
              String(sizeBytes),
            ],
      body: body === undefined || Buffer.isBuffer(body) ? body : piecesOf(body),
      receiver,
      signal,
    })
    return hdfsAnswer(data)
  }

  #transportTo(endpoint: StoreEndpoint): Transport {
    return new Transport(endpoint, this.#limits, this.#addressOf?.(endpoint))
  }

  #dataNode(endpoint: StoreEndpoint): Transport {
    const name = `${endpoint.host}:${endpoint.port}`
    const known = this.#dataNodes.get(name)
    const transport = known ?? this.#transportTo(endpoint)
    this.#dataNodes.delete(name)
    this.#dataNodes.set(name, transport)
    if (this.#dataNodes.size > maxDataNodes) {
      const [oldest] = this.#dataNodes
      if (oldest !== undefined) {
        this.#dataNodes.delete(oldest[0])
        oldest[1].close()
      }
    }
    return transport
  }
}

const headersOf = ({ host, port }: StoreEndpoint): string[] => [
  'host',
  host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`,
  'accept',
  '*/*',
  'user-agent',
  'gantry',
]

/** Errors of connections have a code; what else is thrown is of this process, or final. */
const isOfNetwork = (error: unknown): boolean =>
  error instanceof Error && typeof (error as NodeJS.ErrnoException).code === 'string'

/** Longest message of an exception that is repeated: the rest is a stack trace. */
const maxMessageLength = 300

function hdfsAnswer(answer: StoreAnswer): HdfsAnswer {
  const none = { ...answer, json: undefined, exception: undefined, message: '' }
  if (answer.headers['content-type']?.startsWith('application/json') !== true) return none
  let json: unknown
  try {
    json = parseJson(answer.body)
  } catch {
    return none
  }
  const remote = field(json, 'RemoteException')
  if (remote === undefined) return answer.status < 300 ? { ...none, json } : none
  const [line = ''] = textOf(field(remote, 'message')).split('\n')
  const message = line.slice(0, maxMessageLength)
  // Whoever may all is told so by another exception than all others.
  const exception = message.endsWith(' (is not a directory)')
    ? 'ParentNotDirectoryException'
    : textOf(field(remote, 'exception')) || 'Exception'
  return { ...none, exception, message }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/** A member of an object in an answer; undefined where there is none. */
export const field = (json: unknown, name: string): unknown =>
  typeof json === 'object' && json !== null && Object.hasOwn(json, name)
    ? (json as Record<string, unknown>)[name]
    : undefined
