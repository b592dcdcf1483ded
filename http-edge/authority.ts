import type { FastifyRequest } from 'fastify'
import type { NatsConnection } from '../broker/connection.ts'
import { GantryError } from '../subjects/errors.ts'
import type { ConnectionPool } from './pool.ts'

/** Decides on whose connection a request goes to the broker; what that connection may do, the broker decides. */
export type Authority = (request: FastifyRequest) => NatsConnection | Promise<NatsConnection>

/** By the API token in `Authorization: Bearer …`, and in no other way. */
export const byToken =
  (pool: ConnectionPool): Authority =>
  (request) => {
    const token = bearerToken(request)
    if (token === undefined) {
      throw new GantryError('UNAUTHENTICATED', 'send the header Authorization: Bearer <API token>')
    }
    return pool.get(token, request.ip)
  }

/** Unauthenticated routes, on a narrow key of the edge itself. */
export const byConnection =
  (connection: NatsConnection): Authority =>
  () =>
    connection

/**
 * The migrator without access control: programs on this host act as the local operator; anybody else needs a token.
 * A web page that a person on this host looks at must not act for them, nor what a proxy passes on from elsewhere.
 */
export const byTokenOrLocalHost =
  (pool: ConnectionPool, operator: () => NatsConnection | Promise<NatsConnection>): Authority =>
  (request) => {
    if (request.headers.authorization !== undefined) return byToken(pool)(request)
    if (!isFromThisHost(request)) {
      throw new GantryError(
        'UNAUTHENTICATED',
        'without a token only programs on the host itself are served: send the header Authorization: Bearer <API token>',
      )
    }
    return operator()
  }

function bearerToken(request: FastifyRequest): string | undefined {
  const [scheme, token, ...rest] = (request.headers.authorization ?? '').split(' ')
  return scheme?.toLowerCase() === 'bearer' && token && rest.length === 0 ? token : undefined
}

const loopbackNames = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/
const loopbackAddresses = /^(?:127\.|::1$|::ffff:127\.)/

/** Each of them is the sign of a proxy, behind which anybody can be. */
const proxyHeaders = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'via']

function isFromThisHost(request: FastifyRequest): boolean {
  const { headers } = request.raw
  if (proxyHeaders.some((name) => headers[name] !== undefined)) return false
  if (!loopbackAddresses.test(request.raw.socket.remoteAddress ?? '')) return false
  // A name that somebody made resolve to this host is not this host (DNS rebinding).
  if (!loopbackNames.test(headers.host ?? '')) return false
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return false
  return headers.origin === undefined || headers.origin === `http://${headers.host}`
}
