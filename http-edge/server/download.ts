import type { FastifyReply } from 'fastify'
import { Readable } from 'node:stream'
import { contentsOf, type Part } from '../../subjects/kit/download.ts'

/**
 * Answers with a whole text, part after part as fast as the client takes them. When a part fails after the first, the
 * connection is broken off: the client must not take the beginning for all of it.
 */
export function sendDownload(
  reply: FastifyReply,
  first: Part,
  ask: (from: number) => Promise<Part>,
): FastifyReply {
  return reply
    .header('content-type', `${first.type}; charset=utf-8`)
    .header('content-disposition', `attachment; filename*=UTF-8''${encodeURIComponent(first.name)}`)
    .send(Readable.from(contentsOf(first, ask), { objectMode: false }))
}
