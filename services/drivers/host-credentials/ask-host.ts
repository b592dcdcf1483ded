import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { endpointOf, membersOf } from '../http/client-credentials.ts'
import { type Failures, failuresWith } from '../http/failures.ts'
import { request, type Service } from '../http/requests.ts'
import type { StoreAddress } from '../http/store-address.ts'
import { type StoreAnswer, Transport } from '../http/transport.ts'

/** Services on the machine answer within milliseconds; those of a cloud's region within a second. */
const connectTimeoutMs = 2_000
/** One try as a whole: an answer that drips in is none. */
const tryTimeoutMs = 5_000
/** Tokens are a few kilobytes. */
const maxBytes = 64 * 1024
/** Metadata services throttle and restart; a store's request waits for it. */
const retry = { retries: 2, minBackoffMs: 100, maxBackoffMs: 2_000 }

/** What is asked of a service that gives credentials of the host. */
export interface HostRequest {
  readonly url: URL
  readonly method?: 'GET' | 'PUT' | 'POST'
  /** Names in lower case. */
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as a form, or as JSON where it is a text. */
  readonly body?: Readonly<Record<string, string>> | string
  /** For messages: what is wanted of whom. */
  readonly what: string
  /** What the reader of a message can do about it. */
  readonly fix: string
  /** Of a URL that a caller named. */
  readonly address?: StoreAddress | undefined
  /** Says more of an answer that is an error; a word or two that come from no secret. */
  readonly code?: (answer: StoreAnswer) => string | undefined
}

/** Failures of a source of credentials. */
export const hostFailures = (fix: string): Failures =>
  failuresWith({ refused: fix, unreachable: fix, throttled: fix, io: fix })

/**
 * The answer of a service that gives credentials of the host: the metadata of the machine, a service beside the container, or
 * one of the cloud's. It goes to any address, so its own must come from the environment of the service or be one of ours; one that
 * a caller names has a `StoreAddress`. Redirects are not followed. Rejects with a StoreError that has nothing of the answer but its status and code.
 */
export async function askHost(asked: HostRequest): Promise<StoreAnswer> {
  const { url, method = 'GET', headers = {}, body, what, fix, code, address } = asked
  const { failed, networkError, noEndpoint } = hostFailures(fix)
  const answerError = (_what: string, answer: StoreAnswer) => {
    const { status } = answer
    const failure = status === 429 ? 'throttled' : status >= 500 ? 'unreachable' : 'refused'
    const said = code?.(answer)
    return failed(failure, what, `answered ${status}${said === undefined ? '' : ` ${said}`}`)
  }
  const service: Service<StoreAnswer> = {
    isOfService: () => true,
    answerError,
    foreignAnswer: answerError,
    networkError,
    noEndpoint: (_what, found) => noEndpoint(what, url.host, what, found),
  }
  const content =
    body === undefined
      ? undefined
      : Buffer.from(typeof body === 'string' ? body : new URLSearchParams(body).toString())
  const type = typeof body === 'string' ? 'application/json' : 'application/x-www-form-urlencoded'
  const length =
    content !== undefined
      ? ['content-type', type, 'content-length', String(content.length)]
      : method === 'GET'
        ? []
        : ['content-length', '0']
  const limits = { connectTimeoutMs, idleTimeoutMs: tryTimeoutMs, connections: 1, maxAnswerBytes: maxBytes }
  const transport = new Transport(endpointOf(url), limits, address)
  try {
    return await request(
      service,
      retry,
      { what: () => what },
      () =>
        transport.exchange({
          method,
          target: url.pathname + url.search,
          headers: ['host', url.host, 'user-agent', 'gantry', ...Object.entries(headers).flat(), ...length],
          body: content,
          signal: AbortSignal.timeout(tryTimeoutMs),
        }),
      ({ status }) => status >= 200 && status < 300,
    )
  } finally {
    transport.close()
  }
}

/**
 * The text of a file of this host with credentials. Rejects with a StoreError `refused`; for no file there is with undefined.
 * @param name what the file is, for messages
 */
export async function readHostFile(path: string, name: string, fix: string): Promise<string | undefined> {
  const { failed } = hostFailures(fix)
  try {
    await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
    if (!(await file.stat()).isFile()) throw failed('refused', name, 'it is no file')
    const bytes = Buffer.alloc(maxBytes + 1)
    const { bytesRead } = await file.read(bytes, 0, bytes.length, 0)
    if (bytesRead > maxBytes) throw failed('refused', name, `it is longer than ${maxBytes} bytes`)
    return bytes.toString('utf8', 0, bytesRead)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    if (code === undefined) throw error
    throw failed('refused', name, `it cannot be read (${code})`)
  }
}

/** The token in a file, which an orchestrator renews. Rejects with a StoreError `refused`. */
export async function readTokenFile(path: string, name: string, fix: string): Promise<string> {
  const token = (await readHostFile(path, name, fix))?.trim()
  if (token !== undefined && /^[!-~]+$/.test(token)) return token
  throw hostFailures(fix).failed(
    'refused',
    name,
    token === undefined ? 'there is no such file' : 'it has no token',
  )
}

/** The members of an answer that is JSON, as texts; those that are none, and all of anything else, are left out. */
export function textsOf({ body }: Pick<StoreAnswer, 'body'>): Readonly<Record<string, string | undefined>> {
  const members = Object.entries(membersOf(body))
  return Object.fromEntries(members.filter(([, value]) => typeof value === 'string')) as Record<
    string,
    string
  >
}

/** A variable of the service's environment; undefined where it is empty. */
export const variable = (name: string): string | undefined => process.env[name]?.trim() || undefined
