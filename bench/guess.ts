/**
 * Sends wrong tokens of a real key at an even rate until its input ends. Arguments: address of the platform, a token. It
 * writes by hand on a few connections, and does not look at the answers: on a machine with few cores a client would cost
 * the good requests more than the platform's refusals do.
 */
import { connect, type Socket } from 'node:net'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { formatToken, parseToken } from '../broker/identity/token.ts'

export const guessesPerSecond = 1_000
const tickMs = 1
const connections = 16

async function guess(url: string, token: string, signal: AbortSignal): Promise<void> {
  const { location, keyId } = parseToken(token)!
  const { hostname, port, host } = new URL(url)
  const sockets = Array.from({ length: connections }, () => connect(Number(port), hostname).resume())
  await Promise.all(sockets.map((socket) => once(socket, 'connect')))
  const send = (socket: Socket, wrong: string) =>
    socket.write(`GET /api/v1/apikey HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${wrong}\r\n\r\n`)
  for (let sent = 0, began = performance.now(); !signal.aborted; await delay(tickMs)) {
    for (; sent < ((performance.now() - began) / 1_000) * guessesPerSecond; sent++)
      send(sockets[sent % connections]!, formatToken(location, keyId, `guess${sent}`))
  }
}

if (import.meta.main) {
  const [url = '', token = ''] = process.argv.slice(2)
  const end = new AbortController()
  process.stdin.once('end', () => end.abort()).resume()
  process.stdout.write('guessing\n')
  await guess(url, token, end.signal)
  process.exit(0)
}
