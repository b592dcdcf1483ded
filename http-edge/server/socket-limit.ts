import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { networkOf } from '../../broker/messages/client-address.ts'
import { isLoopbackAddress } from '../../broker/common/loopback.ts'

/**
 * Sockets of one address, or network of IPv6, at one port: browsers open six each, so that these are all people of an office behind one address,
 * and a proxy before us keeps fewer. Each takes some 20 kB.
 */
export const maxSocketsOfAddress = 1_000

interface SocketLimitOptions {
  readonly most?: number
  /** Whether an address has no limit: that of this host, where proxies are. */
  readonly isExempt?: (address: string) => boolean
}

/**
 * Closes the socket of an address that has been idle longest when the address has as many as it may; while none of them is
 * idle, the new one. Idle is a socket on which no request is being answered, so also one that has sent half of one.
 */
export function limitSockets(
  server: Server,
  { most = maxSocketsOfAddress, isExempt = isLoopbackAddress }: SocketLimitOptions = {},
): void {
  /** By address or network, the one that has been idle longest first. */
  const idleOf = new Map<string, Set<Socket>>()
  const countOf = new Map<string, number>()
  const idleWith = new WeakMap<Socket, Set<Socket>>()
  server.on('connection', (socket: Socket) => {
    const { remoteAddress } = socket
    if (remoteAddress === undefined || isExempt(remoteAddress)) return
    const address = networkOf(remoteAddress)
    const idle = idleOf.get(address) ?? new Set()
    idleOf.set(address, idle)
    idleWith.set(socket, idle)
    const count = countOf.get(address) ?? 0
    countOf.set(address, count + 1)
    socket.once('close', () => {
      idle.delete(socket)
      const left = countOf.get(address)! - 1
      if (left > 0) return countOf.set(address, left)
      countOf.delete(address)
      return idleOf.delete(address)
    })
    if (count < most) {
      idle.add(socket)
      return
    }
    const [longest] = idle
    idle.add(socket)
    ;(longest ?? socket).destroy()
  })
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    const idle = idleWith.get(socket)
    if (idle === undefined) return
    idle.delete(socket)
    response.once('close', () => {
      if (!socket.destroyed) idle.add(socket)
    })
  })
}

/**
 * Requests that one socket may have under way: browsers wait for each answer, and programs that send some ahead send a few.
 * All that come with one packet begin at once, and each holds its answer until those before it were read.
 */
export const maxUnderWay = 32

/** Counts the requests of each socket that are being answered. @returns whether one that begins is one too many */
export function pipelineLimit(): (request: IncomingMessage, response: ServerResponse) => boolean {
  const ofSocket = new WeakMap<Socket, { underWay: number }>()
  return ({ socket }, response) => {
    let count = ofSocket.get(socket)
    if (count === undefined) {
      count = { underWay: 0 }
      ofSocket.set(socket, count)
    }
    const { underWay } = count
    count.underWay += 1
    // It comes once; to say so costs each request a little more.
    response.on('close', () => (count.underWay -= 1))
    return underWay >= maxUnderWay
  }
}
