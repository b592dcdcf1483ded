import { createServer } from 'node:net'
import { expect, test } from 'vitest'
import { ThriftConnection } from '../../../../services/metadata/thrift/connection.ts'
import { SaslFrames, type SaslSession } from '../../../../services/metadata/thrift/sasl.ts'
import { listenOnLoopback } from '../../../support/loopback.ts'

const never = new AbortController().signal
const limits = { connectTimeoutMs: 500, callTimeoutMs: 2_000, maxReplyBytes: 1_000 }
const said = (status: number, payload = '') => {
  const header = Buffer.alloc(5)
  header.writeUInt8(status)
  header.writeInt32BE(payload.length, 1)
  return Buffer.concat([header, Buffer.from(payload)])
}

/** One that says something twice, and is done then. */
function session(): SaslSession & { closed: boolean } {
  let answers = 0
  return {
    mechanism: 'TEST',
    first: Buffer.from('first'),
    get isDone() {
      return answers > 1
    },
    answer: async (challenge) => Buffer.from(`${++answers}:${challenge.toString()}`),
    endsAt: Infinity,
    closed: false,
    [Symbol.dispose]() {
      this.closed = true
    },
  }
}

/** What a client says to a server that answers what comes with the next of what it has to say, and what comes of it. */
async function negotiated(...answers: readonly Buffer[]): Promise<{ heard: string; outcome: string }> {
  let heard = Buffer.alloc(0)
  let read = 0
  const waiting = [...answers]
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.on('data', (chunk) => {
      heard = Buffer.concat([heard, chunk])
      while (heard.length >= read + 5 && heard.length >= read + 5 + heard.readInt32BE(read + 1)) {
        const isMechanism = heard.readUInt8(read) === 1
        read += 5 + heard.readInt32BE(read + 1)
        const next = isMechanism ? undefined : waiting.shift()
        if (next !== undefined) socket.write(next)
      }
    })
  })
  await using listening = await listenOnLoopback(server)
  const its = session()
  const endpoint = {
    host: '127.0.0.1',
    port: listening.port,
    secure: false,
    framed: false,
    authenticate: async () => its,
  }
  try {
    const connection = await ThriftConnection.open(endpoint, limits, { signal: never })
    connection.close()
    return { heard: heard.toString('latin1'), outcome: 'connected' }
  } catch (error) {
    expect(its.closed).toBe(true)
    return { heard: heard.toString('latin1'), outcome: (error as Error).message }
  }
}

test('a server is told the mechanism, and both go on until all is said', async () => {
  const { heard, outcome } = await negotiated(said(2, 'a'), said(2, 'b'), said(5))
  expect(outcome).toBe('connected')
  expect(heard).toBe('\x01\0\0\0\x04TEST\x02\0\0\0\x05first\x02\0\0\0\x031:a\x05\0\0\0\x032:b')
})

test('what goes wrong in a negotiation is said, and the connection is no more', async () => {
  const outcomeOf = async (...answers: readonly Buffer[]) => (await negotiated(...answers)).outcome
  expect(await outcomeOf(said(3, 'GSS initiate failed'))).toBe('GSS initiate failed')
  expect(await outcomeOf(said(4, 'Invalid status -128'))).toBe('Invalid status -128')
  // It would be believed without having proved who it is.
  expect(await outcomeOf(said(5, 'a'))).toMatch(/ends the SASL negotiation too early/)
  expect(await outcomeOf(said(2, 'a'), said(2, 'b'), said(2, 'c'))).toMatch(
    /continues the SASL negotiation after its end/,
  )
  expect(await outcomeOf(Buffer.from('HTTP/1.1 400 Bad Request'))).toMatch(/does not use SASL/)
  expect(await outcomeOf(Buffer.from([2, 0x7f, 0, 0, 0]))).toMatch(/does not use SASL/)
  expect(await outcomeOf()).toMatch(
    /no reply to the Kerberos authentication within 0\.5 s.*hive\.metastore\.sasl\.enabled/,
  )
})

test('frames come in pieces, several at once, and are not read where they are too long', () => {
  const protection = {
    wrap: (message: Buffer) => Buffer.from(`<${message.toString()}>`),
    unwrap: (message: Buffer) => Buffer.from(message.toString().slice(1, -1)),
  }
  const frames = new SaslFrames(protection, 10)
  const sent = Buffer.concat([frames.frame(Buffer.from('one')), frames.frame(Buffer.from('two'))])
  expect(sent.toString()).toBe('\0\0\0\x05<one>\0\0\0\x05<two>')
  const apart = [...sent].flatMap((byte) => frames.add(Buffer.from([byte])))
  expect(apart.map(String)).toEqual(['one', 'two'])
  expect(frames.add(Buffer.concat([sent, sent.subarray(0, 3)])).map(String)).toEqual(['one', 'two'])
  expect(frames.add(sent.subarray(3, 9)).map(String)).toEqual(['one'])
  expect(() => frames.add(Buffer.from([0, 0, 0, 11]))).toThrow('longer than 10 bytes')
  expect(() => new SaslFrames(undefined, 10).add(Buffer.from([255, 0, 0, 0]))).toThrow('invalid length')
})
