import { afterAll, beforeAll, describe, expect } from 'vitest'
import { storeError } from '../../../services/drivers/contract/driver.ts'
import { bucketEndpoint } from '../../../services/drivers/s3a/endpoint.ts'
import { queueAddress } from '../../../services/drivers/s3a/queue-address.ts'
import { SqsQueue } from '../../../services/drivers/s3a/sqs-queue.ts'
import { noSqs, type SqsServer, startSqs } from '../../support/sqs.ts'
import { testUnless } from '../../support/unless.ts'

let server: SqsServer
beforeAll(async () => {
  if (noSqs === undefined) server = await startSqs()
})
afterAll(async () => server?.[Symbol.asyncDispose]())

const never = new AbortController().signal
const open = (sqsQueue: string) => {
  const options = {
    bucketName: 'data',
    endpoint: 'http://127.0.0.1:9',
    sqsQueue,
    sqsEndpoint: server.endpoint,
  }
  const bucket = bucketEndpoint(options, { region: '', pathStyle: 'auto', isSecure: true })
  const queue = new SqsQueue({
    address: queueAddress(options, bucket)!,
    credentials: { get: () => Promise.resolve({ accessKey: 'key', secretKey: 'secret' }) },
    limits: { retries: 1, minBackoffMs: 10, maxBackoffMs: 100, connectTimeoutMs: 1_000 },
    bounds: undefined,
  })
  return Object.assign(queue, { [Symbol.dispose]: () => queue.close() })
}

describe('a queue of ElasticMQ', () => {
  testUnless(noSqs, 'is found by name, ARN and URL, and is another one when it was made anew', async () => {
    const url = await server.createQueue('found')
    const streams = new Set<string>()
    for (const name of ['found', 'arn:aws:sqs:elasticmq:000000000000:found', url]) {
      using queue = open(name)
      await queue.probe(never)
      const { stream, keepsMs } = await queue.identify(never)
      expect(keepsMs).toBeGreaterThan(3_600_000)
      streams.add(stream)
    }
    expect(streams.size).toBe(1)
  })

  testUnless(noSqs, 'gives messages, many at once, hides and removes them', async () => {
    const url = await server.createQueue('messages')
    using queue = open('messages')
    const bodies = Array.from({ length: 45 }, (_, n) => `"${n}" ü\n`)
    for (const body of bodies) await server.send(url, body)
    const sentMs = Date.now()
    const messages = []
    while (messages.length < bodies.length) messages.push(...(await queue.receive(never)))
    expect(messages.map(({ body }) => body).toSorted()).toEqual(bodies.toSorted())
    for (const message of messages) expect(Math.abs(message.sentMs - sentMs)).toBeLessThan(60_000)
    const hidden = await queue.hide(messages)
    expect(hidden).not.toContain(undefined)
    await queue.remove(messages.slice(0, 44))
    expect(await server.left(url)).toBe(1)
    // Again: as after a lost answer.
    await queue.remove(messages)
    expect(await server.left(url)).toBe(0)
  })

  testUnless(noSqs, 'that is not there is gone, by name', async () => {
    using queue = open('not-there')
    const error = storeError(await queue.probe(never).catch((problem: unknown) => problem))
    expect(error.failure).toBe('gone')
    expect(error.message).toMatch(/queue not-there \(SQS\).*QueueDoesNotExist.*check sqsQueue/)
    await expect(queue.identify(never)).rejects.toMatchObject({ failure: 'gone' })
  })

  testUnless(noSqs, 'ends waiting when nobody wants messages any more', async () => {
    await server.createQueue('empty')
    using queue = open('empty')
    const end = new AbortController()
    const waiting = queue.receive(end.signal)
    end.abort(new Error('over'))
    await expect(waiting).rejects.toThrow('over')
  })
})
