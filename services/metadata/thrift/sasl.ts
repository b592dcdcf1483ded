import type { Socket } from 'node:net'
import { abortable } from '../../../broker/common/abortable.ts'
import { ReplyTooLong, ThriftBroken, ThriftUnwelcome } from './failures.ts'
import { MalformedThrift } from './scanner.ts'

/** A client of one mechanism of SASL (RFC 4422), for one connection. */
export interface SaslSession extends Disposable {
  readonly mechanism: string
  /** What it says first. */
  readonly first: Buffer
  /** Whether it has nothing more to say. */
  readonly isDone: boolean
  answer(challenge: Buffer): Promise<Buffer>
  /** What is done with each message from then on; absent where nothing is. */
  readonly protection?: SaslProtection | undefined
  /** Until when it holds, by the clock of this process that nobody sets. */
  readonly endsAt: number
}

export interface SaslProtection {
  wrap(message: Buffer): Buffer
  unwrap(message: Buffer): Buffer
}

/** What each message of the negotiation begins with, before the length of what is said. */
const start = 1
const ok = 2
const bad = 3
const failed = 4
const complete = 5
const headerBytes = 5

/** Whether a server's first byte is of SASL, and says that it wants it. */
export const wantsSasl = (firstByte: number | undefined): boolean => firstByte === bad || firstByte === failed

/** Tickets with the groups of a user in them have some kB; nobody sends more before it is known who he is. */
const maxSaidBytes = 1024 * 1024

/**
 * Says to a server of TSaslTransport who one is, and sees to it that it proves the same. Rejects with ThriftUnwelcome,
 * ThriftBroken, MalformedThrift, what the session throws, and the signal's reason.
 * @param timeoutMs longest that the server takes for an answer
 */
export async function negotiate(
  socket: Socket,
  session: SaslSession,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<void> {
  using said = new Said(socket, timeoutMs, signal)
  const say = (status: number, payload: Buffer) => {
    const header = Buffer.alloc(headerBytes)
    header.writeUInt8(status)
    header.writeInt32BE(payload.length, 1)
    socket.write(Buffer.concat([header, payload]))
  }
  say(start, Buffer.from(session.mechanism))
  say(session.isDone ? complete : ok, session.first)
  for (;;) {
    const { status, payload } = await said.next()
    if (session.isDone) {
      if (status !== complete) throw new MalformedThrift('it continues the SASL negotiation after its end')
      return
    }
    const answer = await abortable(session.answer(payload), signal)
    if (status === complete) {
      // It would take one without having proved who it is itself.
      if (!session.isDone) throw new MalformedThrift('it ends the SASL negotiation too early')
      return
    }
    say(session.isDone ? complete : ok, answer)
  }
}

const doubt = 'does the server use Kerberos (hive.metastore.sasl.enabled)?'

/** What a server says while it is negotiated with. */
class Said implements Disposable {
  readonly #socket: Socket
  readonly #timeoutMs: number
  readonly #signal: AbortSignal
  #bytes = Buffer.alloc(0)
  #failure: Error | undefined
  #wake: (() => void) | undefined

  constructor(socket: Socket, timeoutMs: number, signal: AbortSignal) {
    this.#socket = socket
    this.#timeoutMs = timeoutMs
    this.#signal = signal
    socket.on('data', this.#add).on('error', this.#fail).on('close', this.#close)
    signal.addEventListener('abort', this.#abort, { once: true })
    if (socket.destroyed) this.#close()
  }

  async next(): Promise<{ readonly status: number; readonly payload: Buffer }> {
    const seconds = this.#timeoutMs / 1_000
    const late = () =>
      this.#fail(new Error(`no reply to the Kerberos authentication within ${seconds} s; ${doubt}`))
    const timer = setTimeout(late, this.#timeoutMs)
    try {
      for (;;) {
        this.#signal.throwIfAborted()
        const message = this.#take()
        if (message !== undefined) return message
        if (this.#failure !== undefined) throw this.#failure
        const { promise, resolve } = Promise.withResolvers<void>()
        this.#wake = resolve
        await promise
      }
    } finally {
      clearTimeout(timer)
    }
  }

  #take(): { readonly status: number; readonly payload: Buffer } | undefined {
    if (this.#bytes.length < headerBytes) return undefined
    const [status, length] = [this.#bytes.readUInt8(), this.#bytes.readInt32BE(1)]
    if (status < start || status > complete || length < 0 || length > maxSaidBytes)
      throw new MalformedThrift('it does not use SASL: is it another service, or does it use TLS?')
    if (this.#bytes.length < headerBytes + length) return undefined
    const payload = this.#bytes.subarray(headerBytes, headerBytes + length)
    this.#bytes = this.#bytes.subarray(headerBytes + length)
    if (status === bad || status === failed) throw new ThriftUnwelcome(payload.toString())
    return { status, payload }
  }

  readonly #add = (chunk: Buffer): void => {
    this.#bytes = Buffer.concat([this.#bytes, chunk])
    this.#wake?.()
  }

  readonly #fail = (error: Error): void => {
    this.#failure ??= new ThriftBroken(error.message, error)
    this.#wake?.()
  }

  readonly #close = (): void => {
    this.#fail(new Error(`the connection was closed during the Kerberos authentication; ${doubt}`))
  }

  readonly #abort = (): void => {
    this.#wake?.()
  };

  [Symbol.dispose](): void {
    this.#socket.off('data', this.#add).off('error', this.#fail).off('close', this.#close)
    this.#signal.removeEventListener('abort', this.#abort)
  }
}

/** What came after the negotiation: frames, each with its length before it, and protected as was agreed. */
export class SaslFrames {
  readonly #protection: SaslProtection | undefined
  readonly #maxBytes: number
  #chunks: Buffer[] = []
  #length = 0

  constructor(protection: SaslProtection | undefined, maxBytes: number) {
    this.#protection = protection
    this.#maxBytes = maxBytes
  }

  frame(message: Buffer): Buffer {
    const wrapped = this.#protection?.wrap(message) ?? message
    const header = Buffer.alloc(4)
    header.writeInt32BE(wrapped.length)
    return Buffer.concat([header, wrapped])
  }

  /** What the frames say that are whole now. Throws MalformedThrift, and what the protection throws. */
  add(chunk: Buffer): Buffer[] {
    this.#chunks.push(chunk)
    this.#length += chunk.length
    const whole: Buffer[] = []
    for (let size = this.#size(); size !== undefined && this.#length >= 4 + size; size = this.#size()) {
      const all = Buffer.concat(this.#chunks)
      const frame = all.subarray(4, 4 + size)
      const rest = all.subarray(4 + size)
      this.#chunks = [rest]
      this.#length = rest.length
      whole.push(this.#protection?.unwrap(frame) ?? frame)
    }
    return whole
  }

  #size(): number | undefined {
    if (this.#length < 4) return undefined
    if (this.#chunks[0]!.length < 4) this.#chunks = [Buffer.concat(this.#chunks)]
    const size = this.#chunks[0]!.readInt32BE()
    if (size < 0) throw new MalformedThrift('a SASL message has an invalid length')
    if (size > this.#maxBytes) throw new ReplyTooLong(`it is longer than ${this.#maxBytes} bytes`)
    return size
  }
}
