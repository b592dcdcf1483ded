import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { AddressMarks } from '../../broker/messages/client-address.ts'
import { call } from '../../broker/rpc/client.ts'
import type { Log } from '../../broker/common/log.ts'
import type { Output } from '../../subjects/kit/contract.ts'
import { isGantryError } from '../../subjects/kit/errors.ts'
import { signIn } from '../../subjects/access/sign-in.ts'
import type { BrowserSessions } from './browser-sessions.ts'
import { markedAddress } from '../server/client-address.ts'
import type { ConnectionPool } from './pool.ts'

export interface SessionRefreshOptions {
  readonly pool: ConnectionPool
  readonly sessions: BrowserSessions
  readonly marks: AddressMarks
  readonly log: Log
}

type Lasting = Output<typeof signIn.refresh>

/** Refreshes the session of a browser with its first request after the time for that has come; the others of a page wait. */
export function addSessionRefresh(edge: FastifyInstance, options: SessionRefreshOptions): void {
  const { pool, sessions, marks, log } = options
  /** By token. */
  const underWay = new Map<string, Promise<Lasting>>()
  const ask = async (token: string, request: FastifyRequest) =>
    call(
      await pool.get(token, request.ip),
      signIn.refresh,
      {},
      {
        requestId: request.id,
        ...markedAddress(marks, signIn.refresh, request),
      },
    )
  const refresh = async (token: string, request: FastifyRequest, reply: FastifyReply) => {
    let refreshed = underWay.get(token)
    if (refreshed === undefined) {
      refreshed = ask(token, request).finally(() => underWay.delete(token))
      underWay.set(token, refreshed)
    }
    try {
      sessions.begin(reply, { token, ...(await refreshed) })
    } catch (error) {
      if (isGantryError(error, 'UNAUTHENTICATED')) sessions.endWith(request, reply)
      else if (isGantryError(error, 'NOT_ALLOWED_IN_STATE')) sessions.cannotRefresh(reply)
      else {
        log.debug(
          { err: error, requestId: request.id },
          'The session of a browser could not be refreshed; retrying later.',
        )
        sessions.refreshLater(reply)
      }
    }
  }
  // Before the routes look who calls: the session may end here.
  edge.addHook('onRequest', (request, reply, done) => {
    const token = request.headers.authorization === undefined ? sessions.heldBy(request) : undefined
    if (token === undefined || !sessions.isDue(request)) done()
    else void refresh(token, request, reply).finally(done)
  })
}
