import type { FastifyReply } from 'fastify'
import { pipeline, Readable } from 'node:stream'
import { contentsOf, type Further, type Part } from '../../subjects/kit/download.ts'
import type { Download } from './definition.ts'

/**
 * Answers with a whole text, part after part as fast as the client takes them. When a part fails after the first, the
 * connection is broken off: the client must not take the beginning for all of it.
 */
export function sendDownload(
  reply: FastifyReply,
  {
    by,
    part,
    as: { name, type, through },
  }: { readonly by: string | undefined; readonly part: Part; readonly as: Download },
  ask: (further: Further) => Promise<Part>,
): FastifyReply {
  const texts = Readable.from(contentsOf(part, ask, by), { objectMode: false })
  return (
    reply
      .header(
        'content-type',
        type.startsWith('text/') || through === undefined ? `${type}; charset=utf-8` : type,
      )
      .header('content-disposition', `attachment; filename*=UTF-8''${encodeURIComponent(name)}`)
      // Fastify sees to it that the connection is broken off.
      .send(through === undefined ? texts : pipeline(texts, through, () => undefined))
  )
}
