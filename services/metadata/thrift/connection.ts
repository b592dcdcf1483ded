import { connect, type LookupFunction, type Socket } from 'node:net'
import * as tls from 'node:tls'
import { BinaryReader, BinaryWriter } from './binary.ts'
import { ReplyTooLong, ThriftBroken, ThriftException, ThriftRefusal, ThriftUnwelcome } from './failures.ts'
import { negotiate, SaslFrames, type SaslSession, wantsSasl } from './sasl.ts'
import { MalformedThrift, Scanner } from './scanner.ts'
import {
  type Fields,
  type Method,
  type Struct,
  struct,
  type StructType,
  type ThriftType,
  wireTypes,
} from './types.ts'

export interface ThriftEndpoint {
  /** Without brackets or port. */
  readonly host: string
  readonly port: number
  readonly secure: boolean
  /** Certificates in PEM of the authorities that vouch for it, in place of those that Node trusts. */
  readonly authorities?: string | undefined
  /** Whether each message has its length before it (TFramedTransport). */
  readonly framed: boolean
  /** Begins to say who asks, where the server wants that by SASL (TSaslTransport); once for each connection. */
  readonly authenticate?: ((signal: AbortSignal) => Promise<SaslSession>) | undefined
}

export interface ThriftLimits {
  readonly connectTimeoutMs: number
  /** Longest that a call takes: a server that fails within one may close nothing and say nothing. */
  readonly callTimeoutMs: number
  /** Longest answer that is read. */
  readonly maxReplyBytes: number
}

const version1 = 0x80010000
const callType = 1
const replyType = 2
const exceptionType = 3
/** Of the exception that a server answers with to what it cannot answer. */
const unknownMethod = 1

/** What all exceptions have; some have more, which nobody here reads. */
const AnyException = struct({ message: [1, 'string'] })
const ApplicationException = struct({ message: [1, 'string'], type: [2, 'i32'] })

interface Pending {
  readonly resolve: (reply: Buffer) => void
  readonly reject: (error: unknown) => void
}

/** Finds where a reply ends, in bytes that come piece by piece. */
class ReplyBuffer {
  readonly #framed: boolean
  readonly #maxBytes: number
  #bytes = Buffer.alloc(0)
  #length = 0
  #scanner: Scanner | undefined

  constructor(framed: boolean, maxBytes: number) {
    this.#framed = framed
    this.#maxBytes = maxBytes
  }

