import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import type { Log } from '../../common/log.ts'
import { RecordLosses } from './record-losses.ts'

/** Records may hold sealed secrets. */
const folderMode = 0o700
const fileMode = 0o600
/** After a power cut at most the changes of so long are missing from a journal: far fewer than from the store. */
const syncDelayMs = 1_000
/** A journal is rewritten when this much of it is outdated, and more than is current. */
const minOutdatedBytes = 4 * 2 ** 20
/** Deletions that are remembered, the oldest are dropped first: 100 bytes of memory each. */
const maxTombstones = 200_000
/** A journal is read and copied in pieces of this size. */
const pieceBytes = 2 ** 20

/** The last known state of a record. */
interface Entry {
  readonly revision: number
  readonly isDeleted: boolean
  /** Deleted without a trace: nats-server may forget by a kill that it was. */
  readonly isErased: boolean
  /** Where its line is in the file. */
  readonly at: number
  readonly bytes: number
}

interface Line {
  readonly key: string
  readonly revision: number
  /** As it is stored, or a mark of its deletion. */
  readonly text: string
  readonly written: () => void
}

const deletedMark = '-'
const erasedMark = '--'
const deletions: ReadonlySet<string> = new Set([deletedMark, erasedMark])

/** In the configuration folder; its removal makes the platform take the store as it is. */
export const journalFolder = 'journal'

/**
 * What was acknowledged for the records of one bucket, in a file beside the broker's store: an append-only list of
 * `<checksum> <number> <revision> <key> <text>`, where numbers are consecutive. The store shows neither that it was rolled
 * back nor that a deleted record has returned; compared with this it does.
 *
 * A line reaches the operating system before the writer is answered, and the disk a second later. A process that is killed
 * in between leaves the journal behind the store, which is normal; a store behind its journal was rolled back.
 */
export class RecordJournal {
  readonly #path: string
  readonly #log: Log
  #entries: Map<string, Entry> = new Map()
  #file: FileHandle
  #bytes = 0
  #currentBytes = 0
  #lines = 0
  #tombstones = 0
  #isIntact = true
  /** A write that failed may have left a part of a line behind the last whole one, to which nothing must be appended. */
  #hasTail = false
  #pending: Line[] = []
  #writing: Promise<void> | undefined
  #syncTimer: NodeJS.Timeout | undefined
  #writeProblem: string | undefined
  #rewriteProblem: string | undefined
  /** After a rewrite that failed: how much must be outdated until the next one is tried. */
  #retryAtBytes = 0

  private constructor(path: string, file: FileHandle, log: Log) {
    this.#path = path
    this.#file = file
    this.#log = log
  }

  static async open(path: string, log: Log): Promise<RecordJournal> {
    const journal = new RecordJournal(path, await open(path, 'a+', fileMode), log)
    try {
      await journal.#load()
    } catch (error) {
      await journal.#file.close()
      throw error
    }
    return journal
  }

  /** False when lines of it are missing or damaged: then what it says of a record may be outdated itself. */
  get isIntact(): boolean {
    return this.#isIntact
  }

  /** Why it cannot be written at the moment. */
  get problem(): string | undefined {
    return this.#writeProblem ?? this.#rewriteProblem
  }

  get(key: string): Pick<Entry, 'revision' | 'isDeleted' | 'isErased'> | undefined {
    return this.#entries.get(key)
  }

