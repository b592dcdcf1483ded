import type { Driver, StorePath } from '../../services/drivers/contract/driver.ts'
import { joinPath } from '../../services/engine/items/paths.ts'
import { isWithin, textFromPath } from '../../services/drivers/paths/path-text.ts'
import { pattern } from '../conformance/driver-store.ts'
import { oneOf, randomBelow } from './random.ts'
import { writeFile } from './store-tree.ts'

/** Few, so that they are used again and again, as files and folders in turn. */
const names = ['a', 'b', 'c', 'd', 'ü', 'a b', '100%'].map((name) => Buffer.from(name))
const fileModes = [0o644, 0o600, 0o755, 0o444]
const folderModes = [0o755, 0o700, 0o775]
/** Several parts at stores with small ones. */
const largeBytes = 6 * 2 ** 20

/** A folder of any store in which files and folders come, change and go at random; nobody else writes there. */
export class StoreWriter {
  readonly #driver: Driver
  readonly #root: StorePath
  readonly #random: () => number
  /** What is there, by its path as latin1. */
  readonly #there = new Map<string, { readonly path: StorePath; readonly isFolder: boolean }>()
  #writes = 0

  constructor(driver: Driver, root: StorePath, random: () => number) {
    this.#driver = driver
    this.#root = root
    this.#random = random
  }

  /** Does something at random, and says what. */
  async step(): Promise<string> {
    const actions = [
      () => this.#write(),
      () => this.#write(),
      () => this.#write(),
      () => this.#makeFolder(),
      () => this.#makeFolder(),
      () => this.#remove(),
      () => this.#change(),
      () => this.#turn(),
      () => this.#attributes(),
      ...(randomBelow(this.#random, 8) === 0 ? [() => this.#write(pattern(largeBytes, this.#writes))] : []),
    ]
    return oneOf(this.#random, actions)()
  }

  #one(isWanted: (one: { readonly isFolder: boolean }) => boolean): StorePath | undefined {
    const some = [...this.#there.values()].filter(isWanted)
    return some.length === 0 ? undefined : oneOf(this.#random, some).path
  }

  /** Where nothing stands, or what is not wanted there was removed. */
  async #place(isFolder: boolean): Promise<StorePath> {
    const path = joinPath(this.#one((one) => one.isFolder) ?? this.#root, oneOf(this.#random, names))
    const there = this.#there.get(path.toString('latin1'))
    if (there !== undefined && there.isFolder !== isFolder) await this.#removeAll(path)
    return path
  }

  #content(): Buffer {
    return Buffer.from(`${++this.#writes} `.repeat(1 + randomBelow(this.#random, 30)))
  }

  async #write(content = this.#content()): Promise<string> {
    return this.#writeTo(await this.#place(false), content)
  }

  async #writeTo(path: StorePath, content: Buffer): Promise<string> {
    const modifiedMs = 1_600_000_000_000 + randomBelow(this.#random, 1e9)
    await writeFile(this.#driver, path, content, { modifiedMs, mode: oneOf(this.#random, fileModes) })
    this.#there.set(path.toString('latin1'), { path, isFolder: false })
    return `write ${textFromPath(path)}`
  }

  async #makeFolder(at?: StorePath): Promise<string> {
    const path = at ?? (await this.#place(true))
    if (!this.#there.has(path.toString('latin1')))
      await this.#driver.makeFolder(path, { mode: oneOf(this.#random, folderModes) })
    this.#there.set(path.toString('latin1'), { path, isFolder: true })
    return `make folder ${textFromPath(path)}`
  }

  async #remove(): Promise<string> {
    const path = this.#one(() => true)
    if (path === undefined) return 'nothing to remove'
    await this.#removeAll(path)
    return `remove ${textFromPath(path)}`
  }

  async #change(): Promise<string> {
    const path = this.#one(({ isFolder }) => !isFolder)
    return path === undefined ? 'nothing to change' : this.#writeTo(path, this.#content())
  }

  /** What was a file becomes a folder with something in it, and the other way round. */
  async #turn(): Promise<string> {
    const path = this.#one(() => true)
    if (path === undefined) return 'nothing to turn'
    const wasFolder = this.#there.get(path.toString('latin1'))?.isFolder === true
    await this.#removeAll(path)
    if (wasFolder) return `turn: ${await this.#writeTo(path, this.#content())}`
    await this.#makeFolder(path)
    return `turn: ${await this.#writeTo(joinPath(path, oneOf(this.#random, names)), this.#content())}`
  }

  async #attributes(): Promise<string> {
    const path = this.#one(({ isFolder }) => !isFolder)
    if (path === undefined) return 'nothing to give attributes'
    const modifiedMs = 1_600_000_000_000 + randomBelow(this.#random, 1e9)
    await this.#driver.setAttributes(path, { modifiedMs, mode: oneOf(this.#random, fileModes) })
    return `attributes of ${textFromPath(path)}`
  }

  async #removeAll(path: StorePath): Promise<void> {
    const below = [...this.#there.values()]
      .filter((one) => isWithin(path, one.path))
      .toSorted((one, other) => other.path.length - one.path.length)
    for (const one of below) {
      await this.#driver.remove(one.path)
      this.#there.delete(one.path.toString('latin1'))
    }
  }
}
