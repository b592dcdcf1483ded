/**
 * Floods a broker until its input ends, in a process of its own. Arguments: address, token, subject, bytes of a message,
 * connections, and `answers` or `silent`: whether replies are wanted. It writes as fast as the broker takes it, does not
 * wait for answers, and connects again when it is dropped. Prints a line when it has begun.
 */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { parseToken } from '../../broker/identity/token.ts'

/** So many bytes are written in one go. */
const chunkBytes = 1 << 20
const againMs = 20

const [url = '', token = '', subject = '', bytes = '', connections = '', wants = ''] = process.argv.slice(2)
const { hostname, port } = new URL(url)
const reply = wants === 'answers' ? `_INBOX.${parseToken(token)!.keyId}.flood ` : ''
const body = `{"x":"${'x'.repeat(Number(bytes) - 8)}"}`
const message = Buffer.from(`PUB ${subject} ${reply}${body.length}\r\n${body}\r\n`)
const chunk = Buffer.concat(
  Array.from({ length: Math.max(1, Math.floor(chunkBytes / message.length)) }, () => message),
)

async function flood(socket: Socket): Promise<void> {
  const lost = new AbortController()
  socket.on('error', () => undefined).on('close', () => lost.abort())
  socket.on('data', (data: Buffer) => {
    if (data.includes('PING\r\n')) socket.write('PONG\r\n')
  })
  await once(socket, 'connect', lost)
  socket.write(`CONNECT ${JSON.stringify({ auth_token: token, verbose: false, headers: true })}\r\n`)
  while (!lost.signal.aborted) if (!socket.write(chunk)) await once(socket, 'drain', lost)
}

async function floodAgain(): Promise<void> {
  for (;;) {
    const socket = connect(Number(port), hostname)
    await flood(socket).catch(() => undefined)
    socket.destroy()
    await delay(againMs)
  }
}

process.stdin.once('end', () => process.exit(0)).resume()
process.stdout.write('flooding\n')
await Promise.all(Array.from({ length: Number(connections) }, floodAgain))
