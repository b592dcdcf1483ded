import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { monotonicMs } from '../../../../broker/common/monotonic.ts'
import { allow, createBounds, type StoreBounds } from '../../../../services/drivers/contract/bounds.ts'
import type { DirtyFolder } from '../../../../services/drivers/feeds/dirty-folders.ts'
import type { ChangeFeed } from '../../../../services/drivers/feeds/feed.ts'
import { S3Driver } from '../../../../services/drivers/s3a/s3a.ts'
import { never } from '../../../conformance/driver-store.ts'
import { listenOnLoopback } from '../../../support/loopback.ts'
import { noPositions } from '../../../support/feeds.ts'
import { until } from '../../../support/until.ts'

/** Stands for a service that lets clients listen to a bucket, as MinIO's documentation and code have it; gone with the scope. */
async function startListenDouble(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
  bounds?: StoreBounds,
) {
  const server = createServer(answer)
  const { port, [Symbol.asyncDispose]: dispose } = await listenOnLoopback(server)
  const options = {
    bucketName: 'data',
    endpoint: `http://127.0.0.1:${port}`,
    accessKey: 'key',
    secretKey: 'secret',
    bucketNotifications: true,
    additionalProperties: { 'fs.s3a.connection.timeout': '100' },
  }
  const driver = new S3Driver(options, bounds)
  const told: DirtyFolder[] = []
  const ends: Error[] = []
  const feed = (await driver.changes!.feed(Buffer.from('in'))) as ChangeFeed
  return {
    driver,
    feed,
    told,
    ends,
    open: () =>
      feed.open(
        {
          changed: (folders) => void told.push(...folders),
          ended: (error) => void ends.push(error),
          positions: noPositions,
        },
        never,
      ),
    [Symbol.asyncDispose]: async () => {
      await feed.close()
      await driver.close()
      server.closeAllConnections()
      await dispose()
    },
  }
}

const event = (key: string, bucket = 'data') => ({
  eventName: 's3:ObjectCreated:Put',
  eventTime: '2026-11-25T00:00:00.000Z',
  s3: { bucket: { name: bucket }, object: { key } },
})
const lineOf = (...records: readonly unknown[]) => `${JSON.stringify({ Records: records })}\n`
const stream = (response: ServerResponse) => response.writeHead(200, { 'content-type': 'text/event-stream' })

