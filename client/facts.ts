import type { Msg } from '@nats-io/nats-core'
import { messageHeaders } from '../subjects/kit/names.ts'

/**
 * Whether a message on a subject of facts is one: only the platform publishes there, but a caller may have a reply delivered
 * anywhere. None of those has this header with its subject.
 */
export const isFact = (message: Msg): boolean =>
  message.headers?.get(messageHeaders.event) === message.subject