  /** Keys of the records that exist. */
  *existing(): Generator<string> {
    for (const [key, { isDeleted }] of this.#entries) if (!isDeleted) yield key
  }

  /** The text of a record that exists. */
  async text(key: string): Promise<string | undefined> {
    const entry = this.#entries.get(key)
    if (entry === undefined || entry.isDeleted) return undefined
    const { buffer } = await this.#file.read(Buffer.alloc(entry.bytes), 0, entry.bytes, entry.at)
    return parseLine(buffer)?.text
  }

  /** Notes that a record was stored. */
  wrote(key: string, revision: number, text: string): Promise<void> {
    return this.#append(key, revision, text)
  }

  /** Notes that a record was deleted; the revision is that of the last one that may exist somewhere. */
  deleted(key: string, revision = this.#entries.get(key)?.revision ?? 0): Promise<void> {
    return this.#append(key, revision, deletedMark)
  }

  /** Notes that a record will be deleted without a trace. */
  erased(key: string): Promise<void> {
    return this.#append(key, this.#entries.get(key)?.revision ?? 0, erasedMark)
  }

  /**
   * A bucket that was made again, or that lost its end, gives revisions out again: what is stored from now on must not seem
   * older than a deletion. To be called when no record that was deleted is left in the bucket.
   * @param last the highest revision that the bucket has given out
   */
  async lowerDeletions(last: number): Promise<void> {
    const higher = [...this.#entries].filter(([, { isDeleted, revision }]) => isDeleted && revision > last)
    await Promise.all(
      higher.map(([key, { isErased }]) => this.#append(key, last, isErased ? erasedMark : deletedMark)),
    )
  }

  /** Writes the current state of all records to a new file, whole or not at all. */
  async rewrite(): Promise<void> {
    await this.#writing
    await this.#compact()
    this.#isIntact = true
  }

  async close(): Promise<void> {
    clearTimeout(this.#syncTimer)
    await this.#writing
    // What could not be written before is tried once more.
    if (this.#pending.length > 0) await this.#write()
    await this.#file.datasync().catch(() => undefined)
    await this.#file.close()
  }

  #append(key: string, revision: number, text: string): Promise<void> {
    return new Promise((written) => {
      this.#pending.push({ key, revision, text, written })
      this.#writing ??= this.#write()
    })
  }

  /**
   * Writes all that is pending, what came meanwhile included. Never rejects: the change itself is stored, so its writer is
   * answered; what could not be written stays pending, and `problem` tells.
   */
  async #write(): Promise<void> {
    while (this.#pending.length > 0) {
      const batch = this.#pending.splice(0)
      try {
        await this.#writeBatch(batch)
        this.#writeProblem = undefined
      } catch (error) {
        this.#writeProblem = this.#told(this.#writeProblem, error, 'cannot be written')
        // Only the last change of each record is needed, so that what waits is bounded by the number of records.
        this.#pending = lastOfEachKey([...batch, ...this.#pending])
        break
      } finally {
        for (const { written } of batch) written()
      }
      await this.#compactWhenOutdated()
    }
    this.#writing = undefined
  }

  /** Never rejects: while it fails, for want of space, the journal grows and loses nothing. */
  async #compactWhenOutdated(): Promise<void> {
    const outdated = this.#bytes - this.#currentBytes
    if (outdated <= Math.max(minOutdatedBytes, this.#retryAtBytes) || outdated <= this.#currentBytes) return
    try {
      await this.#compact()
      this.#rewriteProblem = undefined
      this.#retryAtBytes = 0
    } catch (error) {
      this.#rewriteProblem = this.#told(this.#rewriteProblem, error, 'cannot be rewritten')
      // Each try reads all that is current.
      this.#retryAtBytes = outdated + minOutdatedBytes
    }
  }

  /** Logs a problem that is new, and returns its text. */
  #told(before: string | undefined, error: unknown, what: string): string {
    if (before === undefined)
      this.#log.error({ err: error, path: this.#path }, `The journal of stored records ${what}.`)
    return `${this.#path}: ${(error as Error).message}`
  }

  async #writeBatch(batch: readonly Line[]): Promise<void> {
    if (this.#hasTail) {
      await this.#file.truncate(this.#bytes)
      this.#hasTail = false
    }
    const lines = batch.map(({ key, revision, text }, index) =>
      formatLine(this.#lines + index + 1, revision, key, text),
    )
    try {
      await this.#file.appendFile(Buffer.concat(lines))
    } catch (error) {
      this.#hasTail = true
      throw error
    }
    for (const [index, { key, revision, text }] of batch.entries())
      this.#note(key, revision, text, lines[index]!.length)
    this.#syncTimer ??= setTimeout(() => {
      this.#syncTimer = undefined
      this.#file.datasync().catch((err: unknown) => {
        this.#log.error(
          { err, path: this.#path },
          'The journal of stored records could not be flushed to disk.',
        )
      })
    }, syncDelayMs).unref()
  }

  #note(key: string, revision: number, text: string, bytes: number): void {
    const isDeleted = deletions.has(text)
    const before = this.#entries.get(key)
    if (before !== undefined) this.#drop(key, before)
    // The newest come last, so that the oldest deletions are the first to be dropped.
    this.#entries.set(key, {
      revision,
      isDeleted,
      isErased: text === erasedMark,
      at: this.#bytes,
      bytes,
    })
    this.#bytes += bytes
    this.#currentBytes += bytes
    this.#lines += 1
    if (isDeleted && ++this.#tombstones > maxTombstones) this.#dropOldestTombstone()
  }

  #drop(key: string, { bytes, isDeleted }: Entry): void {
    this.#entries.delete(key)
    this.#currentBytes -= bytes
    if (isDeleted) this.#tombstones -= 1
  }

  #dropOldestTombstone(): void {
    for (const [key, entry] of this.#entries) if (entry.isDeleted) return this.#drop(key, entry)
  }

  async #load(): Promise<void> {
    let rest: Buffer = Buffer.alloc(0)
    let number = 0
    for (;;) {
      const position = this.#bytes + rest.length
      const { bytesRead, buffer } = await this.#file.read(Buffer.alloc(pieceBytes), 0, pieceBytes, position)
      if (bytesRead === 0) break
      rest = Buffer.concat([rest, buffer.subarray(0, bytesRead)])
      let from = 0
      for (let end = rest.indexOf(newline); end >= 0; end = rest.indexOf(newline, from)) {
        const line = parseLine(rest.subarray(from, end + 1))
        const bytes = end + 1 - from
        from = end + 1
        number += 1
        if (line?.number !== number) this.#isIntact = false
        if (line === undefined) this.#bytes += bytes
        else {
          number = line.number
          this.#note(line.key, line.revision, line.text, bytes)
        }
      }
      rest = rest.subarray(from)
    }
    this.#lines = number
    // A line without an end was being written when the machine went down.
    if (rest.length > 0) await this.#file.truncate(this.#bytes)
  }

  /** Nothing changes when it fails. */
  async #compact(): Promise<void> {
    const path = `${this.#path}.new`
    await rm(path, { force: true })
    // It is appended to later, wherever a write that failed has left the position in it.
    const file = await open(path, 'a+', fileMode)
    const moved = new Map<string, Entry>()
    let size = 0
    try {
      let piece: Buffer[] = []
      let pieceSize = 0
      const flush = async () => {
        await file.appendFile(Buffer.concat(piece))
        piece = []
        pieceSize = 0
      }
      for (const [key, entry] of this.#entries) {
        const { buffer } = await this.#file.read(Buffer.alloc(entry.bytes), 0, entry.bytes, entry.at)
        const current = parseLine(buffer)
        if (current === undefined) throw new Error(`the line of ${key} was damaged after it was read`)
        const line = formatLine(moved.size + 1, entry.revision, key, current.text)
        moved.set(key, { ...entry, at: size, bytes: line.length })
        size += line.length
        piece.push(line)
        pieceSize += line.length
        if (pieceSize >= pieceBytes) await flush()
      }
      await flush()
      await file.datasync()
      await rename(path, this.#path)
    } catch (error) {
      await file.close()
      // On a full disk its space is needed.
      await rm(path, { force: true })
      throw error
    }
    const old = this.#file
    this.#file = file
    this.#entries = moved
    this.#bytes = this.#currentBytes = size
    this.#lines = moved.size
    await old.close()
  }
}

