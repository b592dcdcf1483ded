import { type FailureClass, StoreError } from '../contract/driver.ts'
import { parseJson } from './json.ts'
import { type Lease, type Renewable, Renewed } from './renewed.ts'
import type { StoreAddress } from './store-address.ts'
import { type StoreAnswer, type StoreEndpoint, Transport, type TransportLimits } from './transport.ts'

/** Who asks for tokens, and where. */
export interface ClientCredentials {
  readonly endpoint: URL
  /** See `StoreEndpoint`. */
  readonly authorities?: string | undefined
  readonly clientId: string
  /** Fields of the form that prove it. */
  readonly proof: () => Promise<Readonly<Record<string, string>>>
  /** Further fields of the form, such as what the token is for. */
  readonly fields: Readonly<Record<string, string>>
}

/** Tokens are a few kilobytes. */
const maxAnswerBytes = 64 * 1024
/** One answer as a whole: one that drips in is none, and all requests to the store wait for it. */
const answerTimeoutMs = 60_000

/** Of a token that does not say for how long it is: as RFC 6749 has it, the server tells by other means. */
const usualSeconds = 3_600

/** Where a URL leads. */
export function endpointOf({ protocol, hostname, port }: URL): StoreEndpoint {
  const secure = protocol === 'https:'
  const host = hostname.replace(/^\[|\]$/g, '')
  return { secure, host, port: port === '' ? (secure ? 443 : 80) : Number(port) }
}

/**
 * Tokens by the client credentials grant of OAuth 2.0 (RFC 6749, section 4.4). On the transport of stores, which keeps what
 * whoever adds a filesystem names as an endpoint out of inner networks.
 */
export class ClientTokens implements Renewable<string> {
  readonly #credentials: ClientCredentials
  readonly #transport: Transport
  readonly #renewed = new Renewed(() => this.#ask())

  constructor(credentials: ClientCredentials, limits: TransportLimits, address?: StoreAddress) {
    this.#credentials = credentials
    const of = { ...limits, maxAnswerBytes }
    const endpoint = { ...endpointOf(credentials.endpoint), authorities: credentials.authorities }
    this.#transport = new Transport(endpoint, of, address)
  }

  /** Rejects with a StoreError: `refused` by the server, or `unreachable`; with the network's error where there is no answer. */
  get(): Promise<string> {
    return this.#renewed.get()
  }

  forget(token: string): void {
    this.#renewed.forget(token)
  }

  close(): void {
    this.#transport.close()
  }

  async #ask(): Promise<Lease<string>> {
    const { endpoint, clientId, proof, fields } = this.#credentials
    const form = {
      grant_type: 'client_credentials',
      client_id: clientId,
      ...(await proof()),
      ...fields,
    }
    const body = Buffer.from(new URLSearchParams(form).toString())
    const answer = await this.#transport.exchange({
      method: 'POST',
      target: endpoint.pathname + endpoint.search,
      headers: [
        ...['host', endpoint.host, 'user-agent', 'gantry', 'accept', 'application/json'],
        ...['content-type', 'application/x-www-form-urlencoded', 'content-length', String(body.length)],
      ],
      body,
      signal: AbortSignal.timeout(answerTimeoutMs),
    })
    const { error } = membersOf(answer.body)
    const token = tokenIn(answer)
    if (token !== undefined) return token
    const code = typeof error === 'string' && /^\w{1,100}$/.test(error) ? ` ${error}` : ''
    throw failed(
      answer.status >= 500 ? 'unreachable' : 'refused',
      `${endpoint.host} gave no token: ${answer.status}${code}`,
    )
  }
}

const failed = (failure: FailureClass, said: string) =>
  new StoreError(
    failure,
    `${said}; check the client's id and secret or certificate, and the address that gives tokens`,
  )

/** The token of an answer as RFC 6749 has it, section 5.1; undefined where there is none. */
export function tokenIn({ status, body }: StoreAnswer): Lease<string> | undefined {
  const { access_token: token, expires_in: seconds } = membersOf(body)
  if (status !== 200 || typeof token !== 'string' || !/^[!-~]{1,16384}$/.test(token)) return undefined
  const forSeconds = Number(seconds)
  return { value: token, untilMs: Date.now() + 1_000 * (forSeconds > 0 ? forSeconds : usualSeconds) }
}

/** Nothing of an answer that is no JSON. */
export function membersOf(body: Buffer): Readonly<Record<string, unknown>> {
  try {
    const json = parseJson(body)
    return typeof json === 'object' && json !== null ? (json as Readonly<Record<string, unknown>>) : {}
  } catch {
    return {}
  }
}
