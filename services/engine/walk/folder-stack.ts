import { closeSync, ftruncateSync, mkdirSync, openSync, readSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'

/** Folders in memory, some 100 bytes each; twice as many before half of them go to the file. */
const keptFolders = 20_000

/**
 * Folders that are still to be walked through, last in, first out, so that there are never more than the folders on the
 * way down have siblings. What memory has no room for waits in a file without a name, which goes with the process.
 */
export class FolderStack implements Disposable {
  readonly #folder: string
  #top: string[] = []
  readonly #chunks: { offset: number; bytes: number }[] = []
  #file: number | undefined

  /** @param folder where the file is made when it is needed; nobody else should write there */
  constructor(folder: string) {
    this.#folder = folder
  }

  get isEmpty(): boolean {
    return this.#top.length === 0 && this.#chunks.length === 0
  }

  /** Of those in memory. */
  get length(): number {
    return this.#top.length
  }

  /** @param folders without line ends */
  push(folders: readonly string[]): void {
    for (const folder of folders) this.#top.push(folder)
    if (this.#top.length > 2 * keptFolders) this.#spill(this.#top.splice(0, keptFolders))
  }

  /** The next, so many at most. */
  take(count: number): string[] {
    if (this.#top.length === 0) this.#fetch()
    return this.#top.splice(-count)
  }

  [Symbol.dispose](): void {
    if (this.#file !== undefined) closeSync(this.#file)
    this.#file = undefined
  }

  #spill(folders: readonly string[]): void {
    if (this.#file === undefined) {
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 })
      const path = join(this.#folder, `folders-${crypto.randomUUID()}`)
      this.#file = openSync(path, 'wx+', 0o600)
      rmSync(path)
    }
    const text = Buffer.from(folders.join('\n'))
    const offset = this.#end
    for (let written = 0; written < text.length;) {
      written += writeSync(this.#file, text, written, text.length - written, offset + written)
    }
    this.#chunks.push({ offset, bytes: text.length })
  }

  #fetch(): void {
    const chunk = this.#chunks.pop()
    if (chunk === undefined || this.#file === undefined) return
    const text = Buffer.allocUnsafe(chunk.bytes)
    for (let read = 0; read < chunk.bytes;) {
      const count = readSync(this.#file, text, read, chunk.bytes - read, chunk.offset + read)
      if (count === 0) throw new Error('the file with waiting folders is shorter than what was written')
      read += count
    }
    ftruncateSync(this.#file, chunk.offset)
    this.#top = text.toString().split('\n')
  }

  get #end(): number {
    const last = this.#chunks.at(-1)
    return last === undefined ? 0 : last.offset + last.bytes
  }
}
