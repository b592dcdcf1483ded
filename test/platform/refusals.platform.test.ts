import { appendFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { wsconnect } from '@nats-io/nats-core'
import { hash } from 'bcryptjs'
import { SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { crossAccountReply } from '../../broker/messages/caller.ts'
import { call } from '../../broker/rpc/client.ts'
import { connectWithToken, type NatsConnection } from '../../broker/rpc/connection.ts'
import { formatToken, parseToken } from '../../broker/identity/token.ts'
import { servers } from '../../http-edge/index.ts'
import type { HttpRoute } from '../../subjects/kit/contract.ts'
import { contracts } from '../../subjects/index.ts'
import { keys } from '../../subjects/access/keys.ts'
import { type HttpServerName, httpServers, inboxPrefix, roots } from '../../subjects/kit/names.ts'
import { connectInside, createKey, everything, issueInside, overAlready } from '../support/keys.ts'
import { authenticate, basicHeader, startGuarded } from '../support/passwords.ts'
import { createHome, type TestPlatform } from '../support/platform.ts'

/**
 * Every contract × every wrong way to present a token × every way in: refused, and no handler hears of it. Contracts that
 * come are in it by themselves. The migrator and the metadata service have access control, so their routes refuse as well.
 */

let platform: TestPlatform
let inside: NatsConnection
/** Subjects of requests of others that have reached the services: the platform has some of its own, all the time. */
const heard: string[] = []
const tokens = new Map<string, string>()

const nothing = { pub: { allow: [] }, sub: { allow: [] } }

/** Somebody with a right password, and no role. */
const [userName, password] = ['ann', 'of ann']

beforeAll(async () => {
  const home = await createHome()
  appendFileSync(join(home, httpServers.metadata.propertiesFile), 'fastify.security.enabled=true\n')
  const properties = {
    type: 'basic',
    'basic.user': userName,
    'basic.role': 'none-of-that-name',
    'basic.password': `{bcrypt}${await hash(password, 4)}`,
  }
  platform = await startGuarded(properties, { home })
  inside = (await connectInside(platform)).connection
  const { location, keyId, secret } = parseToken(platform.operatorToken)!
  const expired = await issueInside(platform, { expires: overAlready() })
  const revoked = await createKey(platform, everything)
  await platform.call(keys.revoke, { id: revoked.id })
  const elsewhere = formatToken({ ...location, instance: `${location.instance}x` }, keyId, secret)
  const narrow = (await authenticate(platform, userName, password)).body['token'] as string
  for (const [name, token] of Object.entries({
    garbage: 'garbage',
    'a wrong secret': formatToken(location, keyId, 'x'.repeat(secret.length)),
    'an unknown key': formatToken(location, 'k00000000000000', secret),
    'another instance’s': elsewhere,
    revoked: revoked.token,
    expired: expired.token,
    'too narrow': (await createKey(platform, nothing)).token,
    'too narrow a JSON Web Token': narrow,
    'a JSON Web Token of another key': await new SignJWT({ session: 'x' })
      .setProtectedHeader({ alg: 'HS256' })
      .setExpirationTime('1h')
      .sign(new Uint8Array(32)),
    'a JSON Web Token that is changed': `${narrow.slice(0, -4)}AAAA`,
  })) {
    tokens.set(name, token)
  }
  inside.subscribe(`${roots.services}.>`, {
    callback: (_, { subject, reply }) => {
      if (reply?.startsWith(crossAccountReply)) heard.push(subject)
    },
  })
  await inside.flush()
})
afterAll(async () => {
  await inside.close()
  await platform[Symbol.asyncDispose]()
  rmSync(platform.home, { recursive: true, force: true })
})

/** Nothing was heard by the time that a request which is allowed is. */
async function expectUnheard(): Promise<void> {
  await platform.call(keys.self, {})
  await inside.flush()
  expect(heard.splice(0)).toEqual([keys.self.subject])
}

interface Presented {
  readonly name: string
  /** Which one, where there are several, is of how many came before. */
  readonly status: number | readonly number[]
  readonly headers: () => Record<string, string>
}

const bearer = (name: string, status: number): Presented => ({
  name,
  status,
  headers: () => ({ authorization: `Bearer ${tokens.get(name)!}` }),
})
const operator = () => platform.operatorToken

const overRest: readonly Presented[] = [
  { name: 'no token', status: 401, headers: () => ({}) },
  bearer('garbage', 401),
  bearer('a wrong secret', 401),
  bearer('an unknown key', 401),
  bearer('another instance’s', 401),
  bearer('revoked', 401),
  bearer('expired', 401),
  bearer('too narrow', 403),
  { name: 'a wrong header', status: 401, headers: () => ({ authentication: `Bearer ${operator()}` }) },
  { name: 'a wrong scheme', status: 401, headers: () => ({ authorization: `Token ${operator()}` }) },
  { name: 'two tokens', status: 401, headers: () => ({ authorization: `Bearer ${operator()} x` }) },
  { name: 'a token in a header of its own', status: 401, headers: () => ({ 'x-token': operator() }) },
]

const basic = (name: string, status: Presented['status'], user: string, pass: string): Presented => ({
  name,
  status,
  headers: () => ({ authorization: basicHeader(user, pass) }),
})

/** What the migrator takes beside API tokens; wrong passwords come last, as too many hold up right ones. */
const credentials: readonly Presented[] = [
  bearer('too narrow a JSON Web Token', 403),
  basic('a right password without a role', 403, userName, password),
  bearer('a JSON Web Token of another key', 401),
  bearer('a JSON Web Token that is changed', 401),
  { name: 'a token as a password', status: 401, headers: () => ({ authorization: `Basic ${operator()}` }) },
  basic('an empty password', 401, userName, ''),
  basic('a wrong password', [401, 429], userName, 'of bob'),
  basic('an unknown user', [401, 429], 'bob', password),
]

const table = (Object.keys(httpServers) as HttpServerName[]).flatMap((server) =>
  (server === 'migrator' ? [...overRest, ...credentials] : overRest).map((presented) => ({
    server,
    ...presented,
  })),
)

/** The metadata service has routes of several contracts, and has to know which one is asked. */
const bodyFor = (server: HttpServerName) => (server === 'metadata' ? { agentType: 'HIVE' } : {})

/** Of a server, those that ask who is calling. */
const closedRoutes = (server: HttpServerName) =>
  servers
    .filter(({ name }) => name === server)
    .flatMap(({ codec }) => codec.routes())
    .filter((route) => route.public === undefined)
    .map((route): [string, Pick<HttpRoute, 'method' | 'path'>] => [`${route.method} ${route.path}`, route])

describe.each(table)('REST of the $server, $name', ({ server, status, headers }) => {
  test('is refused on every route, and no handler runs', async () => {
    const routes = closedRoutes(server)
    expect(routes.length).toBeGreaterThan(5)
    const answers = await Promise.all(
      routes.map(async ([name, { method, path }]): Promise<[string, number]> => {
        const url = path.replaceAll(/\{\w+\}/g, 'k1')
        const body = method === 'GET' || method === 'DELETE' ? {} : { body: bodyFor(server) }
        const answer = await platform.rest(server, method, url, { headers: headers(), ...body })
        return [name, answer.status]
      }),
    )
    expect(answers.filter(([, seen]) => ![status].flat().includes(seen))).toEqual([])
    await expectUnheard()
  })
})

/** What the edge says in an answer that nobody may learn anything from. */
test('an anonymous caller is not told why a token is refused', async () => {
  const messages = new Set<unknown>()
  for (const name of ['a wrong secret', 'an unknown key', 'another instance’s', 'revoked', 'expired']) {
    const headers = { authorization: `Bearer ${tokens.get(name)!}` }
    const { body } = await platform.rest('platform', 'GET', '/api/v1/apikey', { headers })
    messages.add((body as { message: string }).message)
  }
  expect([...messages]).toHaveLength(1)
})

const ways = {
  NATS: (token: string) => connectWithToken(platform.tcpUrl, token, { reconnect: false }),
  WebSocket: (token: string) => {
    const prefix = inboxPrefix(parseToken(token)?.keyId ?? 'none')
    return wsconnect({ servers: platform.websocketUrl, token, reconnect: false, inboxPrefix: prefix })
  },
}

describe.each(Object.entries(ways))('%s', (_, connect) => {
  test.each(['', 'garbage', 'a wrong secret', 'an unknown key', 'another instance’s', 'revoked', 'expired'])(
    'with %j nobody is let in',
    async (name) => {
      await expect(connect(tokens.get(name) ?? '')).rejects.toThrow(/authorization/i)
      await expectUnheard()
    },
  )

  test('too narrow a key is refused on every contract, and no handler runs', async () => {
    const connection = await connect(tokens.get('too narrow')!)
    const codes = await Promise.all(
      contracts.map(async (contract): Promise<[string, string]> => {
        // Whatever the input: it does not get so far as to be looked at.
        const answer = call(connection, contract, {})
        return [contract.subject, await answer.then(String, ({ code }: { code: string }) => code)]
      }),
    )
    expect(codes.filter(([, code]) => code !== 'DENIED')).toEqual([])
    await connection.close()
    await expectUnheard()
  })
})
