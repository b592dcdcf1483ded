import type { TakeBytes } from '../contract/driver.ts'

/** Names in lower case. What came more than once is joined with commas, cookies too. */
export type StoreHeaders = Readonly<Record<string, string | undefined>>

/** An answer of a store, read to its end. */
export interface StoreAnswer {
  readonly status: number
  readonly headers: StoreHeaders
  /** Empty where the receiver took it. */
  readonly body: Buffer
  /** Whether the receiver took the body. */
  readonly isReceived: boolean
}

/** Takes so many bytes. */
export interface Taker {
  readonly length: number
  readonly take: TakeBytes
}

/** Takes a body in place of memory for it, if that is exactly as long. */
export interface Receiver extends Taker {
  /**
   * Whether a 2xx answer is what was asked for, and comes from the store: what it takes may be at its place before all of it
   * has come, so that nobody can look afterwards.
   */
  readonly accepts: (answer: Pick<StoreAnswer, 'status' | 'headers'>) => boolean
}

/** Takes into memory that is there. */
export const takerInto = (memory: Buffer): Taker => ({
  length: memory.length,
  take: (bytes, at) => void bytes.copy(memory, at),
})

/** What came could not be taken; `cause` says why. */
export class UntakenBody extends Error {}

/**
 * Largest body that is read into memory: a page of 5,000 entries with long names and metadata stays below a third of it,
 * and so does the largest block list (50,000 blocks of some 150 bytes).
 */
const maxAnswerBytes = 128 * 1024 * 1024

/** Status line and headers, and what comes after the last chunk; metadata of an object are 8 KiB at most. */
const maxHeadBytes = 64 * 1024

/** What a size in a line of its own may have: 16 digits, and extensions that nobody uses. */
const maxSizeLineBytes = 1024

/** Answers that only say that another is to come: no store sends more than one or two of them. */
const maxInterim = 16

/** A body is given memory at once up to here; more only as it comes, whatever length it says. */
const bytesAtOnce = 1024 * 1024

const lineEnd = '\r\n'
const headEnd = '\r\n\r\n'

/** What came is no answer of HTTP/1.1, or longer than an answer may be. */
export class MalformedAnswer extends Error {}

/** What came is longer than what is read. */
export class LongAnswer extends MalformedAnswer {}

/** What comes next. */
type Part = 'head' | 'content' | 'content to the end' | 'size' | 'chunk' | 'end of chunk' | 'trailers'

/**
 * Reads the answer to one request of HTTP/1.1 (RFC 9112) as its bytes arrive. Strict where leniency would let two readers
 * see two answers: one length, one coding, no line folded, no line end but CR LF.
 */
export class AnswerReader {
  /** Whether all of the answer has come. */
  isComplete = false
  /** Whether any of it has come. */
  hasBegun = false
  /** Whether another request may go over the connection, as far as the answer says. */
  keepsOpen = true
  readonly #isHead: boolean
  readonly #receiver: Receiver | undefined
  readonly #maxBytes: number
  #status = 0
  #headers: StoreHeaders = {}
  #next: Part = 'head'
  /** Of a line or head that has not come to its end. */
  #held: Buffer | undefined
  /** Takes the body when its length is known. */
  #target: Buffer | undefined
  #isReceived = false
  /** The body as far as it has come, where its length is not known or large; with room for more at its end. */
  #grown = Buffer.alloc(0)
  #received = 0
  #interim = 0
  /** Of the body, or of a chunk. */
  #left = 0

  /**
   * @param receiver takes the body of a 2xx answer that it accepts
   * @param maxBytes longest body that is read
   */
  constructor(method: string, receiver: Receiver | undefined, maxBytes = maxAnswerBytes) {
    this.#isHead = method === 'HEAD'
    this.#receiver = receiver
    this.#maxBytes = maxBytes
  }

  /**
   * Takes bytes as they came; whoever calls may overwrite them afterwards. Throws MalformedAnswer.
   * @returns whether bytes came that are not of this answer
   */
  take(bytes: Buffer): boolean {
    this.hasBegun = true
    let rest: Buffer | undefined = this.#held === undefined ? bytes : Buffer.concat([this.#held, bytes])
    this.#held = undefined
    while (!this.isComplete && rest !== undefined) rest = this.#read(rest)
    return rest !== undefined && rest.length > 0
  }

