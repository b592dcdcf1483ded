import { once } from 'node:events'
import { connect } from 'node:net'
import { until } from './until.ts'

/** A client that speaks the NATS protocol by hand: it sends what no library lets through. */
export interface RawNats extends AsyncDisposable {
  /** Everything that the server has sent. */
  received(): string
  write(text: string): void
  /** Publishes with a header section as written, each line without its end. */
  publish(subject: string, reply: string, headerLines: readonly string[], body: string): void
  /** Waits for text from the server. */
  answer(pattern: RegExp): Promise<string>
}

/** Connects with a token, and subscribes to the inbox that a key may hear. */
export async function connectRaw(url: string, token: string, inbox: string): Promise<RawNats> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname).setEncoding('utf8')
  let received = ''
  socket.on('data', (chunk: string) => (received += chunk))
  await once(socket, 'connect')
  const options = { auth_token: token, verbose: false, pedantic: false, headers: true, no_responders: true }
  const raw: RawNats = {
    received: () => received,
    write: (text) => void socket.write(text),
    publish: (subject, reply, headerLines, body) => {
      const head = `NATS/1.0\r\n${headerLines.map((line) => `${line}\r\n`).join('')}\r\n`
      const [headBytes, allBytes] = [Buffer.byteLength(head), Buffer.byteLength(head + body)]
      socket.write(`HPUB ${subject} ${reply} ${headBytes} ${allBytes}\r\n${head}${body}\r\n`)
    },
    answer: (pattern) =>
      until(`the server sends ${pattern}, not: ${received}`, () => pattern.exec(received)?.[0] ?? false),
    [Symbol.asyncDispose]: async () => {
      socket.destroy()
      if (!socket.closed) await once(socket, 'close')
    },
  }
  await raw.answer(/^INFO .*\r\n/)
  raw.write(`CONNECT ${JSON.stringify(options)}\r\nSUB ${inbox} 1\r\nPING\r\n`)
  await raw.answer(/PONG\r\n/)
  return raw
}
