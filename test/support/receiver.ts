import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface ReceivedMessage {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly text: string
  readonly body: { type: string; timestamp: string; data: Record<string, unknown> }
}

/** A server that takes webhooks on this host. */
export interface Receiver extends AsyncDisposable {
  readonly port: number
  readonly url: string
  /** All that came, the oldest first. */
  readonly messages: ReceivedMessage[]
  /** How it answers from now on; 204 by default. */
  answer: (response: ServerResponse) => void
}

export async function startReceiver(): Promise<Receiver> {
  const messages: ReceivedMessage[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString()
      const { url: path = '', headers } = request
      messages.push({ path, headers, text, body: JSON.parse(text) as ReceivedMessage['body'] })
      receiver.answer(response)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const receiver: Receiver = {
    port,
    url: `http://127.0.0.1:${port}`,
    messages,
    answer: (response) => response.writeHead(204).end(),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return receiver
}

/** As the document of Standard Webhooks has it, and not as our own code does. */
export function isSignedWith(secret: string, { headers, text }: ReceivedMessage): boolean {
  const signed = `${String(headers['webhook-id'])}.${String(headers['webhook-timestamp'])}.${text}`
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64')
  return headers['webhook-signature'] === `v1,${createHmac('sha256', key).update(signed).digest('base64')}`
}
