import { decodeLink, faultIn, genesisOf } from './chain.ts'
import type { AuditMessage, AuditStream } from './stream.ts'

/** A record's sequence is that of its message and its place there. */
const perMessage = 1_000
const sequenceOf = (message: number, index: number): number => message * perMessage + index + 1

/** How long one call looks: a page is told in time, however few records fit a filter. */
const patienceMs = 10_000

export interface StoredRecord<T> {
  readonly sequence: number
  readonly record: T
}

export interface AuditPage<T> {
  readonly records: StoredRecord<T>[]
  /** Sequence to go on after; undefined at the end. */
  readonly next: number | undefined
}

export interface AuditQuery<T> {
  readonly order: 'newest' | 'oldest'
  /** Sequence of the last record of the page before. */
  readonly after?: number | undefined
  readonly limit: number
  readonly fits: (record: T) => boolean
  /** No record that fits was stored before, in milliseconds since 1970. */
  readonly sinceMs: number
}

/** What came of a walk along the chain. */
export interface Verification<T> {
  readonly records: number
  readonly fromFirst: boolean
  readonly oldest: T | undefined
  readonly newest: T | undefined
  readonly hash: string | undefined
  readonly broken: { readonly at: number; readonly problem: string } | undefined
  readonly next: number | undefined
}

/** Reads the audit log: pages of it, and whether it is whole. */
export class AuditReader<T extends object> {
  readonly #stream: AuditStream
  readonly #instance: string

  constructor(stream: AuditStream, instance: string) {
    this.#stream = stream
    this.#instance = instance
  }

  /** The records that fit. What cannot be read is left out here; `verify` names it. */
  async page({ order, after, limit, fits, sinceMs }: AuditQuery<T>): Promise<AuditPage<T>> {
    const isNewest = order === 'newest'
    const { first, last } = await this.#stream.bounds()
    const at = after === undefined ? undefined : Math.floor((after - 1) / perMessage)
    const chunks = isNewest
      ? this.#stream.backward(first, Math.min(at ?? last, last))
      : this.#stream.forward(Math.max(at ?? first, first), last)
    const isBeyond = (sequence: number) =>
      after === undefined || (isNewest ? sequence < after : sequence > after)
    const records: StoredRecord<T>[] = []
    const began = performance.now()
    /** All up to here, in this order, was looked at. */
    let seen = after
    for await (const chunk of chunks) {
      for (const message of chunk) {
        if (message.storedMs < sinceMs) {
          // Records are stored after they were made: all before this one are older still.
          if (isNewest) return { records, next: undefined }
          continue
        }
        const inOrder = this.#recordsOf(message)
        for (const stored of isNewest ? inOrder.toReversed() : inOrder) {
          if (!isBeyond(stored.sequence)) continue
          if (records.length === limit) return { records, next: seen }
          seen = stored.sequence
          if (fits(stored.record)) records.push(stored)
        }
        seen = sequenceOf(message.sequence, isNewest ? 0 : perMessage - 1)
      }
      if (performance.now() - began > patienceMs) return { records, next: seen }
    }
    return { records, next: undefined }
  }

  #recordsOf({ sequence, body }: AuditMessage): StoredRecord<T>[] {
    const { records = [] } = decodeLink(body) ?? {}
    return records.flatMap(({ text }, index) => {
      const record = parsed(text) as T | undefined
      return record === undefined ? [] : [{ sequence: sequenceOf(sequence, index), record }]
    })
  }

  /** Walks along the chain, from the oldest record or after the last of the page before. */
  async verify(after?: number): Promise<Verification<T>> {
    const { first, last } = await this.#stream.bounds()
    const before = after === undefined ? undefined : await this.#before(after)
    const walk = new Walk(
      before === undefined ? Math.max(first, 1) : before.sequence + 1,
      before?.hash ?? (first <= 1 ? genesisOf(this.#instance, 0) : undefined),
    )
    const began = performance.now()
    for await (const chunk of this.#stream.forward(walk.expected, last)) {
      for (const message of chunk) {
        if (message.sequence !== walk.expected && !(await this.#hasExpired(walk, message.sequence))) break
        walk.take(message)
        if (walk.broken !== undefined) break
      }
      if (walk.broken !== undefined) break
      if (performance.now() - began > patienceMs) return this.#result(walk, first, true)
    }
    if (walk.broken === undefined && walk.expected <= last) await this.#hasExpired(walk, last + 1)
    return this.#result(walk, first, false)
  }

  /** The message of the record after which to go on; undefined when it is gone, and the walk begins at the oldest again. */
  async #before(after: number): Promise<{ sequence: number; hash: string } | undefined> {
    const sequence = Math.floor((after - 1) / perMessage)
    if (sequence < 1) return undefined
    const message = await this.#stream.message(sequence)
    const hash = message && decodeLink(message.body)?.records.at(-1)?.hash
    return hash === undefined ? undefined : { sequence, hash }
  }

  /** Whether what is missing before a message has gone by retention while we looked; else the chain is broken there. */
  async #hasExpired(walk: Walk, found: number): Promise<boolean> {
    const { first } = await this.#stream.bounds()
    if (first < found) {
      walk.breakAt(Math.max(walk.expected, first), 0, 'it is missing, and was not removed by retention')
      return false
    }
    walk.skipTo(found)
    return true
  }

  #result(walk: Walk, first: number, hasMore: boolean): Verification<T> {
    return {
      records: walk.records,
      fromFirst: first <= 1,
      oldest: parsed(walk.oldest) as T | undefined,
      newest: parsed(walk.newest) as T | undefined,
      hash: walk.records === 0 ? undefined : walk.hash,
      broken: walk.broken,
      next: hasMore ? sequenceOf(walk.expected - 1, 0) : undefined,
    }
  }
}

/** undefined for what somebody has put there who does not know what a record is. */
function parsed(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text)
  } catch {
    return undefined
  }
}

/** How far along the chain one has come. */
class Walk {
  /** Sequence of the message that comes next. */
  expected: number
  /** The hash that it has to follow; undefined when what was before is gone. */
  hash: string | undefined
  records = 0
  oldest: string | undefined
  newest: string | undefined
  broken: { at: number; problem: string } | undefined

  constructor(expected: number, hash: string | undefined) {
    this.expected = expected
    this.hash = hash
  }

  take({ sequence, body }: AuditMessage): void {
    const link = decodeLink(body)
    if (link === undefined) return this.breakAt(sequence, 0, 'it was not written by this platform')
    if (this.hash !== undefined && link.previous !== this.hash)
      return this.breakAt(sequence, 0, 'it does not follow the previous record')
    const fault = faultIn(link)
    const whole = link.records.slice(0, fault)
    this.oldest ??= whole[0]?.text
    this.newest = whole.at(-1)?.text ?? this.newest
    this.hash = whole.at(-1)?.hash ?? this.hash
    this.records += whole.length
    this.expected = sequence + 1
    if (fault !== undefined) this.breakAt(sequence, fault, 'its content was changed')
  }

  skipTo(sequence: number): void {
    this.expected = sequence
    this.hash = undefined
  }

  breakAt(message: number, index: number, problem: string): void {
    this.broken = { at: sequenceOf(message, index), problem }
  }
}
