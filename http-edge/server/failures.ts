import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Socket } from 'node:net'
import { http } from '../../broker/common/http.ts'
import type { Log } from '../../broker/common/log.ts'
import { GantryError } from '../../subjects/kit/errors.ts'
import type { ErrorFormat } from './definition.ts'

/**
 * The largest request line and headers together. The longest path of a file has 12,288 characters, each of which is three
 * in a URL when it is percent-encoded; Node's own limit of 16 KiB would refuse what the documents allow. Strangers may send
 * as much on each connection, so it is no larger.
 */
export const maxHeaderBytes = 64 * 1024

/** Answers with an error, in the format of the server. */
export type SendError = (reply: FastifyReply, error: GantryError) => FastifyReply

export const errorSender =
  ({ render }: ErrorFormat): SendError =>
  (reply, error) => {
    const { request } = reply
    const { status, text } = render(error, error.requestId ?? request.id, request)
    if (status === 429) reply.header('retry-after', '1')
    return reply.status(status).type('application/json; charset=utf-8').send(text)
  }

/** Faults that Fastify found before any handler ran have its own codes; anything unknown is ours, and logged. */
export function toGantryError(error: unknown, log: Log, request: FastifyRequest): GantryError {
  if (error instanceof GantryError) return error
  const { statusCode, code, message } = error as { statusCode?: number; code?: string; message?: string }
  if (statusCode === 413)
    return new GantryError(
      'TOO_LARGE',
      `the body is larger than ${request.routeOptions.bodyLimit} bytes, the limit of this path`,
    )
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
      return new GantryError(
        'INVALID_INPUT',
        'body: send JSON, with the header Content-Type: application/json',
      )
    }
    if (code === 'FST_ERR_BAD_URL')
      return new GantryError('INVALID_INPUT', 'path: the percent-encoding is invalid or not UTF-8')
    return new GantryError('INVALID_INPUT', `the request is malformed: ${message ?? code}`)
  }
  log.error({ err: error, requestId: request.id, path: pathOf(request) }, 'The HTTP server failed.')
  return new GantryError('INTERNAL', 'internal error: find the request id in the log')
}

/** The path without its query, which may hold what does not belong into a log. */
export const pathOf = (request: FastifyRequest): string => request.url.split('?')[0] ?? ''

/** Answers what never became a request in the same format, and ends the connection. */
export const unparsedAnswerer =
  ({ render }: ErrorFormat) =>
  (error: { readonly code?: string }, socket: Socket): void => {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy()
      return
    }
    const { status, text } = render(unparsedError(error.code), crypto.randomUUID())
    const head = [
      `HTTP/1.1 ${status} ${http.STATUS_CODES[status]}`,
      'content-type: application/json; charset=utf-8',
      `content-length: ${Buffer.byteLength(text)}`,
      'connection: close',
    ]
    socket.end(`${head.join('\r\n')}\r\n\r\n${text}`)
  }

function unparsedError(code: string | undefined): GantryError {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new GantryError(
        'INVALID_INPUT',
        `the URL and headers are larger than ${maxHeaderBytes} bytes: shorten the query, or send fewer headers`,
      )
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new GantryError('INVALID_INPUT', 'the request did not arrive in time')
    default:
      return new GantryError(
        'INVALID_INPUT',
        'this is not an HTTP request; percent-encode everything that is not printable ASCII in a URL',
      )
  }
}
