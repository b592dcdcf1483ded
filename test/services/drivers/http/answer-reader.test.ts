import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'
import {
  AnswerReader,
  MalformedAnswer,
  takerInto,
  UntakenBody,
} from '../../../../services/drivers/http/answer-reader.ts'

interface Told {
  readonly answer: string
  readonly method?: string
  readonly into?: Buffer
  /** The connection is closed after it. */
  readonly ends?: boolean
}

/** Reads an answer that comes in pieces of so many bytes, whose memory is used again. */
function readIn(pieceBytes: number, { answer, method = 'GET', into, ends = false }: Told) {
  const reader = new AnswerReader(
    method,
    into && { ...takerInto(into), accepts: ({ headers }) => headers['x-no'] === undefined },
  )
  const bytes = Buffer.from(answer, 'latin1')
  const memory = Buffer.alloc(pieceBytes)
  let hasMore = false
  for (let at = 0; at < bytes.length && !reader.isComplete; at += pieceBytes) {
    const count = bytes.copy(memory, 0, at, at + pieceBytes)
    hasMore = reader.take(memory.subarray(0, count))
    memory.fill('#')
  }
  if (ends) reader.end()
  const { status, headers, body, isReceived } = reader.answer
  return {
    isComplete: reader.isComplete,
    keepsOpen: reader.keepsOpen,
    hasMore,
    status,
    headers,
    body: body.toString(),
    isReceived,
  }
}

const whole = { isComplete: true, keepsOpen: true, hasMore: false, status: 200 }

