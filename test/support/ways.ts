import { tokenAuthenticator, wsconnect } from '@nats-io/nats-core'
import { connect as connectNats2, type NatsConnection as Nats2Connection } from 'nats'
import { connectWithToken, type NatsConnection } from '../../broker/rpc/connection.ts'
import { keyIdOf } from '../../broker/identity/token.ts'
import type { Contract } from '../../subjects/kit/contract.ts'
import { inboxPrefix } from '../../subjects/kit/names.ts'
import { pathFields, routeFields } from '../../subjects/kit/route.ts'
import type { TestPlatform } from './platform.ts'

/** What a caller got: the body, and the status, which over NATS is in a header where it is an error. */
export interface Answer {
  readonly status: number
  readonly body: unknown
}

/** A way to call the platform, with a token; connections stay open until it is disposed of. */
export interface Way extends AsyncDisposable {
  call(contract: Contract, input: Record<string, unknown>): Promise<Answer>
}

/** Each way in which a client can reach the platform; opening one rejects when the token is refused. */
export const ways = {
  REST: openRest,
  'nats.js 3': (platform, token) =>
    connectWithToken(platform.tcpUrl, token, { reconnect: false }).then(fromNats),
  'nats 2.29': async (platform, token) =>
    fromNats(await connectNats2({ servers: platform.tcpUrl, token, reconnect: false, ...inbox(token) })),
  WebSocket: async (platform, token) =>
    fromNats(
      await wsconnect({
        servers: platform.websocketUrl,
        authenticator: tokenAuthenticator(token),
        reconnect: false,
        ...inbox(token),
      }),
    ),
} satisfies Record<string, (platform: TestPlatform, token: string) => Promise<Way>>

export type WayName = keyof typeof ways
export const wayNames = Object.keys(ways) as WayName[]

const inbox = (token: string) => {
  const keyId = keyIdOf(token)
  return keyId === undefined ? {} : { inboxPrefix: inboxPrefix(keyId) }
}

const timeoutMs = 10_000

function fromNats(connection: NatsConnection | Nats2Connection): Way {
  return {
    call: async ({ subject }, input) => {
      const reply = await connection.request(subject, JSON.stringify(input), { timeout: timeoutMs })
      const code = reply.headers?.get('Nats-Service-Error-Code')
      return { status: code ? Number(code) : 200, body: reply.json() }
    },
    [Symbol.asyncDispose]: () => connection.close(),
  }
}

async function openRest(platform: TestPlatform, token: string): Promise<Way> {
  const call: Way['call'] = async (contract, input) => {
    const route = contract.http[0]!
    const fields = routeFields(contract, route)
    let path = route.path
    for (const name of pathFields(route.path))
      path = path.replace(`{${name}}`, encodeURIComponent(String(input[name])))
    const query = new URLSearchParams()
    const body: Record<string, unknown> = {}
    for (const [name, value] of Object.entries(input)) {
      if (fields.path.includes(name)) continue
      if (fields.query.includes(name)) query.append(name, String(value))
      else body[name] = value
    }
    const hasBody = route.method !== 'GET' && route.method !== 'DELETE'
    const reply = await platform.rest('platform', route.method, `${path}?${query.toString()}`, {
      ...(hasBody ? { body } : {}),
      headers: { authorization: `Bearer ${token}` },
    })
    // Over NATS success has no status; that of REST may say a little more.
    return { status: reply.status === 201 ? 200 : reply.status, body: reply.body }
  }
  const first = await platform.rest('platform', 'GET', '/api/v1/apikey', {
    headers: { authorization: `Bearer ${token}` },
  })
  if (first.status === 401) throw new Error(`refused: ${JSON.stringify(first.body)}`)
  return { call, [Symbol.asyncDispose]: () => Promise.resolve() }
}
