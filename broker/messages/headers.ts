import type { MsgHdrsImpl } from '@nats-io/nats-core/internal'
import { headers, type MsgHdrs } from '@nats-io/transport-node'
import { messageHeaders } from '../../subjects/kit/names.ts'

/** Set by nats-server on every request that crosses into PLATFORM: who is calling. A client's own is overwritten. */
export const requestInfoHeader = 'Nats-Request-Info'
/** Follows a request through the log; made by whoever receives it first. */
export const requestIdHeader = messageHeaders.requestId
/** Address of a client behind the edge, with the mark by which it is believed. */
export const clientAddressHeader = messageHeaders.clientAddress

/** On replies that could be taken for publications, with the subject that was asked. */
export const replyHeader = messageHeaders.reply

/** The headers of all marked answers to one contract, encoded once. */
export function replyHeaders(subject: string): MsgHdrs {
  const head = headers() as MsgHdrsImpl
  head.set(replyHeader, subject)
  const bytes = head.encode()
  head.encode = () => bytes
  return head
}

/** On every fact, with its subject. */
export const eventHeader = messageHeaders.event

/** Ids are short and of plain characters, so that they can stand in a log, a header and a message. */
const maxRequestIdLength = 64
export const isRequestId = (text: string): boolean =>
  text.length <= maxRequestIdLength && /^[\w.:-]+$/.test(text)