  /** The server has closed the connection, which is the end of an answer without a length. Returns whether it is whole. */
  end(): boolean {
    if (this.#next === 'content to the end') this.isComplete = true
    return this.isComplete
  }

  get answer(): StoreAnswer {
    const body = this.#target ?? this.#grown.subarray(0, this.#received)
    return { status: this.#status, headers: this.#headers, body, isReceived: this.#isReceived }
  }

  /** Reads the next part: returns the bytes that are not its own, or undefined when it takes more. */
  #read(bytes: Buffer): Buffer | undefined {
    switch (this.#next) {
      case 'head':
        return this.#readHead(bytes)
      case 'content':
        return this.#readContent(bytes)
      case 'content to the end':
        this.#add(bytes)
        return undefined
      case 'size':
        return this.#readSize(bytes)
      case 'chunk':
        return this.#readChunk(bytes)
      case 'end of chunk':
        return this.#readChunkEnd(bytes)
      case 'trailers':
        return this.#readTrailers(bytes)
    }
  }

  #readHead(bytes: Buffer): Buffer | undefined {
    const end = bytes.indexOf(headEnd, 0, 'latin1')
    if (end < 0 ? bytes.length > maxHeadBytes : end > maxHeadBytes)
      throw new MalformedAnswer(`the head of the answer is longer than ${maxHeadBytes} bytes`)
    if (end < 0) return this.#hold(bytes)
    const [first = '', ...lines] = bytes.toString('latin1', 0, end).split(lineEnd)
    const [, minor, status] = statusLine.exec(first) ?? []
    if (status === undefined) throw new MalformedAnswer('the answer does not begin like one of HTTP/1.1')
    const headers = headersOf(lines)
    const rest = bytes.subarray(end + headEnd.length)
    this.#status = Number(status)
    if (this.#status === 101) throw new MalformedAnswer('the server goes over to another protocol')
    // One that only says that more is to come, such as 100 Continue.
    if (this.#status < 200) {
      if (++this.#interim > maxInterim)
        throw new MalformedAnswer(`more than ${maxInterim} answers say that another is to come`)
      return rest
    }
    this.#headers = headers
    const connection = headers.connection?.toLowerCase() ?? ''
    this.keepsOpen = minor === '1' ? !connection.includes('close') : connection.includes('keep-alive')
    this.#beginBody()
    return rest
  }

  #beginBody(): void {
    const { 'transfer-encoding': coding, 'content-length': length } = this.#headers
    if (this.#isHead || this.#status === 204 || this.#status === 304) {
      this.isComplete = true
    } else if (coding !== undefined) {
      if (coding.toLowerCase() !== 'chunked' || length !== undefined)
        throw new MalformedAnswer('the length of the answer cannot be told: it has a coding beside chunked')
      this.#next = 'size'
    } else if (length === undefined) {
      this.keepsOpen = false
      this.#next = 'content to the end'
    } else {
      if (!/^\d{1,15}$/.test(length)) throw new MalformedAnswer('the answer has no valid length')
      this.#left = Number(length)
      this.#checkLength(this.#left)
      if (this.#isForReceiver(this.#left)) this.#isReceived = true
      else if (this.#left <= bytesAtOnce) this.#target = Buffer.allocUnsafe(this.#left)
      this.isComplete = this.#left === 0
      this.#next = 'content'
    }
  }

  #isForReceiver(length: number): boolean {
    const [receiver, status, headers] = [this.#receiver, this.#status, this.#headers]
    return receiver?.length === length && status < 300 && receiver.accepts({ status, headers })
  }

  #readContent(bytes: Buffer): Buffer | undefined {
    const rest = this.#takeLeft(bytes)
    this.isComplete = this.#left === 0
    return rest
  }

  /** The size of the next chunk. */
  #readSize(bytes: Buffer): Buffer | undefined {
    const end = bytes.indexOf(lineEnd, 0, 'latin1')
    if (end < 0 ? bytes.length > maxSizeLineBytes : end > maxSizeLineBytes)
      throw new MalformedAnswer('a chunk of the answer has no valid size')
    if (end < 0) return this.#hold(bytes)
    const [, size] = sizeLine.exec(bytes.toString('latin1', 0, end)) ?? []
    if (size === undefined) throw new MalformedAnswer('a chunk of the answer has no valid size')
    this.#left = parseInt(size, 16)
    this.#next = this.#left === 0 ? 'trailers' : 'chunk'
    return bytes.subarray(end + lineEnd.length)
  }

  #readChunk(bytes: Buffer): Buffer | undefined {
    const rest = this.#takeLeft(bytes)
    if (this.#left === 0) this.#next = 'end of chunk'
    return rest
  }

  #readChunkEnd(bytes: Buffer): Buffer | undefined {
    if (bytes.length < lineEnd.length) return this.#hold(bytes)
    if (bytes.toString('latin1', 0, lineEnd.length) !== lineEnd)
      throw new MalformedAnswer('a chunk of the answer is not as long as it says')
    this.#next = 'size'
    return bytes.subarray(lineEnd.length)
  }

