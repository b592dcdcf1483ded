import type { Msg } from '@nats-io/transport-node'
import type { Caller, ClientConnection } from '../../subjects/kit/contract.ts'
import { isInbox, roots } from '../../subjects/kit/names.ts'
import { requestInfoHeader } from './headers.ts'
import type { Identity } from '../identity/identity.ts'

/** nats-server rewrites the reply of a request that crosses accounts to a subject under this root. */
export const crossAccountReply = '_R_.'

const agentRoot = `${roots.agents}.`

/**
 * Who sent a request, by the broker's word alone. A request that crossed from another account carries the header that
 * nats-server wrote; one without such a reply was sent inside PLATFORM, where only the platform's own services are.
 * undefined: not issued by us.
 */
export function callerOf(message: Msg, identity: Pick<Identity, 'GANTRY' | 'AGENTS'>): Caller | undefined {
  if (!message.reply?.startsWith(crossAccountReply)) {
    // What a stream delivers wants its reply elsewhere: somebody who may write to a stream could have it delivered to a service.
    return isInbox(message.reply) ? { kind: 'platform' } : undefined
  }
  const text = requestInfo(message)
  if (text === undefined) return undefined
  const isOfAgents = message.subject.startsWith(agentRoot)
  const { account, signing } = isOfAgents ? identity.AGENTS : identity.GANTRY
  const keyId = fieldOf(text, 'user')
  const issued =
    fieldOf(text, 'issuer_key') === signing.getPublicKey() && fieldOf(text, 'acc') === account.getPublicKey()
  // An agent asks under its own key id alone.
  if (isOfAgents && message.subject.slice(agentRoot.length).split('.')[0] !== keyId) return undefined
  return issued && keyId !== undefined ? { kind: 'key', keyId } : undefined
}

/** On which connection a request came that crossed from another account. */
export function connectionOf(message: Msg): ClientConnection | undefined {
  if (!message.reply?.startsWith(crossAccountReply)) return undefined
  const { server, id, start } = JSON.parse(requestInfo(message) ?? '{}') as Record<string, unknown>
  return typeof server === 'string' && typeof id === 'number' && typeof start === 'string'
    ? { server, id, started: start }
    : undefined
}

/** The server's word on the client of a request that crossed accounts. */
export const requestInfo = (message: Msg): string | undefined => onlyLine(message, requestInfoHeader)

/** The user of a request that crossed accounts, by the server's word. */
export function userOf(message: Msg): string | undefined {
  const text = requestInfo(message)
  return text === undefined ? undefined : fieldOf(text, 'user')
}

/**
 * A field of the server's word on a client, without reading the rest. The text of a client cannot be taken for it: quotes
 * in it are escaped.
 */
function fieldOf(info: string, name: string): string | undefined {
  const field = `"${name}":"`
  const at = info.indexOf(field)
  if (at < 0) return undefined
  const from = at + field.length
  return info.slice(from, info.indexOf('"', from))
}

/** The one line of a header. Were there another, nobody could tell which is whose. */
export function onlyLine(message: Msg, header: string): string | undefined {
  try {
    const lines = message.headers?.values(header) ?? []
    return lines.length === 1 ? lines[0] : undefined
  } catch {
    // The lines of a client that writes them by hand need not be headers.
    return undefined
  }
}
