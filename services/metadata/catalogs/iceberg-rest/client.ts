import { notAccepted } from '../../../../subjects/kit/errors.ts'
import type { CatalogOptions } from '../../../../subjects/metadata/kinds.ts'
import type { StoreBounds } from '../../../drivers/contract/bounds.ts'
import { ClientTokens, endpointOf } from '../../../drivers/http/client-credentials.ts'
import { jsonObject } from '../../../drivers/http/json.ts'
import { type Asked, request, type Service } from '../../../drivers/http/requests.ts'
import { requireAddresses, StoreAddress } from '../../../drivers/http/store-address.ts'
import { Transport } from '../../../drivers/http/transport.ts'
import { failed, type IcebergAnswer, icebergService, withError } from './errors.ts'
import { type Json, objectOf } from './json.ts'

export interface IcebergRequest extends Omit<Asked, 'signal'> {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** After `/v1` and the prefix; not percent-encoded. The levels of a namespace are one segment. */
  readonly path: readonly (string | readonly string[])[]
  /** Parameters, not percent-encoded. */
  readonly query?: Readonly<Record<string, string>>
  /** Only those in this namespace. */
  readonly parent?: readonly string[] | undefined
  readonly body?: object
  /** Statuses that are answers to the caller and no errors, besides 2xx. */
  readonly accept?: readonly number[]
  readonly signal: AbortSignal
}

/** Questions that may be under way at once. */
export const requestsAtOnce = 8

const limits = {
  // A name that leads nowhere takes longer to be given up; below the patience of who asks.
  connectTimeoutMs: 5_000,
  // A catalog that registers a table reads its metadata from a store first.
  idleTimeoutMs: 60_000,
  connections: requestsAtOnce,
  // Metadata of a table with ten thousand snapshots have some ten MB.
  maxAnswerBytes: 64 * 1024 * 1024,
  retries: 3,
  minBackoffMs: 200,
  maxBackoffMs: 10_000,
}

/** A token is over, and another may do. */
const tokenStatuses: ReadonlySet<number> = new Set([401, 419])

/** What a catalog says of itself. */
interface Configuration {
  /** Before all paths but its own; may have slashes. */
  readonly prefix: readonly string[]
  /** Between the levels of a namespace, percent-encoded. */
  readonly separator: string
  /** What it can do, such as `GET /v1/{prefix}/namespaces`; undefined where it does not say. */
  readonly endpoints: readonly string[] | undefined
}

const separatorProperty = 'namespace-separator'
const encodedText = /^(?:%[0-7][0-9A-Fa-f]|[!-$&-~]){1,10}$/

/** As long as the catalog has said nothing else; the separator is the unit separator. */
const unconfigured: Configuration = { prefix: [], separator: '%1F', endpoints: undefined }

/** Requests to one catalog: with a token, those that ask are retried, errors classified. */
export class IcebergClient {
  readonly host: string
  readonly #options: CatalogOptions<'iceberg-rest'>
  readonly #uri: URL
  readonly #transport: Transport
  readonly #tokens: ClientTokens | undefined
  readonly #addresses: readonly { readonly field: string; readonly address: StoreAddress }[]
  readonly #service: Service<IcebergAnswer>
  #configuration: Promise<Configuration> | undefined

