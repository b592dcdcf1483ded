import { type ChildProcess, spawn } from 'node:child_process'
import type { Socket } from 'node:net'
import { createInterface } from 'node:readline'

/** What `sync` said of file systems. */
export interface SyncResult {
  /** Its exit status. */
  readonly code: number
  readonly said: string
}

/**
 * For each line, a number and folders, runs `sync` on their file systems, many at a time, and answers with the number, the
 * exit status and what was said; or with the number alone when it sees no such folders.
 */
const script = `set -f
while read -r id paths; do
  (
    for path in $paths; do [ -d "$path" ] || { echo "$id"; exit; }; done
    said=$(sync -f $paths 2>&1)
    echo "$id $?" $said
  ) &
done`

/**
 * A shell that runs `sync`: to start a process takes this one, with all its memory, milliseconds in which it does nothing
 * else, and a shell a fraction of one. It ends with this process.
 */
export class SyncProcess {
  readonly #shell: ChildProcess
  readonly #waiting = new Map<string, (result: SyncResult | undefined) => void>()
  #count = 0
  #isOver = false

  constructor() {
    this.#shell = spawn('/bin/sh', ['-c', script], { stdio: ['pipe', 'pipe', 'ignore'] })
    const { stdin, stdout } = this.#shell
    if (stdin === null || stdout === null) throw new Error('the shell has no input or no output')
    this.#shell.once('error', () => this.#end()).once('exit', () => this.#end())
    stdin.on('error', () => this.#end())
    createInterface(stdout).on('line', (line) => this.#answered(line))
    // Who waits for nothing may end.
    this.#shell.unref()
    ;(stdin as Socket).unref()
    this.#hold(false)
  }

  /** Whether it has ended; another takes its place. */
  get isOver(): boolean {
    return this.#isOver
  }

  /**
   * Resolves when the file systems of open folders are flushed, or cannot be; with undefined when the shell does not see them, or
   * has ended. Rejects with the signal's reason; then `sync` goes on, and nobody waits for it.
   * @param fds descriptors of this process
   */
  async flush(fds: readonly number[], signal: AbortSignal): Promise<SyncResult | undefined> {
    if (this.#isOver) return undefined
    const id = `${(this.#count += 1)}`
    const { promise, resolve, reject } = Promise.withResolvers<SyncResult | undefined>()
    const abort = () => reject(signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    this.#waiting.set(id, resolve)
    this.#hold(true)
    try {
      this.#shell.stdin?.write(`${[id, ...fds.map((fd) => `/proc/${process.pid}/fd/${fd}`)].join(' ')}\n`)
      return await promise
    } finally {
      signal.removeEventListener('abort', abort)
      this.#waiting.delete(id)
      this.#hold(this.#waiting.size > 0)
    }
  }

  #answered(line: string): void {
    const [id = '', code, ...said] = line.split(' ')
    this.#waiting.get(id)?.(code === undefined ? undefined : { code: Number(code), said: said.join(' ') })
  }

  #hold(isNeeded: boolean): void {
    const stdout = this.#shell.stdout as Socket
    if (isNeeded) stdout.ref()
    else stdout.unref()
  }

  #end(): void {
    this.#isOver = true
    for (const resolve of this.#waiting.values()) resolve(undefined)
  }
}
