import type { Static, TSchema } from 'typebox'
import { faultsOf, matches } from '../../../../subjects/kit/validate.ts'
import { type Driver, StoreError, type StorePath } from '../../../drivers/contract/driver.ts'
import type { FailureClass } from '../../../drivers/contract/store-error.ts'
import { parseJson } from '../../../drivers/http/json.ts'
import { joinPath, parentOf, textFromPath } from '../../../drivers/paths/path-text.ts'

/** A table of a hundred thousand columns with comments has half of it. */
const maxDocumentBytes = 32 * 1024 * 1024

/** Reads of a document while others write it, one after the other, before it is given up. */
const tries = 5

/** Documents of JSON in a folder of a store. Throws StoreErrors that name the document. */
export class Documents {
  readonly #driver: Driver
  readonly #root: StorePath

  constructor(driver: Driver, root: StorePath) {
    this.#driver = driver
    this.#root = root
  }

  /** Questions of one kind that may be under way at once. */
  get concurrency(): number {
    return this.#driver.capabilities.concurrency
  }

  /** What a document is called in messages: its path in the filesystem. */
  nameOf(path: StorePath): string {
    return textFromPath(joinPath(this.#root, path))
  }

  /** Names of what stands in a folder, those that are no UTF-8 left out; none where there is no such folder. */
  async list(folder: StorePath, type: 'file' | 'folder', signal: AbortSignal): Promise<string[]> {
    const names: string[] = []
    try {
      for await (const { entries } of this.#driver.list(joinPath(this.#root, folder), signal))
        names.push(...entries.filter((entry) => entry.type === type).map(({ name }) => name.toString()))
    } catch (error) {
      if (!isGone(error)) throw error
    }
    return names.filter((name) => !name.includes('\uFFFD'))
  }

  async isThere(path: StorePath, signal: AbortSignal): Promise<boolean> {
    signal.throwIfAborted()
    return (await this.#driver.stat(joinPath(this.#root, path)))?.type === 'file'
  }

  /**
   * Undefined where there is none. Throws `unsupported` that names the field for one that does not fit the schema, and `io` for
   * one that is no JSON: whoever writes it may be half through.
   */
  async read<S extends TSchema>(
    path: StorePath,
    schema: S,
    signal: AbortSignal,
  ): Promise<Static<S> | undefined> {
    const bytes = await this.#bytesOf(path, signal)
    if (bytes === undefined) return undefined
    let value: unknown
    try {
      value = parseJson(bytes)
    } catch (error) {
      throw this.#failed('io', path, `it is not valid JSON: ${(error as Error).message}`)
    }
    // One may have thousands of partitions, of which each is looked at.
    if (matches(schema, value, true)) return value
    const faults = faultsOf(schema, value).map(({ field, problem }) => `${field} ${problem}`)
    throw this.refused(path, faults.join('; '))
  }

  /** The failure of a document that is not as it must be. */
  refused(path: StorePath, problem: string): StoreError {
    return this.#failed('unsupported', path, problem)
  }

  #failed(failure: FailureClass, path: StorePath, problem: string): StoreError {
    return new StoreError(failure, `${this.nameOf(path)}: ${problem}`)
  }

  async #bytesOf(path: StorePath, signal: AbortSignal): Promise<Buffer | undefined> {
    for (let left = tries; ; left--) {
      signal.throwIfAborted()
      try {
        const file = await this.#driver.open(joinPath(this.#root, path))
        try {
          if (file.sizeBytes > maxDocumentBytes) throw this.#tooLarge(path, file.sizeBytes)
          const bytes = await file.read(0, file.sizeBytes)
          await file.verifyUnchanged()
          return bytes
        } finally {
          await file.close()
        }
      } catch (error) {
        if (isGone(error)) return undefined
        if (!(error instanceof StoreError) || error.failure !== 'changed' || left === 1) throw error
      }
    }
  }

  /**
   * Writes a whole document, with the folders that it needs; who reads it meanwhile has the one before.
   * @param isNew whether it was not there: throws `changed` where somebody else has made it meanwhile, in stores that tell
   */
  async write(path: StorePath, value: object, signal: AbortSignal, isNew = false): Promise<void> {
    const bytes = Buffer.from(textOf(value))
    if (bytes.length > maxDocumentBytes) throw this.#tooLarge(path, bytes.length)
    const place = joinPath(this.#root, path)
    signal.throwIfAborted()
    try {
      await this.#put(place, bytes, isNew)
    } catch (error) {
      if (!isGone(error)) throw error
      await this.#makeFolder(parentOf(place))
      await this.#put(place, bytes, isNew)
    }
    await this.#driver.persist?.(place)
  }

  /** Nothing happens where there is none. */
  async remove(path: StorePath, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    await this.#driver.remove(joinPath(this.#root, path))
  }

  /** Removes a folder in which nothing is; one with what others put there stays. */
  async removeFolder(path: StorePath, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    try {
      await this.#driver.remove(joinPath(this.#root, path))
    } catch (error) {
      if (!(error instanceof StoreError) || error.failure !== 'unsupported') throw error
    }
  }

  async #put(place: StorePath, bytes: Buffer, isNew: boolean): Promise<void> {
    const { maxPutBytes, parts } = this.#driver.capabilities
    if (bytes.length <= maxPutBytes) {
      if (!isNew || !(await this.#putNew(place, bytes))) await this.#driver.put(place, bytes, {})
      return
    }
    const file = { sizeBytes: bytes.length, tag: 'catalog', attributes: {} }
    const upload = await this.#driver.beginUpload(place, file)
    try {
      const partBytes = parts.sizeFor(bytes.length)
      let index = 0
      for (let offset = 0; offset < bytes.length; offset += partBytes, index++) {
        const part = bytes.subarray(offset, offset + partBytes)
        await this.#driver.writePart(upload, index, offset, {
          sizeBytes: part.length,
          read: async (from, length) => part.subarray(from, from + length),
        })
      }
      await this.#driver.commitUpload(upload, index, {})
    } catch (error) {
      await this.#driver.abortUpload(upload)
      throw error
    }
  }

  /** False where the store does not make sure that nothing is there. */
  async #putNew(place: StorePath, bytes: Buffer): Promise<boolean> {
    try {
      return (await this.#driver.putNew?.(place, bytes, {})) !== undefined
    } catch (error) {
      if (error instanceof StoreError && error.failure === 'unsupported') return false
      throw error
    }
  }

  async #makeFolder(folder: StorePath): Promise<void> {
    if (folder.length === 0) return
    if ((await this.#driver.stat(folder))?.type === 'folder') return
    await this.#makeFolder(parentOf(folder))
    await this.#driver.makeFolder(folder, {})
  }

  #tooLarge(path: StorePath, bytes: number): StoreError {
    const problem = `the document has ${bytes} bytes; the limit is ${maxDocumentBytes}`
    return this.#failed('too-large', path, problem)
  }
}

const isGone = (error: unknown): boolean => error instanceof StoreError && error.failure === 'gone'

/** The same text for the same value, whatever the order in which it was put together. */
export const textOf = (value: unknown): string => `${JSON.stringify(sorted(value), null, 2)}\n`

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1))
  return Object.fromEntries(entries.map(([name, its]) => [name, sorted(its)]))
}
