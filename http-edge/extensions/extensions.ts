import type { FastifyInstance, FastifyRequest } from 'fastify'
import { call, send } from '../../broker/rpc/client.ts'
import { outcomeOf } from '../../broker/rpc/endpoint-call.ts'
import { maxRequestBytes } from '../../broker/common/message-limits.ts'
import { isGantryError } from '../../subjects/kit/errors.ts'
import { checkInput, endpointPath } from '../../subjects/extensions/contract.ts'
import { extensionsInternal } from '../../subjects/extensions/extensions.ts'
import type { ExtensionRouteOptions } from './extension-options.ts'
import { endpointFinder } from '../server/find-endpoint.ts'
import type { KnownEndpoint } from './known-extensions.ts'
import { textOf } from '../../broker/messages/request.ts'
import { callerFirst, connectionOf, sendReply } from '../server/server.ts'
import { tracedBy } from '../server/trace.ts'
import { UnderWay } from '../server/under-way.ts'

/** Methods without a body. */
const bodiless = new Set(['GET', 'DELETE'])

/**
 * The route of all endpoints of all extensions. Which there are, and who sees them, is asked once for each connection, and
 * again when the extension has changed; whether the caller may call one, the broker decides at each call. Both input and output are held against the endpoint's schemas.
 */
export function addExtensionRoutes(
  app: FastifyInstance,
  { authority, keyIdOf, charged, lookup, onChange, onDenied, beginSpan, log }: ExtensionRouteOptions,
): void {
  const find = endpointFinder({ keyIdOf, lookup, onChange })
  const underWay = new UnderWay(() => call(lookup, extensionsInternal.lost, {}))
  onChange((prefix) => underWay.look(prefix))
  const report = (prefix: string, name: string, problem: string): void => {
    call(lookup, extensionsInternal.failed, { prefix, name, problem }).catch((err: unknown) =>
      log.warn({ err, prefix, name }, 'A failure of an extension could not be written to its log.'),
    )
  }
  app.route({
    method: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
    url: endpointPath(':prefix', ':endpoint'),
    bodyLimit: maxRequestBytes,
    onRequest: callerFirst(authority),
    handler: async (request, reply) => {
      const { prefix, endpoint: name } = request.params as { prefix: string; endpoint: string }
      const connection = await connectionOf(request, authority)
      const about = { requestId: request.id, ...tracedBy(request, beginSpan) }
      const known = await find(connection, prefix, name, about)
      const { contract } = known
      const input = charged(request, () => textOf(checkInput(contract, inputOf(known, request))))
      const asked = send(connection, contract, input, about)
      const message = await underWay.answerOf(prefix, asked).catch((error: unknown) => {
        if (isGantryError(error, 'DENIED')) onDenied(connection, contract.subject, request.ip)
        if (isGantryError(error, 'TIMEOUT'))
          report(prefix, name, `no answer within ${contract.deadlineMs} ms`)
        throw error
      })
      const { error, fault } = outcomeOf(contract, message)
      if (fault !== undefined) report(prefix, name, fault)
      if (error !== undefined) throw error
      return sendReply(reply, message.data)
    },
  })
}

const inputOf = ({ fromQuery, fromBody }: KnownEndpoint, request: FastifyRequest): unknown =>
  bodiless.has(request.method) ? fromQuery(request) : fromBody(request)
