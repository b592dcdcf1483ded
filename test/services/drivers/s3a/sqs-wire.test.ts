import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { SqsQueue } from '../../../../services/drivers/s3a/sqs-queue.ts'

interface Asked {
  readonly call: string
  readonly parameters: Record<string, unknown>
  readonly headers: IncomingMessage['headers']
}
type Answer = readonly [status: number, body: object | string, headers?: Record<string, string>]

const never = new AbortController().signal
const attributes = {
  QueueArn: 'arn:aws:sqs:eu-west-1:1:q',
  CreatedTimestamp: '1',
  MessageRetentionPeriod: '60',
}

/** What SQS answers, as its reference has it, where no server that can be had does; gone with the scope. */
async function startDouble(answer: (asked: Asked) => Answer) {
  const asked: Asked[] = []
  const server = createServer((request, response) => {
    json(request).then(
      (parameters) => {
        const call = String(request.headers['x-amz-target']).replace('AmazonSQS.', '')
        const one = { call, parameters: parameters as Record<string, unknown>, headers: request.headers }
        asked.push(one)
        const [status, body, headers = {}] = answer(one)
        response.writeHead(status, { 'content-type': 'application/x-amz-json-1.0', ...headers })
        response.end(typeof body === 'string' ? body : JSON.stringify(body))
      },
      () => response.destroy(),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const credentials = [
    { accessKey: 'first', secretKey: 'top/secret', sessionToken: 'token' },
    { accessKey: 'second', secretKey: 'top/secret' },
  ]
  const queue = new SqsQueue({
    address: {
      name: 'q',
      url: 'http://elsewhere.example/1/q',
      endpoint: { host: '127.0.0.1', port, secure: false },
      region: 'eu-west-1',
      isOfAmazon: false,
      field: 'sqsQueue',
    },
    credentials: { get: () => Promise.resolve(credentials[0]!), forget: () => void credentials.shift() },
    limits: { retries: 0, minBackoffMs: 1, maxBackoffMs: 1, connectTimeoutMs: 1_000 },
    bounds: undefined,
  })
  return {
    queue,
    asked,
    [Symbol.dispose]: () => {
      queue.close()
      server.closeAllConnections()
      server.close()
    },
  }
}

test('requests go to the endpoint, signed for the service and its region', async () => {
  using double = await startDouble(() => [200, { Attributes: attributes }])
  expect(await double.queue.identify(never)).toEqual({
    stream: 'arn:aws:sqs:eu-west-1:1:q 1',
    keepsMs: 60_000,
  })
  const [{ call, parameters, headers } = {}] = double.asked
  expect(call).toBe('GetQueueAttributes')
  expect(parameters?.['QueueUrl']).toBe('http://elsewhere.example/1/q')
  expect(headers?.authorization).toMatch(
    /Credential=first\/\d{8}\/eu-west-1\/sqs\/aws4_request,SignedHeaders=content-type;host;x-amz-date;x-amz-security-token;x-amz-target,/,
  )
})

test('credentials that have ended are renewed', async () => {
  using double = await startDouble(({ headers }) =>
    headers.authorization?.includes('first') === true
      ? [403, { __type: 'com.amazon.coral.service#ExpiredTokenException' }]
      : [200, { Attributes: attributes }],
  )
  await double.queue.identify(never)
  expect(double.asked).toHaveLength(2)
})

test.each([
  [[400, { __type: 'com.amazonaws.sqs#QueueDoesNotExist', message: 'no' }], 'gone'],
  [[400, { __type: 'com.amazonaws.sqs#AccessDeniedException' }], 'refused'],
  [[403, { __type: 'com.amazon.coral.service#AccessDenied' }], 'refused'],
  [[400, { __type: 'com.amazon.coral.service#UnrecognizedClientException' }], 'refused'],
  [[403, { __type: 'com.amazon.coral.service#InvalidSignatureException' }], 'refused'],
  [[400, { __type: 'com.amazonaws.sqs#KmsAccessDenied' }], 'refused'],
  [[400, { __type: 'com.amazonaws.sqs#RequestThrottled' }], 'throttled'],
  [[400, { __type: 'com.amazonaws.sqs#OverLimit' }], 'throttled'],
  [[500, 'top/secret', { 'content-type': 'text/plain' }], 'unreachable'],
  [[200, '<html>', { 'content-type': 'text/html' }], 'unreachable'],
  [[301, '', { location: 'http://169.254.169.254/' }], 'unreachable'],
  [[200, '{'], 'unreachable'],
  [[200, { Attributes: [] }], 'unreachable'],
] as const)('%j is %s', async (answer, failure) => {
  using double = await startDouble(() => answer)
  const error: unknown = await double.queue.identify(never).catch((problem: unknown) => problem)
  expect(error).toMatchObject({ failure })
  expect((error as Error).message).not.toContain('top/secret')
})

test('of a batch that fails in part, what is left is told', async () => {
  using double = await startDouble(({ parameters }) => {
    const entries = parameters['Entries'] as { Id: string; ReceiptHandle: string }[]
    const of = (text: string) => entries.filter(({ ReceiptHandle }) => ReceiptHandle === text)
    return [
      200,
      {
        Successful: of('well').map(({ Id }) => ({ Id })),
        Failed: [
          ...of('gone').map(({ Id }) => ({ Id, Code: 'ReceiptHandleIsInvalid', SenderFault: true })),
          ...of('later').map(({ Id }) => ({ Id, Code: 'InternalError', SenderFault: false })),
          { Id: 'nobody’s' },
          null,
        ],
      },
    ]
  })
  const messages = (...receipts: string[]) => receipts.map((receipt) => ({ receipt, sentMs: 1 }))
  await double.queue.remove(messages('well', 'gone'))
  await expect(double.queue.remove(messages('well', 'later'))).rejects.toThrow(/1 of 2 are left/)
  const [well, , another] = messages('well', 'gone', 'well')
  expect(await double.queue.hide(messages('well', 'gone', 'well'))).toEqual([well, undefined, another])
  const many = Array.from({ length: 95 }, () => 'well')
  double.asked.length = 0
  await double.queue.remove(messages(...many))
  expect(double.asked).toHaveLength(10)
})

test('what is no message is left out', async () => {
  using double = await startDouble(() => [
    200,
    {
      Messages: [
        null,
        7,
        { Body: 'a' },
        { Body: 'b', ReceiptHandle: 'r', Attributes: { SentTimestamp: '5' } },
      ],
    },
  ])
  expect(await double.queue.receive(never)).toEqual([{ body: 'b', receipt: 'r', sentMs: 5 }])
})

test('an answer that cannot be read, or would fill the memory, is told, and no message is taken from it', async () => {
  for (const body of ['no JSON', `{"Messages":[${'{},'.repeat(8_100_000)}{}]}`]) {
    using double = await startDouble(() => [200, body])
    await expect(double.queue.receive(never)).rejects.toMatchObject({ failure: 'unreachable' })
  }
})
