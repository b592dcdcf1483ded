import { createHmac, timingSafeEqual } from 'node:crypto'
import { isIPv6 } from 'node:net'
import type { Msg } from '@nats-io/transport-node'
import { crossAccountReply, onlyLine, requestInfo } from './caller.ts'
import { clientAddressHeader } from './headers.ts'
import type { Identity } from '../identity/identity.ts'
import { keyIdOf } from '../identity/token.ts'

/**
 * Addresses of clients behind the edge, which is itself the client that the broker sees. The edge marks what it says with
 * a key that only processes with the platform's identity have, for one request or one connection alone.
 */
export interface AddressMarks {
  mark(address: string, ...context: string[]): string
  /** The address, or undefined when the mark is not that of the edge. */
  read(marked: string, ...context: string[]): string | undefined
}

export function addressMarks(identity: Pick<Identity, 'derive'>): AddressMarks {
  const key = identity.derive('client address')
  const macOf = (parts: readonly string[]) => createHmac('sha256', key).update(parts.join('\n')).digest()
  return {
    mark: (address, ...context) => `${address} ${macOf([address, ...context]).toString('base64url')}`,
    read: (marked, ...context) => {
      const [address, mark, ...rest] = marked.split(' ')
      if (!address || !mark || rest.length > 0) return undefined
      const expected = macOf([address, ...context])
      const given = Buffer.from(mark, 'base64url')
      return given.length === expected.length && timingSafeEqual(given, expected) ? address : undefined
    },
  }
}

/** An IPv4 address is shown as one, also where the socket takes both kinds. */
export const plainAddress = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/i, '')

/** Groups of an IPv6 address that name a network; whoever has one has all addresses in it. */
const networkGroups = 4

/** What one guesser has: an IPv4 address, or a network of IPv6. */
export function networkOf(address: string): string {
  const plain = plainAddress(address)
  // What follows takes longer than all else that a refused request needs here.
  if (!plain.includes(':') || !isIPv6(plain)) return plain
  const [head = '', tail = ''] = plain.split('::')
  const groups = (text: string) => text.split(':').filter((group) => group !== '')
  const missing = 8 - groups(head).length - groups(tail).length
  const all = [...groups(head), ...Array.from({ length: missing }, () => '0'), ...groups(tail)]
  return all.slice(0, networkGroups).join(':')
}

/**
 * Where a request comes from: by the edge's word where it has passed it on, else by the broker's, which tells the address
 * of the connection. undefined for the platform itself.
 */
export function addressOf(
  message: Msg,
  marks: AddressMarks,
  { subject, requestId }: { subject: string; requestId: string },
): string | undefined {
  const passedOn = onlyLine(message, clientAddressHeader)
  const address = passedOn ? marks.read(passedOn, subject, requestId) : undefined
  if (address !== undefined) return address
  if (!message.reply?.startsWith(crossAccountReply)) return undefined
  const { host } = JSON.parse(requestInfo(message) ?? '{}') as { host?: unknown }
  return typeof host === 'string' ? plainAddress(host) : undefined
}

const edge = 'edge'

/** How the edge calls a connection that it opens for a client. */
export const edgeName = (marks: AddressMarks, address: string, token: string): string =>
  `${edge} ${marks.mark(plainAddress(address), keyIdOf(token) ?? '')}`

/**
 * The same for a connection that is being opened, of which the broker tells its name and host; and whether it is the edge
 * that opens it.
 */
export function originOfConnection(
  marks: AddressMarks,
  {
    name = '',
    host,
    keyId = '',
  }: { name?: string | undefined; host?: string | undefined; keyId?: string | undefined },
): { address: string | undefined; isEdge: boolean } {
  const passedOn = name.startsWith(`${edge} `) ? name.slice(edge.length + 1) : ''
  const address = marks.read(passedOn, keyId)
  if (address !== undefined) return { address, isEdge: true }
  return { address: host === undefined ? undefined : plainAddress(host), isEdge: false }
}