  /** Throws GantryError NOT_ACCEPTED. @param bounds where catalogs may be; without them anywhere */
  constructor(options: CatalogOptions<'iceberg-rest'>, bounds?: StoreBounds) {
    const { uri, token, clientId, clientSecret, scope, oauth2ServerUri, caCertificate } = options
    if (token !== undefined && clientSecret !== undefined)
      throw notAccepted('token', 'cannot be combined with clientSecret; remove one of them')
    if (clientId === undefined && clientSecret !== undefined)
      throw notAccepted('clientId', 'is required with clientSecret')
    if (clientId !== undefined && clientSecret === undefined && token === undefined)
      throw notAccepted('clientSecret', 'is required with clientId')
    this.#options = options
    this.#uri = new URL(uri)
    const addressAt = (at: URL, field: string) => {
      const address = bounds && new StoreAddress(endpointOf(at), bounds)
      return address && { field, address }
    }
    const own = addressAt(this.#uri, 'uri')
    const endpoint = { ...endpointOf(this.#uri), authorities: caCertificate }
    this.host = this.#uri.host
    this.#service = icebergService(this.host, own?.address)
    this.#transport = new Transport(endpoint, limits, own?.address)
    const tokensAt = new URL(oauth2ServerUri ?? `${this.#base}/v1/oauth/tokens`)
    const theirs = clientSecret === undefined ? undefined : addressAt(tokensAt, 'oauth2ServerUri')
    this.#addresses = [own, theirs].filter((one) => one !== undefined)
    if (clientId !== undefined && clientSecret !== undefined) {
      const proof = async () => ({ client_secret: clientSecret })
      const fields = { scope: scope ?? 'catalog' }
      // What gives tokens elsewhere has authorities of its own.
      const authorities = tokensAt.host === this.host ? caCertificate : undefined
      const credentials = { endpoint: tokensAt, authorities, clientId, proof, fields }
      this.#tokens = new ClientTokens(credentials, limits, theirs?.address)
    }
  }

  /** Throws GantryError NOT_ACCEPTED. */
  requirePlace(): void {
    for (const { field, address } of this.#addresses) requireAddresses([address], field)
  }

  /** Whether the catalog says that it has an endpoint; what it does not say, it has as the protocol had it at first. */
  async has(endpoint: string, signal: AbortSignal): Promise<boolean> {
    return (await this.#configured(signal)).endpoints?.includes(endpoint) ?? false
  }

  /** Asks the catalog for its configuration: whether it is one, and takes the credentials. */
  async probe(signal: AbortSignal): Promise<void> {
    this.#configuration = undefined
    await this.#configured(signal, true)
  }

  /** See `requests.ts`: what changes something is not repeated, as nobody could tell what came of the first try. */
  async request(asked: IcebergRequest): Promise<IcebergAnswer> {
    return this.#send(asked, await this.#configured(asked.signal))
  }

  /** The JSON of an answer. Throws `unreachable` where it is none. */
  async json(asked: IcebergRequest): Promise<Json> {
    return this.#jsonOf(asked, await this.request(asked))
  }

  /** What a list has in all of its pages. */
  async *pages(asked: IcebergRequest): AsyncGenerator<Json> {
    let pageToken: unknown
    const seen = new Set<unknown>()
    do {
      const query = { ...asked.query, ...(typeof pageToken === 'string' && { pageToken }) }
      const page = await this.json({ ...asked, query })
      yield page
      pageToken = page['next-page-token']
      if (seen.has(pageToken))
        throw failed('io', asked.what(), 'the catalog returned the same page token twice')
      seen.add(pageToken)
    } while (typeof pageToken === 'string' && pageToken !== '')
  }

  close(): void {
    this.#transport.close()
    this.#tokens?.close()
  }

  /** Without a slash at its end. */
  get #base(): string {
    return this.#uri.href.replace(/\/+$/, '')
  }

  #configured(signal: AbortSignal, isProbe = false): Promise<Configuration> {
    this.#configuration ??= this.#configure(signal, isProbe).catch((error: unknown) => {
      this.#configuration = undefined
      throw error
    })
    return this.#configuration
  }

  async #configure(signal: AbortSignal, isProbe: boolean): Promise<Configuration> {
    const { warehouse, prefix } = this.#options
    const what = () => `the configuration of the catalog at ${this.host}`
    const query = warehouse === undefined ? {} : { warehouse }
    const asked = { method: 'GET', path: ['config'], query, what, isProbe, signal } as const
    const json = this.#jsonOf(asked, await this.#send(asked, unconfigured))
    const [overrides, defaults] = [objectOf(json['overrides']), objectOf(json['defaults'])]
    const moved = overrides['uri']
    if (typeof moved === 'string' && moved.replace(/\/+$/, '') !== this.#base)
      throw failed(
        'unsupported',
        what(),
        `the catalog is at another address: set uri to ${moved.slice(0, 500)}`,
      )
    const its = overrides['prefix'] ?? prefix ?? defaults['prefix']
    const separator = overrides[separatorProperty] ?? defaults[separatorProperty]
    const endpoints = json['endpoints']
    return {
      prefix: typeof its === 'string' ? its.split('/').filter((segment) => segment !== '') : [],
      separator:
        typeof separator === 'string' && encodedText.test(separator) ? separator : unconfigured.separator,
      endpoints: Array.isArray(endpoints) ? endpoints.filter((one) => typeof one === 'string') : undefined,
    }
  }

  #jsonOf({ what }: Pick<IcebergRequest, 'what'>, answer: IcebergAnswer): Json {
    const json = jsonObject(answer.body)
    if (json === undefined) throw this.#service.foreignAnswer(what(), answer)
    return json
  }

  #send(asked: IcebergRequest, configuration: Configuration): Promise<IcebergAnswer> {
    const retried = asked.method === 'GET' ? asked : { ...asked, retries: 0 }
    const isAccepted = ({ status }: IcebergAnswer) =>
      (status >= 200 && status < 300) || asked.accept?.includes(status) === true
    return request(this.#service, limits, retried, () => this.#exchange(asked, configuration), isAccepted)
  }

  /** One try, and another with another token where the catalog does not take the one that there is. */
  async #exchange(asked: IcebergRequest, configuration: Configuration): Promise<IcebergAnswer> {
    const token = this.#options.token ?? (await this.#tokens?.get())
    const answer = await this.#exchangeAs(asked, configuration, token)
    if (this.#tokens === undefined || token === undefined || !tokenStatuses.has(answer.status)) return answer
    this.#tokens.forget(token)
    return this.#exchangeAs(asked, configuration, await this.#tokens.get())
  }

  async #exchangeAs(
    { method, path, query = {}, parent, body, what, signal }: IcebergRequest,
    { prefix, separator }: Configuration,
    token: string | undefined,
  ): Promise<IcebergAnswer> {
    const within = parent === undefined ? {} : { parent: parent.join(decodeURIComponent(separator)) }
    const parameters = new URLSearchParams({ ...query, ...within }).toString()
    const segments = [...prefix, ...path].map((segment) =>
      typeof segment === 'string'
        ? encodeURIComponent(segment)
        : segment.map(encodeURIComponent).join(separator),
    )
    // Servers, and what stands before them, take these for ways through the path, and an empty one for none.
    const way = segments.find((segment) => segment === '' || segment === '.' || segment === '..')
    if (way !== undefined) throw failed('unsupported', what(), `does not support "${way}" as a name`)
    const place = [new URL(this.#base).pathname.replace(/\/$/, ''), 'v1', ...segments].join('/')
    const content = body === undefined ? undefined : Buffer.from(JSON.stringify(body))
    const answer = await this.#transport.exchange({
      method,
      target: parameters === '' ? place : `${place}?${parameters}`,
      headers: [
        ...['host', this.host, 'user-agent', 'gantry', 'accept', 'application/json'],
        ...(token === undefined ? [] : ['authorization', `Bearer ${token}`]),
        ...(content === undefined
          ? []
          : ['content-type', 'application/json', 'content-length', String(content.length)]),
      ],
      body: content,
      signal,
    })
    return withError(answer)
  }
}
