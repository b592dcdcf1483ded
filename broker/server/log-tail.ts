import { type FSWatcher, watch } from 'node:fs'
import { type FileHandle, open, stat } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import type { Log } from '../common/log.ts'
import { type Task, whenDue } from '../tasks/tasks.ts'

/** A key that is denied is seen soon enough for a person who watches, and many lines are read at once. */
const soonMs = 500
/** The kernel says when something was written; this is for what it does not say. */
const unreportedMs = 5_000

/** Of more that was written since the last look, the rest is passed over: a flood must not keep the platform busy. */
const maxLookBytes = 2 ** 20
/** A line is longer than this only when it is none. */
const maxLineBytes = 64 * 2 ** 10

/**
 * Reads the lines that a program adds to its log file from now on, also when it begins another file of the same name.
 * @param onLine hears of each line, without its end
 */
export class LogTail {
  readonly #path: string
  readonly #onLine: (line: string) => void
  readonly #log: Log
  #file: FileHandle | undefined
  #offset = 0
  #rest = ''
  #looking: Promise<void> = Promise.resolve()
  readonly #task: Task
  /** Undefined where the kernel has no watch left. */
  #watcher: FSWatcher | undefined

  private constructor(path: string, onLine: (line: string) => void, log: Log) {
    this.#path = path
    this.#onLine = onLine
    this.#log = log
    this.#task = whenDue('broker.log', () => this.#lookByItself())
  }

  static async open(path: string, onLine: (line: string) => void, log: Log): Promise<LogTail> {
    const tail = new LogTail(path, onLine, log)
    tail.#file = await open(path)
    tail.#watch()
    tail.#offset = (await tail.#file.stat()).size
    tail.#lookLater()
    return tail
  }

  /** The folder, not the file, which another one may replace. */
  #watch(): void {
    try {
      this.#watcher = watch(dirname(this.#path), { persistent: false }, (_, name) => {
        if (name === null || name === basename(this.#path)) this.#lookSoon()
      })
      this.#watcher.on('error', () => this.#unwatch())
    } catch (err) {
      this.#log.debug({ err, path: this.#path }, 'The log of nats-server cannot be watched; polling instead.')
    }
  }

  #unwatch(): void {
    this.#watcher?.close()
    this.#watcher = undefined
  }

  #lookSoon(): void {
    const { nextMs } = this.#task
    if (nextMs === undefined || nextMs > Date.now() + soonMs) this.#task.due(soonMs)
  }

  #lookLater(): void {
    this.#task.due(this.#watcher === undefined ? soonMs : unreportedMs)
  }

  async #lookByItself(): Promise<void> {
    // Announced before the look: what is written meanwhile brings it forward.
    this.#lookLater()
    await this.look()
  }

  /** Resolves when all that was written before has been read. */
  look(): Promise<void> {
    this.#looking = this.#looking.then(() =>
      this.#read().catch((err: unknown) =>
        this.#log.warn({ err, path: this.#path }, 'The log of nats-server cannot be read; retrying.'),
      ),
    )
    return this.#looking
  }

  async stop(): Promise<void> {
    this.#unwatch()
    this.#task.stop()
    await this.look()
    await this.#file?.close()
    this.#file = undefined
  }

  async #read(): Promise<void> {
    if (this.#file === undefined) return
    const [own, there] = await Promise.all([this.#file.stat(), stat(this.#path)])
    // To a file that has another in its place nothing is added any more; its last lines may have come while we looked.
    if (own.size !== this.#offset || own.ino !== there.ino) await this.#readOn(this.#file)
    if (own.ino === there.ino) return
    await this.#file.close()
    this.#file = await open(this.#path)
    this.#offset = 0
    this.#rest = ''
    await this.#readOn(this.#file)
  }

  async #readOn(file: FileHandle): Promise<void> {
    const { size } = await file.stat()
    const missed = size - this.#offset - maxLookBytes
    if (missed > 0) {
      this.#log.warn({ bytes: missed }, 'The log of nats-server grows too fast; part of it was skipped.')
      this.#offset += missed
      this.#rest = ''
    }
    const buffer = Buffer.alloc(Math.max(0, size - this.#offset))
    const { bytesRead } = await file.read(buffer, 0, buffer.length, this.#offset)
    this.#offset += bytesRead
    const lines = (this.#rest + buffer.toString('utf8', 0, bytesRead)).split('\n')
    this.#rest = (lines.pop() ?? '').slice(-maxLineBytes)
    for (const line of lines) this.#onLine(line)
  }
}