const newline = 0x0a

const lastOfEachKey = (lines: readonly Line[]): Line[] => [
  ...new Map(lines.map((line) => [line.key, line])).values(),
]

function formatLine(number: number, revision: number, key: string, text: string): Buffer {
  const content = `${number} ${revision} ${key} ${text}\n`
  return Buffer.from(`${checksum(content)} ${content}`)
}

/** Of a line, which is written before it. */
export const checksum = (content: string | Buffer): string =>
  crc32(content).toString(16).padStart(checksumLength, '0')
export const checksumLength = 8

/** Undefined for a damaged line. */
function parseLine(line: Buffer): (Omit<Line, 'written'> & { readonly number: number }) | undefined {
  const content = line.subarray(checksumLength + 1)
  if (line.toString('latin1', 0, checksumLength) !== checksum(content)) return undefined
  const match = /^(\d+) (\d+) (\S+) (.*)\n$/s.exec(content.toString())
  if (match === null) return undefined
  const [, number, revision, key = '', text = ''] = match
  return {
    number: Number(number),
    revision: Number(revision),
    key,
    text,
  }
}

/** The journals of all records that matter, in a folder of the configuration folder. */
export class RecordJournals {
  readonly losses: RecordLosses
  readonly #folder: string
  readonly #log: Log
  readonly #open = new Map<string, Promise<RecordJournal>>()

  private constructor(folder: string, losses: RecordLosses, log: Log) {
    this.#folder = folder
    this.losses = losses
    this.#log = log
  }

  static open(home: string, log: Log): RecordJournals {
    const folder = join(home, journalFolder)
    mkdirSync(folder, { recursive: true, mode: folderMode })
    return new RecordJournals(folder, new RecordLosses(join(folder, 'losses.json'), log), log)
  }

  /** The journal of a bucket; what the bucket holds is taken as given when there was none. */
  of(bucket: string): Promise<RecordJournal> {
    let journal = this.#open.get(bucket)
    if (journal === undefined) {
      journal = RecordJournal.open(this.#pathOf(bucket), this.#log)
      this.#open.set(bucket, journal)
    }
    return journal
  }

  /** Whether a bucket has a journal. */
  has(bucket: string): boolean {
    return existsSync(this.#pathOf(bucket))
  }

  #pathOf(bucket: string): string {
    return join(this.#folder, `${bucket}.journal`)
  }

  /** Why changes cannot be noted at the moment. */
  async problems(): Promise<string[]> {
    const all = await Promise.all(this.#open.values())
    return all.flatMap(({ problem }) => (problem === undefined ? [] : [problem]))
  }

  async close(): Promise<void> {
    for (const journal of this.#open.values()) await (await journal).close()
  }
}
