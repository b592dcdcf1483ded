import type { FastifyRequest } from 'fastify'
import { call } from '../../broker/rpc/client.ts'
import type { AddressMarks } from '../../broker/messages/client-address.ts'
import type { Contract, Input } from '../../subjects/kit/contract.ts'
import { markedAddress } from '../server/client-address.ts'
import type { NatsConnection } from '../../broker/rpc/connection.ts'
import { isLoopbackName } from '../../broker/common/loopback.ts'
import { keyIdOf } from '../../broker/identity/token.ts'
import { authenticationInternal } from '../../subjects/access/authentication-internal.ts'
import { type HttpServerName, httpServers } from '../../subjects/kit/names.ts'
import { GantryError } from '../../subjects/kit/errors.ts'
import { credentialOf, requireBearer } from './bearer.ts'
import type { BrowserSessions } from './browser-sessions.ts'
import type { ConnectionPool } from './pool.ts'
import type { BrokerPulse } from '../server/pulse.ts'

/** Decides on whose connection a request goes to the broker; what that connection may do, the broker decides. */
export type Authority = (request: FastifyRequest) => NatsConnection | Promise<NatsConnection>

/** The same, unless the broker does not answer: then nothing is asked of it. */
export const whileAnswering =
  (pulse: Pick<BrokerPulse, 'check'>, authority: Authority): Authority =>
  (request) => {
    pulse.check()
    return authority(request)
  }

/** By the API token in `Authorization: Bearer …`, and in no other way. */
export const byToken =
  (pool: ConnectionPool): Authority =>
  (request) =>
    pool.get(requireBearer(request), request.ip)

/** The same, and by the session cookie of somebody who has signed in, on requests of the platform's own pages. */
export const byTokenOrSession =
  (pool: ConnectionPool, sessions: BrowserSessions): Authority =>
  (request) => {
    const token = request.headers.authorization === undefined ? sessions.tokenOf(request) : undefined
    return token === undefined ? byToken(pool)(request) : pool.get(token, request.ip)
  }

/** Unauthenticated routes, on a narrow key of the edge itself. */
export const byConnection =
  (connection: NatsConnection): Authority =>
  () =>
    connection

/** What serves programs on this host. */
interface LocalTrust {
  readonly pool: ConnectionPool
  readonly operatorToken: () => string
  readonly trustsThisHost: boolean
}

/**
 * A server without access control: programs on this host act as the local operator; anybody else needs a token.
 * A web page that a person on this host looks at must not act for them, nor what a proxy passes on from elsewhere.
 * @param ignoresPasswords whether a password, which nobody asks for, is as good as no header
 */
export const byTokenOrLocalHost =
  (
    { pool, operatorToken, trustsThisHost }: LocalTrust,
    { ignoresPasswords = false }: { readonly ignoresPasswords?: boolean } = {},
  ): Authority =>
  (request) => {
    const isPassword = ignoresPasswords && credentialOf(request, 'basic') !== undefined
    if (request.headers.authorization !== undefined && !isPassword) return byToken(pool)(request)
    if (!trustsThisHost || !isFromThisHost(request)) {
      throw new GantryError(
        'UNAUTHENTICATED',
        `${trustsThisHost ? 'only programs on this host can send requests without a token' : 'a token is required'}: send the header Authorization: Bearer <API token>`,
      )
    }
    return pool.get(operatorToken())
  }

/** The same, on a server where a password is no more than a header that nobody asks for. */
export const byTokenOrThisHost = (trust: LocalTrust): Authority =>
  byTokenOrLocalHost(trust, { ignoresPasswords: true })

/** What a refused caller of a server is asked for, with access control or without. */
export const challengesOf = (name: HttpServerName, asksWho: boolean): string[] =>
  asksWho ? [`Basic realm="${httpServers[name].title}", charset="UTF-8"`, 'Bearer'] : ['Bearer']

/** What passwords are checked with. */
interface CredentialCheck {
  readonly pool: ConnectionPool
  readonly credentialConnection: NatsConnection
  readonly marks: AddressMarks
}

/**
 * A server with access control: everybody sends a password, a token made with one, or an API token; the host itself
 * is no exception. Who it is, the service says on the connection given, which may ask that and nothing else.
 */
export const byCredentials =
  (
    { pool, credentialConnection: service, marks }: CredentialCheck,
    server: Input<typeof authenticationInternal.basic>['server'],
  ): Authority =>
  async (request) => {
    const contextOf = (contract: Contract) => ({
      requestId: request.id,
      ...markedAddress(marks, contract, request),
    })
    const credentials = basicCredentials(request)
    if (credentials !== undefined) {
      // Browsers add a password that they know to what any page asks of us.
      if (isFromOtherPage(request)) {
        throw new GantryError('UNAUTHENTICATED', 'web pages of other sites cannot sign in with a password')
      }
      const { token } = await call(
        service,
        authenticationInternal.basic,
        { ...credentials, server },
        contextOf(authenticationInternal.basic),
      )
      return pool.get(token)
    }
    const bearer = credentialOf(request, 'bearer')
    if (bearer === undefined) {
      throw new GantryError(
        'UNAUTHENTICATED',
        'send the header Authorization: Basic with user name and password, or Bearer with a token',
      )
    }
    if (keyIdOf(bearer) !== undefined) return pool.get(bearer, request.ip)
    const { bearer: contract } = authenticationInternal
    const { token } = await pool.guard.judgedJwt(bearer, request.ip, () =>
      call(service, contract, { jwt: bearer }, contextOf(contract)),
    )
    return pool.get(token)
  }

/** User name and password, parted by the first colon (RFC 7617). */
function basicCredentials(request: FastifyRequest): { userName: string; password: string } | undefined {
  const encoded = credentialOf(request, 'basic')
  if (encoded === undefined) return undefined
  const text = Buffer.from(encoded, 'base64').toString()
  const colon = text.indexOf(':')
  return colon < 0 ? undefined : { userName: text.slice(0, colon), password: text.slice(colon + 1) }
}

const loopbackAddresses = /^(?:127\.|::1$|::ffff:127\.)/

/** Each of them is the sign of a proxy, behind which anybody can be. */
const proxyHeaders = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'via']

function isFromThisHost(request: FastifyRequest): boolean {
  const { headers } = request.raw
  if (proxyHeaders.some((name) => headers[name] !== undefined)) return false
  if (!loopbackAddresses.test(request.raw.socket.remoteAddress ?? '')) return false
  // A name that somebody made resolve to this host is not this host (DNS rebinding).
  if (!isLoopbackName((headers.host ?? '').replace(/:\d+$/, ''))) return false
  return !isFromOtherPage(request)
}

/** Whether a page in a browser asks that does not come from this server. */
function isFromOtherPage({ raw: { headers } }: FastifyRequest): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return true
  return headers.origin !== undefined && headers.origin !== `http://${headers.host}`
}
