import { hash } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'

/**
 * Sends a text that the caller may keep and ask for again (RFC 9110, 13.1.2): with its tag it is sent only if it has
 * changed, and else 304.
 */
export function sendUnlessKnown(request: FastifyRequest, reply: FastifyReply, text: string): FastifyReply {
  const tag = `"${hash('sha256', text, 'base64url')}"`
  reply.header('etag', tag).header('cache-control', 'private, no-cache')
  const known = request.headers['if-none-match']
  const isKnown = known?.split(',').some((one) => ['*', tag, `W/${tag}`].includes(one.trim())) === true
  return isKnown ? reply.status(304).send() : reply.send(text)
}
