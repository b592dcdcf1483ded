import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { beforeAll, expect, test } from 'vitest'
import { maxUnderWay } from '../../http-edge/server/socket-limit.ts'
import { sharedPlatform, type TestPlatform } from '../support/platform.ts'
import { until } from '../support/until.ts'

let platform: TestPlatform
beforeAll(async () => {
  platform = await sharedPlatform()
})

/** A socket on which so many requests are sent at once. */
async function ahead(path: string, count: number): Promise<Socket> {
  const { hostname, port } = new URL(platform.httpUrls.platform)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(count))
  return socket
}

const statusesIn = (text: string) => [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => status!)

test('of many requests that are sent ahead on one socket, a few are worked on', async () => {
  const sent = 200
  const socket = await ahead('/api/v1/ping', sent)
  let received = ''
  socket.on('data', (data: Buffer) => (received += data.toString()))
  await until('all are answered', () => statusesIn(received).length === sent)
  const statuses = statusesIn(received)
  expect(statuses.slice(0, maxUnderWay)).toEqual(Array.from({ length: maxUnderWay }, () => '200'))
  expect(statuses.filter((status) => status === '429')).toHaveLength(sent - maxUnderWay)
  // What was answered counts no more.
  received = ''
  socket.write('GET /api/v1/ping HTTP/1.1\r\nHost: x\r\n\r\n')
  await until('it is answered', () => statusesIn(received).length === 1)
  expect(statusesIn(received)).toEqual(['200'])
  socket.destroy()
})

test('a stranger who asks for a document many times and reads nothing keeps nobody waiting', async () => {
  const before = process.memoryUsage().rss
  const socket = await ahead('/catalogue.json', 500)
  const began = performance.now()
  const { status } = await platform.rest('platform', 'GET', '/api/v1/ping', { headers: {} })
  expect(status).toBe(200)
  // It is 500 MB of answers.
  expect(process.memoryUsage().rss - before).toBeLessThan(200e6)
  expect(performance.now() - began).toBeLessThan(5_000)
  socket.destroy()
})