test.each<[string, Told, object]>([
  [
    'of a known length',
    { answer: 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nETag:  "a:b" \r\n\r\nhello' },
    { ...whole, headers: { 'content-length': '5', etag: '"a:b"' }, body: 'hello' },
  ],
  [
    'without content',
    { answer: 'HTTP/1.1 200\r\ncontent-length: 0\r\n\r\n' },
    { ...whole, headers: { 'content-length': '0' }, body: '' },
  ],
  [
    'to HEAD, which has a length and no body',
    { method: 'HEAD', answer: 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n' },
    { ...whole, headers: { 'content-length': '5' }, body: '' },
  ],
  ['204', { answer: 'HTTP/1.1 204 No Content\r\n\r\n' }, { ...whole, status: 204, headers: {}, body: '' }],
  [
    'in chunks, one with an extension, and a trailer',
    {
      answer:
        'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nA;x=1\r\n, world\r\n!\r\n0\r\nx-sum: 1\r\n\r\n',
    },
    { ...whole, headers: { 'transfer-encoding': 'chunked' }, body: 'hello, world\r\n!' },
  ],
  [
    'in chunks that are none',
    { answer: 'HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n0\r\n\r\n' },
    { ...whole, headers: { 'transfer-encoding': 'Chunked' }, body: '' },
  ],
  [
    'after one that more is to come',
    { answer: 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n' },
    { ...whole, status: 201, headers: { 'content-length': '0' }, body: '' },
  ],
  [
    'up to the end of the connection',
    { answer: 'HTTP/1.1 200 OK\r\n\r\nhello', ends: true },
    { ...whole, keepsOpen: false, headers: {}, body: 'hello' },
  ],
  [
    'that is cut off',
    { answer: 'HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nhello', ends: true },
    { isComplete: false },
  ],
  [
    'that is cut off in a chunk',
    { answer: 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhell', ends: true },
    { isComplete: false },
  ],
  [
    'after which the server closes',
    { answer: 'HTTP/1.1 200 OK\r\nConnection: Close\r\ncontent-length: 0\r\n\r\n' },
    { ...whole, keepsOpen: false },
  ],
  [
    'of HTTP/1.0',
    { answer: 'HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nhi' },
    { ...whole, keepsOpen: false, body: 'hi' },
  ],
  [
    'with headers that came twice',
    { answer: 'HTTP/1.1 204 No\r\nvary: a\r\nvary: b\r\netag: "1"\r\netag: "2"\r\n\r\n' },
    { ...whole, status: 204, headers: { vary: 'a, b', etag: '"1"' } },
  ],
  [
    'with bytes of ISO 8859-1',
    { answer: 'HTTP/1.1 204 No\r\nx-amz-meta-name: \xfcber\r\n\r\n' },
    { ...whole, status: 204, headers: { 'x-amz-meta-name': 'über' } },
  ],
  [
    'whose last byte of a header is the half of a character',
    { answer: 'HTTP/1.1 204 No\r\nx-amz-meta-name: voil\xc3\xa0 \t\r\n\r\n' },
    { ...whole, status: 204, headers: { 'x-amz-meta-name': 'voil\xc3\xa0' } },
  ],
])('reads an answer %s, however it comes', (_what, told, expected) => {
  for (const pieceBytes of [1, 2, 3, 7, 64, 10_000]) expect(readIn(pieceBytes, told)).toMatchObject(expected)
})

test('what comes after an answer is told', () => {
  const answer = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi'
  for (const more of ['!', 'HTTP/1.1 200 OK\r\n\r\n'])
    expect(readIn(10_000, { answer: answer + more })).toMatchObject({ ...whole, hasMore: true, body: 'hi' })
  expect(readIn(10_000, { answer: 'HTTP/1.1 204 No\r\n\r\n!' }).hasMore).toBe(true)
})

test('a body of the right length goes where the caller wants it, that of an error does not', () => {
  const into = Buffer.alloc(5)
  const answer = 'HTTP/1.1 206 Part\r\ncontent-length: 5\r\n\r\nhello'
  expect(readIn(3, { answer, into })).toMatchObject({ isReceived: true, body: '' })
  expect(into.toString()).toBe('hello')
  readIn(3, { answer: 'HTTP/1.1 404 No\r\ncontent-length: 5\r\n\r\nwrong', into })
  readIn(3, { answer: 'HTTP/1.1 206 Part\r\ncontent-length: 4\r\n\r\nless', into })
  const refused = 'HTTP/1.1 206 Part\r\nx-no: 1\r\ncontent-length: 5\r\n\r\nwrong'
  expect(readIn(3, { answer: refused, into })).toMatchObject({ isReceived: false, body: 'wrong' })
  expect(into.toString()).toBe('hello')
})

test('what cannot be taken ends the reading, with the reason', () => {
  const cause = new Error('no space')
  const take = () => {
    throw cause
  }
  const reader = new AnswerReader('GET', { length: 5, take, accepts: () => true })
  const answer = Buffer.from('HTTP/1.1 206 Part\r\ncontent-length: 5\r\n\r\nhello')
  expect(() => reader.take(answer)).toThrow(expect.objectContaining({ cause }))
  expect(() => reader.take(answer)).toThrow(UntakenBody)
})

test('a large body comes whole, though it says so at once', () => {
  const body = 'content '.repeat(300_000)
  expect(
    readIn(65_536, { answer: `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}` }).body,
  ).toBe(body)
})

/** In a thread with 64 MB of memory for objects. */
const readsInChunksOfAByte = `
  const { AnswerReader } = await import(workerData.module)
  const reader = new AnswerReader('GET')
  reader.take(Buffer.from('HTTP/1.1 200 OK\\r\\ntransfer-encoding: chunked\\r\\n\\r\\n'))
  const chunks = Buffer.from('1\\r\\nx\\r\\n'.repeat(10_000))
  for (let n = 0; n < 100; n++) reader.take(chunks)
  reader.take(Buffer.from('0\\r\\n\\r\\n'))
  parentPort.postMessage(reader.answer.body.length)
`

test('a million chunks of a byte take no more memory than their bytes', async () => {
  const module = new URL('../../../../services/drivers/http/answer-reader.ts', import.meta.url).href
  const source = `import { parentPort, workerData } from 'node:worker_threads'\n${readsInChunksOfAByte}`
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(source)}`), {
    workerData: { module },
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: 64 },
  })
  const [bytes] = await once(worker, 'message')
  expect(bytes).toBe(1_000_000)
  await worker.terminate()
})

const ok = 'HTTP/1.1 200 OK\r\n'
test.each([
  ['another protocol', 'SSH-2.0-OpenSSH_9.2\r\n\r\n'],
  ['HTTP/2', 'HTTP/2 200\r\n\r\n'],
  ['no status', 'HTTP/1.1 OK\r\n\r\n'],
  ['another protocol from now on', 'HTTP/1.1 101 Switching Protocols\r\n\r\n'],
  ['a header without a name', `${ok}: x\r\n\r\n`],
  ['a header without a colon', `${ok}etag\r\n\r\n`],
  ['a blank after a name', `${ok}content-length : 1\r\n\r\n`],
  ['a folded line', `${ok}etag: a\r\n b\r\n\r\n`],
  ['a line that ends with LF alone', `${ok}etag: a\ncontent-length: 1\r\n\r\n`],
  ['a NUL', `${ok}etag: a\0b\r\n\r\n`],
  ['a line end before a value', `${ok}etag:\n content-length: 1\r\n\r\n`],
  ['a line end after a value', `${ok}etag: a\n\r\n\r\n`],
  ['a form feed after a value', `${ok}etag: a\f\r\n\r\n`],
  ['two lengths', `${ok}content-length: 1\r\ncontent-length: 2\r\n\r\n`],
  ['a negative length', `${ok}content-length: -1\r\n\r\n`],
  ['a list of lengths', `${ok}content-length: 1, 1\r\n\r\n`],
  ['a length beside chunks', `${ok}content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n`],
  ['another coding', `${ok}transfer-encoding: gzip, chunked\r\n\r\n`],
  ['a chunk of no size', `${ok}transfer-encoding: chunked\r\n\r\nx\r\n`],
  ['a chunk of another size', `${ok}transfer-encoding: chunked\r\n\r\n1\r\nab\r\n`],
  ['a size without an end', `${ok}transfer-encoding: chunked\r\n\r\n${'0'.repeat(5_000)}`],
  ['a head without an end', `${ok}${'x: y\r\n'.repeat(20_000)}`],
  ['a trailer without an end', `${ok}transfer-encoding: chunked\r\n\r\n0\r\n${'x: y\r\n'.repeat(20_000)}`],
  ['more and more answers that more is to come', 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(100)],
  ['more than an answer may have', `${ok}content-length: 999999999999\r\n\r\n`],
])('refuses %s', (_what, answer) => {
  for (const pieceBytes of [64, 1_000_000])
    expect(() => readIn(pieceBytes, { answer })).toThrow(MalformedAnswer)
})