  /** The reply, once all of it is there. Throws MalformedThrift. */
  add(chunk: Buffer): Buffer | undefined {
    const length = this.#length + chunk.length
    if (length > this.#maxBytes) throw new ReplyTooLong(`it is longer than ${this.#maxBytes} bytes`)
    if (length > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(length, 2 * this.#bytes.length))
      this.#bytes.copy(larger, 0, 0, this.#length)
      this.#bytes = larger
    }
    chunk.copy(this.#bytes, this.#length)
    this.#length = length
    const bytes = this.#bytes.subarray(0, length)
    const [begin, end] = this.#framed ? [4, this.#endOfFrame(bytes)] : [0, this.#endOfMessage(bytes)]
    if (end === undefined) return undefined
    if (end !== length) throw new MalformedThrift('the reply is followed by more data')
    return bytes.subarray(begin, end)
  }

  #endOfFrame(bytes: Buffer): number | undefined {
    if (bytes.length < 4) return undefined
    const size = bytes.readInt32BE()
    if (size < 0 || size > this.#maxBytes)
      throw new ReplyTooLong(`a frame has ${size} bytes: does the server use unframed transport?`)
    return bytes.length < 4 + size ? undefined : 4 + size
  }

  #endOfMessage(bytes: Buffer): number | undefined {
    if (this.#scanner === undefined) {
      if (bytes.length < 8) return undefined
      requireVersion(bytes.readUInt32BE())
      const nameBytes = bytes.readInt32BE(4)
      if (nameBytes < 0 || nameBytes > this.#maxBytes)
        throw new MalformedThrift('the reply is not a Thrift message')
      // The number of the call follows the name.
      this.#scanner = new Scanner(wireTypes.struct, 8 + nameBytes + 4)
    }
    return this.#scanner.scan(bytes)
  }
}

const requireVersion = (word: number): void => {
  if (wantsSasl(word >>> 24)) throw new ThriftUnwelcome('it requires SASL (Kerberos) authentication')
  if ((word & 0xffff0000) >>> 0 !== version1)
    throw new MalformedThrift(
      'it does not use the binary protocol: is it another service, or does it use framed transport or TLS?',
    )
}

/** A connection to a server of Thrift's binary protocol, with one call on it at a time. Rejects with ThriftBroken. */
export class ThriftConnection {
  readonly #socket: Socket
  readonly #endpoint: ThriftEndpoint
  readonly #limits: ThriftLimits
  readonly #session: SaslSession | undefined
  readonly #frames: SaslFrames | undefined
  #pending: Pending | undefined
  #reply: ReplyBuffer | undefined
  #sequence = 0
  #broken: Error | undefined

  private constructor(
    socket: Socket,
    endpoint: ThriftEndpoint,
    limits: ThriftLimits,
    session: SaslSession | undefined,
  ) {
    this.#socket = socket
    this.#endpoint = endpoint
    this.#limits = limits
    this.#session = session
    this.#frames = session && new SaslFrames(session.protection, limits.maxReplyBytes)
    socket.on('data', (chunk) => this.#take(chunk))
    socket.on('error', (error) => this.#break(new ThriftBroken(error.message, error)))
    socket.on('close', () => this.#break(new ThriftBroken('the server closed the connection')))
  }

  /** @param lookup resolves the host's name */
  static async open(
    endpoint: ThriftEndpoint,
    limits: ThriftLimits,
    { lookup, signal }: { readonly lookup?: LookupFunction | undefined; readonly signal: AbortSignal },
  ): Promise<ThriftConnection> {
    signal.throwIfAborted()
    const { host, port, secure, authorities } = endpoint
    const to = { host, port, noDelay: true, ...(lookup !== undefined && { lookup }) }
    const socket = secure
      ? tls.connect({ ...to, ...(authorities !== undefined && { ca: authorities }) })
      : connect(to)
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const late = () => reject(new ThriftBroken(`no connection within ${limits.connectTimeoutMs} ms`))
    const timer = setTimeout(late, limits.connectTimeoutMs)
    const abort = () => reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    const failed = (error: Error) => reject(new ThriftBroken(error.message, error))
    socket.once(secure ? 'secureConnect' : 'connect', resolve).once('error', failed)
    let session: SaslSession | undefined
    try {
      await promise
      clearTimeout(timer)
      socket.on('error', () => undefined)
      session = await endpoint.authenticate?.(signal)
      if (session !== undefined) await negotiate(socket, session, limits.connectTimeoutMs, signal)
    } catch (error) {
      session?.[Symbol.dispose]()
      socket.on('error', () => undefined).destroy()
      throw error
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', abort)
      socket.off('error', failed)
    }
    return new ThriftConnection(socket, endpoint, limits, session)
  }

  /** Whether a call can be made on it. One whose ticket ends gives way to another, which has a new one. */
  get isUsable(): boolean {
    const { endsAt = Infinity } = this.#session ?? {}
    return this.#broken === undefined && this.#pending === undefined && performance.now() < endsAt
  }

  /**
   * Throws ThriftException, ThriftRefusal, ThriftBroken, MalformedThrift; the signal's reason when it is aborted.
   * @param timeoutMs longest that it takes
   */
  async call<A extends Fields, R extends ThriftType | 'void'>(
    method: Method<A, R>,
    values: Struct<A>,
    signal: AbortSignal,
    timeoutMs = this.#limits.callTimeoutMs,
  ): Promise<unknown> {
    signal.throwIfAborted()
    if (this.#broken !== undefined) throw this.#broken
    if (this.#pending !== undefined) throw new Error('a call is under way on this connection')
    const sequence = ++this.#sequence
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
    this.#pending = { resolve, reject }
    this.#reply = new ReplyBuffer(this.#endpoint.framed, this.#limits.maxReplyBytes)
    const seconds = timeoutMs / 1_000
    const late = () => this.#break(new ThriftBroken(`${method.name} was not answered within ${seconds} s`))
    const timer = setTimeout(late, timeoutMs)
    // Its answer would be taken for that of the next call.
    const abort = () => this.#break(signal.reason as Error)
    signal.addEventListener('abort', abort, { once: true })
    try {
      const message = messageOf(method, values, sequence, this.#endpoint.framed)
      this.#socket.write(this.#frames?.frame(message) ?? message)
      return readReply(await promise, method, sequence)
    } catch (error) {
      if (!(error instanceof ThriftException) && !(error instanceof ThriftRefusal))
        this.#break(error as Error)
      throw error
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', abort)
    }
  }

  close(): void {
    this.#break(new ThriftBroken('the connection was closed'))
  }

  #take(chunk: Buffer): void {
    try {
      if (this.#frames === undefined) this.#takePlain(chunk)
      else for (const plain of this.#frames.add(chunk)) this.#takePlain(plain)
    } catch (error) {
      this.#break(error as Error)
    }
  }

  #takePlain(chunk: Buffer): void {
    if (this.#reply === undefined) throw new MalformedThrift('it sent an unexpected message')
    const reply = this.#reply.add(chunk)
    if (reply === undefined) return
    const pending = this.#pending
    this.#pending = undefined
    this.#reply = undefined
    pending?.resolve(reply)
  }

  #break(error: Error): void {
    this.#broken ??= error
    this.#socket.destroy()
    this.#session?.[Symbol.dispose]()
    const pending = this.#pending
    this.#pending = undefined
    this.#reply = undefined
    pending?.reject(error)
  }
}

function messageOf(method: Method, values: Struct<Fields>, sequence: number, framed: boolean): Buffer {
  const writer = new BinaryWriter()
  // Where its length goes.
  if (framed) writer.i32(0)
  writer.i32(version1 | callType)
  writer.raw(Buffer.from(method.name))
  writer.i32(sequence)
  writer.struct(method.parameters, values)
  const { bytes } = writer
  if (framed) bytes.writeInt32BE(bytes.length - 4)
  return bytes
}

function readReply(bytes: Buffer, method: Method, sequence: number): unknown {
  const reader = new BinaryReader(bytes)
  const word = reader.i32() >>> 0
  requireVersion(word)
  const name = reader.string()
  const answered = reader.i32()
  if (name !== method.name || answered !== sequence)
    throw new MalformedThrift(`it replied to ${name} instead of ${method.name}`)
  const type = word & 0xff
  if (type === exceptionType) {
    const { message = '', type: reason } = reader.struct(ApplicationException)
    throw new ThriftRefusal(message, reason === unknownMethod)
  }
  if (type !== replyType) throw new MalformedThrift(`the reply has message type ${type}`)
  const fields = resultOf(method)
  const result: Record<string, unknown> = reader.struct(fields)
  for (const [id, exception] of Object.entries(method.throws)) {
    const thrown = result[id] as Struct<(typeof AnyException)['fields']> | undefined
    if (thrown !== undefined) throw new ThriftException(exception, thrown.message ?? '')
  }
  if (method.result !== 'void' && result['success'] === undefined)
    throw new MalformedThrift(`the reply to ${method.name} is empty`)
  return result['success']
}

const results = new WeakMap<Method, StructType>()

/** What a function is answered with: its result, or one of its exceptions. */
function resultOf(method: Method): StructType {
  const known = results.get(method)
  if (known !== undefined) return known
  const exceptions = Object.fromEntries(
    Object.keys(method.throws).map((id) => [id, [Number(id), AnyException] as const]),
  )
  const success = method.result === 'void' ? {} : { success: [0, method.result] as const }
  const made = struct({ ...success, ...exceptions })
  results.set(method, made)
  return made
}
