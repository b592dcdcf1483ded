import { type FailureClass, StoreError } from '../contract/driver.ts'
import type { StoreAddress } from './store-address.ts'
import { type StoreEndpoint, Transport, type TransportLimits } from './transport.ts'

/** Who asks for tokens, and where. */
export interface ClientCredentials {
  readonly endpoint: URL
  readonly clientId: string
  /** Fields of the form that prove it. */
  readonly proof: () => Promise<Readonly<Record<string, string>>>
  /** Further fields of the form, such as what the token is for. */
  readonly fields: Readonly<Record<string, string>>
}

/** A token is not used in its last minutes: requests take time, and clocks differ. */
const spareMs = 5 * 60_000
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
export class ClientTokens {
  readonly #credentials: ClientCredentials
  readonly #transport: Transport
  #token: { readonly text: Promise<string>; untilMs: number } | undefined

  constructor(credentials: ClientCredentials, limits: TransportLimits, address?: StoreAddress) {
    this.#credentials = credentials
    this.#transport = new Transport(endpointOf(credentials.endpoint), limits, address)
  }

  /** Rejects with a StoreError: `refused` by the server, or `unreachable`; with the network's error where there is no answer. */
  get(): Promise<string> {
    const known = this.#token
    if (known !== undefined && Date.now() < known.untilMs - spareMs) return known.text
    // As long as nothing is known of it, all wait for the same one.
    const token = { text: this.#ask(), untilMs: Infinity }
    this.#token = token
    token.text.catch(() => this.forget(token.text))
    return token.text
  }

  /** The next one is asked for anew. @param token only if it is still this one */
  forget(token?: Promise<string>): void {
    if (token === undefined || this.#token?.text === token) this.#token = undefined
  }

  close(): void {
    this.#transport.close()
  }

  async #ask(): Promise<string> {
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
    })
    const { access_token: token, expires_in: seconds, error } = membersOf(answer.body)
    if (answer.status !== 200 || typeof token !== 'string' || !/^[!-~]{1,16384}$/.test(token)) {
      const code = typeof error === 'string' && /^\w{1,100}$/.test(error) ? ` ${error}` : ''
      throw failed(
        answer.status >= 500 ? 'unreachable' : 'refused',
        `${endpoint.host} gave no token: ${answer.status}${code}`,
      )
    }
    const forSeconds = Number(seconds)
    if (this.#token !== undefined)
      this.#token.untilMs = Date.now() + 1_000 * (forSeconds > 0 ? forSeconds : usualSeconds)
    return token
  }
}

const failed = (failure: FailureClass, said: string) =>
  new StoreError(
    failure,
    `${said}; check the client's id and secret or certificate, and the address that gives tokens`,
  )

/** Nothing of an answer that is no JSON. */
function membersOf(body: Buffer): Readonly<Record<string, unknown>> {
  try {
    const json: unknown = JSON.parse(body.toString('utf8'))
    return typeof json === 'object' && json !== null ? (json as Readonly<Record<string, unknown>>) : {}
  } catch {
    return {}
  }
}
