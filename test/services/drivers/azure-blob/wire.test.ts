import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { Container } from '../../../../services/drivers/azure-blob/container.ts'
import { StoreError } from '../../../../services/drivers/contract/driver.ts'
import { failureOf } from '../../../conformance/driver-store.ts'
import { openClient } from '../../../support/azure-driver.ts'
import { listenOnLoopback } from '../../../support/loopback.ts'

type Answer = (request: IncomingMessage, response: ServerResponse) => void

/** A Blob service that misbehaves as told, answer by answer; the last one stands for all further requests. */
async function misbehaving(...answers: Answer[]) {
  let requests = 0
  const server = createServer((request, response) => {
    const answer = answers[Math.min(requests++, answers.length - 1)]
    request.resume().on('end', () => answer?.(request, response))
  })
  const { port, [Symbol.asyncDispose]: dispose } = await listenOnLoopback(server)
  const client = openClient(
    { secure: false, host: '127.0.0.1', port, containerPath: '/account/container' },
    { accountName: 'account', sharedKey: 'a2V5' },
  )
  const get = (options: { signal?: AbortSignal; into?: Buffer; retries?: number } = {}) =>
    client.request({ method: 'GET', blob: 'file', what: () => 'get file', ...options })
  const failure = async (options: { signal?: AbortSignal } = {}) => {
    const error: unknown = await get(options).catch((error: unknown) => error)
    return error instanceof StoreError ? error : expect.unreachable(String(error))
  }
  return {
    client,
    get,
    failure,
    requests: () => requests,
    [Symbol.asyncDispose]: async () => {
      client.close()
      await dispose()
    },
  }
}

const status =
  (code: number, headers: Record<string, string> = {}): Answer =>
  (_, response) =>
    response.writeHead(code, headers).end()
/** On every answer of the service. */
const ofService = { 'x-ms-request-id': '1' }
const good: Answer = (_, response) => response.writeHead(200, ofService).end('content')
const cut: Answer = (request) => request.socket.destroy()
const half: Answer = (request, response) => {
  response.writeHead(200, { ...ofService, 'content-length': '7' }).write('con')
  setImmediate(() => request.socket.destroy())
}
/** Closes after the answer without saying so; the client finds out with its next request. */
const goodAndGone: Answer = (request, response) => {
  request.socket.once('data', () => request.socket.resetAndDestroy())
  response.writeHead(200, ofService).end('content')
}

test.each([
  ['throttling', status(503, { 'x-ms-error-code': 'ServerBusy' })],
  ['a limit on requests', status(429)],
  ['a server error', status(500)],
  ['a gateway without a server', status(502)],
  ['a connection cut before the answer', cut],
])('%s is tried again', async (_, answer) => {
  await using service = await misbehaving(answer, answer, good)
  expect((await service.get()).body.toString()).toBe('content')
  expect(service.requests()).toBe(3)
})

test.each([
  [503, 'ServerBusy', 'throttled'],
  [500, 'InternalError', 'unreachable'],
  [500, 'OperationTimedOut', 'unreachable'],
])('%i %s is given up after the retries, as %s', async (code, error, failure) => {
  await using service = await misbehaving(status(code, { 'x-ms-error-code': error }))
  expect(await service.failure()).toMatchObject({ failure, retryable: true })
  expect(service.requests()).toBe(3)
})

