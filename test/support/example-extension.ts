import { connect, headers, type NatsConnection } from 'nats'
import { connect as connectWebSocket } from 'nats.ws'
import { keyIdOf } from '../../broker/identity/token.ts'
import { extensions } from '../../subjects/extensions/extensions.ts'
import { createKey } from './keys.ts'
import type { TestPlatform } from './platform.ts'

/** What an extension asks of the platform so that it is one. */
const { register, heartbeat, deregister } = extensions
const verbs = [register, heartbeat, deregister].map(({ subject }) => subject)

/** What an extension's key needs. */
export const capabilitiesOf = (prefix: string, pub: readonly string[] = []) => ({
  pub: { allow: [...verbs, 'gantry.services.v1.extension-storage.*', ...pub] },
  sub: { allow: [`gantry.extensions.${prefix}.>`] },
})

export const endpoints = [
  {
    name: 'forecast',
    summary: 'The weather of a day',
    input: {
      type: 'object',
      properties: {
        city: { type: 'string', maxLength: 60, description: 'Name of the city' },
        days: { type: 'integer', minimum: 1, maximum: 14 },
        how: { type: 'string' },
      },
      required: ['city'],
      additionalProperties: false,
    },
    output: {
      type: 'object',
      properties: { city: { type: 'string' }, days: { type: 'integer' }, by: { type: 'string' } },
      required: ['city'],
      additionalProperties: false,
    },
    errors: ['NOT_FOUND'],
    limitMs: 300,
  },
]

export const registration = (prefix: string, more: object = {}) => ({
  prefix,
  name: 'Weather',
  version: '1.0.0',
  menus: [{ label: 'Weather', icon: 'sun', order: 1, route: '/' }],
  endpoints,
  ...more,
})

export interface Reply {
  readonly status: number
  readonly body: Record<string, unknown>
}

/** An extension in nothing but a NATS client of another generation. */
export interface BareExtension extends AsyncDisposable {
  readonly keyId: string
  readonly token: string
  readonly connection: NatsConnection
  ask(subject: string, body: unknown): Promise<Reply>
  register(more?: object): Promise<Reply>
}

/** Connects with a new key of the local operator, or with a token. It answers `forecast`, and is registered by `register`. */
export async function bareExtension(
  platform: TestPlatform,
  prefix: string,
  {
    token: given,
    by = '',
    pub = [],
    webSocket = false,
  }: { token?: string; by?: string; pub?: readonly string[]; webSocket?: boolean } = {},
): Promise<BareExtension> {
  const token = given ?? (await createKey(platform, capabilitiesOf(prefix, pub))).token
  const keyId = keyIdOf(token)!
  const options = { token, inboxPrefix: `_INBOX.${keyId}` }
  const connection: NatsConnection = webSocket
    ? await connectWebSocket({ ...options, servers: platform.websocketUrl })
    : await connect({ ...options, servers: platform.tcpUrl })
  connection.subscribe(`gantry.extensions.${prefix}.forecast`, {
    queue: 'gantry',
    callback: (_, message) => {
      const { how, ...input } = message.json<{ how?: string }>()
      if (how === 'silent') return
      if (how === 'unknown') {
        const head = headers()
        head.set('Nats-Service-Error', 'there is no such city')
        head.set('Nats-Service-Error-Code', '404')
        message.respond(JSON.stringify({ code: 'NOT_FOUND', message: 'there is no such city' }), {
          headers: head,
        })
      } else if (how === 'wrong') message.respond(JSON.stringify({ town: 1 }))
      else message.respond(JSON.stringify(by === '' ? input : { ...input, by }))
    },
  })
  const ask = async (subject: string, body: unknown): Promise<Reply> => {
    const reply = await connection.request(`gantry.services.v1.${subject}`, JSON.stringify(body), {
      timeout: 10_000,
    })
    const code = reply.headers?.get('Nats-Service-Error-Code')
    return { status: code ? Number(code) : 200, body: reply.json() }
  }
  return {
    keyId,
    token,
    connection,
    ask,
    register: (more = {}) => ask('extensions.register', registration(prefix, more)),
    [Symbol.asyncDispose]: () => connection.close(),
  }
}
