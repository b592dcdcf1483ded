import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import type { FeedListener } from '../../../../services/drivers/feeds/feed.ts'
import { KafkaFeed } from '../../../../services/drivers/notifications/kafka-feed.ts'

const int = (bytes: 2 | 4 | 8, value = 0): Buffer => {
  const buffer = Buffer.alloc(bytes)
  buffer.writeIntBE(value, Math.max(0, bytes - 4), Math.min(bytes, 4))
  return buffer
}

/** Where a broker would be whose answer to a user's first message is what it likes. */
async function hostileKafkaDouble(answer: (nonce: string) => string) {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.on('data', (request) => {
      const [api, correlation] = [request.readInt16BE(4), request.subarray(8, 12)]
      const nonce = /r=(?<nonce>[^,\0]+)/.exec(request.toString('latin1'))?.groups?.['nonce'] ?? ''
      const said = Buffer.from(answer(nonce))
      const mechanism = Buffer.from('SCRAM-SHA-256')
      const body =
        api === 17
          ? [int(2), int(4, 1), int(2, mechanism.length), mechanism]
          : [Buffer.of(0), int(2), Buffer.of(0, said.length + 1), said, int(8), Buffer.of(0)]
      const reply = Buffer.concat([correlation, ...body])
      socket.write(Buffer.concat([int(4, reply.length), reply]))
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { broker: `127.0.0.1:${port}`, [Symbol.dispose]: () => void server.close() }
}

test.each<[what: string, answer: (nonce: string) => string]>([
  ['without a nonce', () => 'nothing'],
  ['that takes hours to compute', (nonce) => `r=${nonce}x,s=c2FsdA==,i=2000000000`],
])(
  'a broker of Kafka may answer a user with something %s',
  async (_, answer) => {
    using hostile = await hostileKafkaDouble(answer)
    const feed = new KafkaFeed({
      brokers: [hostile.broker],
      topic: 'changes',
      tls: false,
      sasl: { mechanism: 'SCRAM-SHA-256', username: 'gantry', password: 'very-secret' },
      parse: () => undefined,
      bucket: 'bucket',
      root: '',
    })
    const positions = { reader: 'one', isComplete: true, recall: () => Promise.resolve(undefined) }
    const listener = { positions } as unknown as FeedListener
    const error: unknown = await feed
      .open(listener, new AbortController().signal)
      .catch((reason: unknown) => reason)
    expect(String(error)).toContain('the topic changes cannot be read: ')
    expect(String(error)).not.toContain('very-secret')
  },
  15_000,
)

test('who is stopped does not wait for a broker that says nothing', async () => {
  const server = createServer((socket) => socket.on('error', () => undefined)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const feed = new KafkaFeed({
    brokers: [`127.0.0.1:${port}`],
    topic: 'changes',
    tls: false,
    parse: () => undefined,
    bucket: 'bucket',
    root: '',
  })
  const stop = new AbortController()
  const opened = feed.open({} as FeedListener, stop.signal)
  await once(server, 'connection')
  stop.abort(new Error('stopped'))
  await expect(opened).rejects.toThrow('stopped')
  server.close()
}, 10_000)