test.each([
  [400, undefined, 'name'],
  [400, 'InvalidUri', 'name'],
  [400, 'InvalidResourceName', 'name'],
  [400, 'Md5Mismatch', 'corrupt'],
  [400, 'InvalidBlockList', 'corrupt'],
  [400, 'InvalidHeaderValue', 'io'],
  [401, 'NoAuthenticationInformation', 'refused'],
  [403, 'AuthenticationFailed', 'refused'],
  [403, 'AuthorizationFailure', 'refused'],
  [403, 'AuthorizationPermissionMismatch', 'permission'],
  [404, 'ContainerNotFound', 'gone'],
  [404, 'BlobNotFound', 'gone'],
  [409, 'BlobImmutableDueToPolicy', 'permission'],
  [409, 'ContainerBeingDeleted', 'gone'],
  [409, 'InvalidBlobType', 'unsupported'],
  [412, 'ConditionNotMet', 'changed'],
  [412, 'LeaseIdMissing', 'permission'],
  [413, 'RequestBodyTooLarge', 'too-large'],
  [414, undefined, 'name'],
  [416, 'InvalidRange', 'changed'],
])('%i %s is %s, at once', async (code, error, failure) => {
  const headers = { 'x-ms-request-id': 'id-1', ...(error === undefined ? {} : { 'x-ms-error-code': error }) }
  await using service = await misbehaving(status(code, headers))
  const problem = await service.failure()
  expect(problem.failure).toBe(failure)
  expect(problem.message).toMatch(/^get file: \d{3} .*\(request id-1\)/)
  expect(service.requests()).toBe(1)
})

test.each([
  ['another range', 'bytes 10-16/100'],
  ['another length than it says', 'bytes 0-9/10'],
])('the beginning of a blob is not taken from an answer with %s', async (_what, range) => {
  await using service = await misbehaving((_, response) =>
    response.writeHead(206, { ...ofService, etag: '"1"', 'content-range': range }).end('content'),
  )
  const container = new Container(service.client, { isListed: false, directory: '' })
  expect(await failureOf(container.readHead('file', 100, () => 'open file'))).toBe('corrupt')
})

test('Retry-After is kept to', async () => {
  await using service = await misbehaving(status(503, { 'retry-after': '1' }), good)
  const startedMs = performance.now()
  await service.get()
  expect(performance.now() - startedMs).toBeGreaterThanOrEqual(990)
})

test('a longer wait than the limit is left to the engine', async () => {
  await using service = await misbehaving(status(503, { 'retry-after': '30' }))
  expect(await service.failure()).toMatchObject({ failure: 'throttled', retryAfterMs: 30_000 })
  expect(service.requests()).toBe(1)
})

test('a service that says nothing is unreachable after the limit', async () => {
  await using service = await misbehaving(() => undefined)
  const problem = await service.failure()
  expect(problem.failure).toBe('unreachable')
  expect(problem.message).toContain('no data for 500 ms (ETIMEDOUT)')
})

test('a body that stops in the middle is not taken for a whole one', async () => {
  await using service = await misbehaving(half, good)
  const into = Buffer.alloc(7)
  expect((await service.get({ into })).body.toString()).toBe('content')
  await using always = await misbehaving(half)
  expect((await always.failure()).failure).toBe('unreachable')
})

test('a connection that the service closed while it was idle costs no retry', async () => {
  await using service = await misbehaving(goodAndGone)
  for (let i = 0; i < 3; i++) expect((await service.get({ retries: 0 })).body.toString()).toBe('content')
  // More than were made: some met such a connection and were sent again.
  expect(service.requests()).toBeGreaterThan(3)
})

test('an abort ends the request, and the wait between retries, with its reason', async () => {
  const reason = new Error('stopped')
  await using silent = await misbehaving(() => undefined)
  const controller = new AbortController()
  const got = silent.get({ signal: controller.signal })
  controller.abort(reason)
  await expect(got).rejects.toBe(reason)
  const waiting = new AbortController()
  await using busy = await misbehaving((_, response) => {
    response.writeHead(503, { 'retry-after': '2' }).end(() => waiting.abort(reason))
  })
  const startedMs = performance.now()
  await expect(busy.get({ signal: waiting.signal })).rejects.toBe(reason)
  expect(performance.now() - startedMs).toBeLessThan(1_500)
})

test.each([
  ['another server’s success', status(200)],
  ['a redirection', status(307, { location: 'http://127.0.0.1:1/' })],
  ['another server’s "not found"', status(404)],
  ['another server’s "changed"', status(412)],
])('%s is taken for nothing that the store said', async (_, answer) => {
  await using service = await misbehaving(answer)
  expect((await service.failure()).failure).toMatch(/^(unreachable|io)$/)
})
