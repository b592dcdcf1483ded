import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { isIP } from 'node:net'
import { http } from '../../../broker/common/http.ts'
import { files, product } from '../../../subjects/kit/names.ts'
import { bareHost, InnerAddressError, isInner, outerLookup } from '../../../broker/common/inner-addresses.ts'

/** A receiver takes a message and works on it later; one that is slower is tried again. */
const defaultTimeoutMs = 10_000

const secretPrefix = 'whsec_'

/** As Standard Webhooks has it: HMAC-SHA256 over id, time and body, so that none of them can be changed, or sent again later. */
export function signatureOf(secret: string, id: string, timestamp: number, body: string): string {
  const key = Buffer.from(secret.slice(secretPrefix.length), 'base64')
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
}

/** @param bytes at random */
export const secretOf = (bytes: Buffer): string => `${secretPrefix}${bytes.toString('base64')}`

export interface Message {
  readonly id: string
  readonly url: string
  readonly secret: string
  readonly body: string
}

export interface PostOptions {
  /** Hosts, maybe with a port, that may be in inner networks. */
  readonly innerHosts: ReadonlySet<string>
  readonly signal?: AbortSignal
  readonly timeoutMs?: number
}

/** @throws InnerAddressError for an address, not for a name: that is resolved when it is used */
export function requireOuter(url: URL, innerHosts: ReadonlySet<string>): void {
  const host = bareHost(url)
  if (!isNamed(url, innerHosts) && isIP(host) !== 0 && isInner(host)) throw refused(host)
}

const refused = (host: string) =>
  new InnerAddressError(host, `if this is intended, add it to alerts.webhook_hosts in ${files.config}`)

const outerOnly = outerLookup(() => false, refused)

const isNamed = (url: URL, innerHosts: ReadonlySet<string>): boolean =>
  innerHosts.has(bareHost(url)) || innerHosts.has(url.host)

/**
 * Sends a message once. Redirections are not followed: they would lead where nobody has looked.
 * @throws Error with a text for people when it was not taken; without the address, which may be secret
 */
export async function post(
  { id, url, secret, body }: Message,
  { innerHosts, signal, timeoutMs = defaultTimeoutMs }: PostOptions,
): Promise<void> {
  const target = new URL(url)
  requireOuter(target, innerHosts)
  const timestamp = Math.floor(Date.now() / 1_000)
  const patience = AbortSignal.timeout(timeoutMs)
  const request = (target.protocol === 'https:' ? httpsRequest : http.request)(target, {
    method: 'POST',
    // A connection of its own for each message: one that was kept may be to an address that was right before.
    agent: false,
    signal: signal === undefined ? patience : AbortSignal.any([signal, patience]),
    ...(isNamed(target, innerHosts) ? {} : { lookup: outerOnly }),
    headers: {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'user-agent': product,
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'webhook-signature': signatureOf(secret, id, timestamp, body),
    },
  })
  // Nobody listens any more when the answer has begun.
  request.on('error', () => undefined)
  request.end(body)
  let status: number
  try {
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    status = response.statusCode ?? 0
    // What it says is of no use, and may be long.
    response.destroy()
  } catch (error) {
    throw new Error(problemOf(error as NodeJS.ErrnoException, patience.aborted ? timeoutMs : undefined), {
      cause: error,
    })
  }
  if (status >= 300 && status < 400) throw new Error(`status ${status}: redirects are not followed`)
  if (status < 200 || status >= 300) throw new Error(`status ${status}`)
}

function problemOf(error: NodeJS.ErrnoException, timeoutMs: number | undefined): string {
  if (error instanceof InnerAddressError) return error.message
  if (timeoutMs !== undefined) return `no response within ${timeoutMs / 1_000} s`
  return `the webhook cannot be reached (${error.code ?? error.name})`
}