test('what comes is told, whole or in pieces; pings and other folders are not', async () => {
  const asked: string[] = []
  await using double = await startListenDouble((request, response) => {
    asked.push(request.url ?? '', String(request.headers.authorization))
    stream(response).write('{"Records":null}\n')
    const line = lineOf(event('in/below/a+file%C3%BC'), event('out/other'), event('in/x', 'another'))
    response.write(line.slice(0, 40))
    setImmediate(() => response.write(`${line.slice(40)} \n${lineOf(event('in/b'))}`))
  })
  expect(double.feed.detection).toBe('notified')
  // What came before it was listened to is not known.
  expect(await double.open()).toBe(false)
  await until('both are told', () => double.told.some(({ names }) => names.includes('b')))
  const names = double.told.map((one) => [one.folder, ...one.names, ...one.trees])
  expect(names).toEqual([
    ['', 'below'],
    ['below', Buffer.from('a fileü').toString('latin1')],
    ['', 'b'],
  ])
  expect(double.ends).toEqual([])
  const [url = '', authorization] = asked
  expect(url).toBe(
    '/data?events=s3%3AObjectCreated%3A%2A&events=s3%3AObjectRemoved%3A%2A&ping=1&prefix=in%2F&suffix=',
  )
  expect(authorization).toMatch(/^AWS4-HMAC-SHA256 Credential=key\//)
})

test.each([
  ['the answer ends', (response: ServerResponse) => void stream(response).end(lineOf())],
  [
    'the connection breaks',
    (response: ServerResponse) => {
      stream(response).write(lineOf(event('in/a')))
      setImmediate(() => response.destroy())
    },
  ],
  ['a line is no notification', (response: ServerResponse) => void stream(response).write('{"x":1}\n')],
  ['a line has no end', (response: ServerResponse) => void stream(response).write('x'.repeat(300_000))],
])('when %s, it is over, and listened to once more', async (_what, answer) => {
  await using double = await startListenDouble((_request, response) => answer(response))
  await double.open()
  await until('it has ended', () => double.ends.length > 0)
  expect(double.ends).toHaveLength(1)
  expect(double.ends[0]).toMatchObject({ failure: 'unreachable' })
})

test('one that goes silent halfway, or sends nothing when nothing happens, keeps back what it tells: it is not listened to', async () => {
  const half = lineOf(event('in/a'))
  await using cut = await startListenDouble((_, response) => {
    stream(response).write('{"Records":null}\n')
    response.write(`${half}${half.slice(0, 100)}`)
  })
  await using mute = await startListenDouble((_, response) => void stream(response).write(half))
  await using gone = await startListenDouble(
    (_, response) => void stream(response).write(`{"Records":null}\n${half}`),
  )
  const doubles = [cut, mute, gone]
  for (const double of doubles) await double.open()
  await until('all have ended', () => doubles.every(({ ends }) => ends.length > 0))
  const keptBack = { name: 'WatchError', isLimit: true, message: expect.stringContaining('keeps') }
  expect(doubles.map(({ ends }) => ends[0])).toMatchObject([keptBack, keptBack, { failure: 'unreachable' }])
})

test('blanks are as good as pings, and say until when everything is told', async () => {
  let more: ServerResponse | undefined
  await using double = await startListenDouble((_, response) => {
    more = stream(response)
    more.write(' '.repeat(300_000))
  })
  await double.open()
  const beganMs = double.feed.toldUntilMs ?? Number.NaN
  expect(beganMs).toBeLessThan(monotonicMs())
  more!.write(` ${lineOf(event('in/a'))}`)
  await until('it is told', () => double.told.length > 0)
  await until('time goes on', () => {
    more!.write(' ')
    return (double.feed.toldUntilMs ?? beganMs) > beganMs
  })
  expect(double.ends).toEqual([])
})

test.each([
  [501, 'application/xml', '<Error><Code>NotImplemented</Code></Error>', /answered 501 NotImplemented/],
  [403, 'application/xml', '<Error><Code>AccessDenied</Code></Error>', /answered 403 AccessDenied/],
  [404, 'text/plain', 'x'.repeat(100_000), /answered 404 when/],
  [200, 'application/xml', '<ListBucketResult/>', /does not let anybody listen/],
])('%d %s is a service that is not listened to', async (status, type, body, message) => {
  await using double = await startListenDouble(
    (_request, response) => void response.writeHead(status, { 'content-type': type }).end(body),
  )
  await expect(double.open()).rejects.toMatchObject({
    name: 'WatchError',
    isLimit: true,
    message: expect.stringMatching(message),
  })
  await expect(double.driver.changes!.check!(never)).rejects.toThrow(message)
})

test('a service that is busy is asked again', async () => {
  await using double = await startListenDouble((_request, response) => void response.writeHead(503).end())
  await expect(double.open()).rejects.toMatchObject({ failure: 'unreachable' })
})

test('it goes with no queue and no topic', () => {
  const options = { bucketName: 'data', endpoint: 'http://s3.example', accessKey: 'k', secretKey: 's' }
  const open = (more: object) => () => new S3Driver({ ...options, bucketNotifications: true, ...more })
  expect(open({ sqsQueue: 'queue', sqsEndpoint: 'http://sqs.example' })).toThrow(/is given besides sqsQueue/)
  expect(open({ bootstrapServers: 'kafka.example:9092', topic: 't' })).toThrow(/besides bootstrapServers/)
})

test('a bucket where no store may be any more is not listened to any longer', async () => {
  const allowed = { roots: undefined, hosts: ['127.0.0.1'] }
  const bounds = createBounds([], allowed)
  let more: ServerResponse | undefined
  await using double = await startListenDouble((_, response) => {
    more = stream(response)
    more.write('{"Records":null}\n')
  }, bounds)
  await double.open()
  allow(bounds, { ...allowed, hosts: [] })
  more!.write('{"Records":null}\n')
  await until('it has ended', () => double.ends.length > 0)
  await expect(double.open()).rejects.toThrow('storeHosts')
})