  /** What comes after the last chunk: nobody uses it. */
  #readTrailers(bytes: Buffer): Buffer | undefined {
    if (bytes.length >= lineEnd.length && bytes.toString('latin1', 0, lineEnd.length) === lineEnd) {
      this.isComplete = true
      return bytes.subarray(lineEnd.length)
    }
    const end = bytes.indexOf(headEnd, 0, 'latin1')
    if (end < 0 ? bytes.length > maxHeadBytes : end > maxHeadBytes)
      throw new MalformedAnswer('too much comes after the last chunk of the answer')
    if (end < 0) return this.#hold(bytes)
    this.isComplete = true
    return bytes.subarray(end + headEnd.length)
  }

  /** Takes what of the bytes belongs to a body or chunk of known length. */
  #takeLeft(bytes: Buffer): Buffer | undefined {
    const count = Math.min(this.#left, bytes.length)
    this.#add(count === bytes.length ? bytes : bytes.subarray(0, count))
    this.#left -= count
    return count === bytes.length && this.#left > 0 ? undefined : bytes.subarray(count)
  }

  #add(bytes: Buffer): void {
    this.#checkLength(this.#received + bytes.length)
    if (this.#isReceived) this.#hand(bytes)
    else bytes.copy(this.#target ?? this.#withRoomFor(bytes.length), this.#received)
    this.#received += bytes.length
  }

  #hand(bytes: Buffer): void {
    try {
      this.#receiver?.take(bytes, this.#received)
    } catch (cause) {
      throw new UntakenBody('what came cannot be taken', { cause })
    }
  }

  /** All that comes is in one piece of memory: a piece for each chunk would take a hundred times what a chunk of a byte has. */
  #withRoomFor(bytes: number): Buffer {
    const neededBytes = this.#received + bytes
    if (neededBytes > this.#grown.length) {
      const grown = Buffer.allocUnsafe(Math.max(neededBytes, 2 * this.#grown.length))
      this.#grown.copy(grown, 0, 0, this.#received)
      this.#grown = grown
    }
    return this.#grown
  }

  #checkLength(bytes: number): void {
    if (bytes > this.#maxBytes && bytes > (this.#receiver?.length ?? 0))
      throw new LongAnswer(`the answer is longer than ${this.#maxBytes} bytes`)
  }

  #hold(bytes: Buffer): undefined {
    this.#held = bytes.length === 0 ? undefined : Buffer.from(bytes)
  }
}

const statusLine = /^HTTP\/1\.([01]) ([1-5]\d\d)(?: |$)/
const sizeLine = /^([\dA-Fa-f]{1,12})[ \t]*(?:;|$)/
const token = /^[\w!#$%&'*+.^`|~-]+$/
/** Everything but characters that no value may have, above all what would end it. */
const fieldValue = /^[\t\x20-\x7e\x80-\xff]*$/

/** Without blanks and tabs around it; what else `trim` takes away may be a byte of a character, or the end of a line. */
function withoutBlanks(text: string): string {
  const isBlank = (at: number) => text[at] === ' ' || text[at] === '\t'
  let [from, to] = [0, text.length]
  while (from < to && isBlank(from)) from++
  while (to > from && isBlank(to - 1)) to--
  return text.slice(from, to)
}

/** Throws MalformedAnswer for what is no header. */
function headersOf(lines: readonly string[]): StoreHeaders {
  const headers: Record<string, string> = {}
  for (const line of lines) {
    const colon = line.indexOf(':')
    const name = line.slice(0, Math.max(colon, 0)).toLowerCase()
    const value = withoutBlanks(line.slice(colon + 1))
    if (!token.test(name) || !fieldValue.test(value))
      throw new MalformedAnswer('the answer has a header that is none')
    if (!Object.hasOwn(headers, name)) headers[name] = value
    else if (name === 'content-length') {
      if (headers[name] !== value) throw new MalformedAnswer('the answer has two lengths')
    } else if (!single.has(name)) headers[name] += `, ${value}`
  }
  return headers
}

/** Headers that drivers read and that are no lists: should a proxy repeat one, the first counts. */
const single: ReadonlySet<string> = new Set([
  'content-range',
  'content-type',
  'date',
  'etag',
  'last-modified',
  'location',
  'retry-after',
])
