import { type BigIntStats, type Dirent, lstatSync, readdirSync } from 'node:fs'
import { textFromPath } from '../../services/drivers/paths/path-text.ts'
import { digestOfFile } from '../support/compare-trees.ts'

/** What of a target was seen at one moment. */
export interface Sight {
  /** Files under their final names. */
  readonly files: number
  /** Those of them that are not what they are at the source. */
  readonly partial: readonly string[]
}

const temporaryPrefix = '.gantry~'
const slash = Buffer.from('/')

/**
 * Looks again and again at a target that is being written, whose source stands still: which files stand under their final
 * name, and which of those are not what they are at the source. Files come and go meanwhile: what is gone when it is
 * looked at was a temporary name or is being replaced. A file that was seen whole is read again only when it is another.
 */
export class Watcher {
  readonly #source: string
  readonly #target: string
  readonly #seenWhole = new Map<string, string>()

  constructor(source: string, target: string) {
    this.#source = source
    this.#target = target
  }

  look(): Sight {
    const found = [...this.#walk(Buffer.alloc(0))]
    return { files: found.length, partial: found.filter(({ whole }) => !whole).map(({ path }) => path) }
  }

  *#walk(folder: Buffer): Generator<{ path: string; whole: boolean }> {
    let entries: Dirent<Buffer>[]
    try {
      entries = readdirSync(at(this.#target, folder), { withFileTypes: true, encoding: 'buffer' })
    } catch {
      return
    }
    for (const entry of entries) {
      const path = folder.length === 0 ? entry.name : Buffer.concat([folder, slash, entry.name])
      if (entry.isDirectory()) yield* this.#walk(path)
      else if (entry.isFile() && !isTemporary(entry.name))
        yield { path: textFromPath(path), whole: this.#isWhole(path) }
    }
  }

  #isWhole(path: Buffer): boolean {
    const to = at(this.#target, path)
    const stat = lstatSync(to, { bigint: true, throwIfNoEntry: false })
    if (stat === undefined) return true
    const key = path.toString('latin1')
    const identity = identityOf(stat)
    if (this.#seenWhole.get(key) === identity) return true
    const from = at(this.#source, path)
    const { size } = lstatSync(from)
    const whole = Number(stat.size) === size && digestOfFile(from, size) === digestOfFile(to, size)
    if (whole) this.#seenWhole.set(key, identity)
    return whole
  }
}

const at = (root: string, path: Buffer) =>
  path.length === 0 ? Buffer.from(root) : Buffer.concat([Buffer.from(root), slash, path])

/** Whether it is the name of a file under construction. */
const isTemporary = (name: Buffer): boolean => name.toString('latin1').startsWith(temporaryPrefix)

const identityOf = ({ ino, size, mtimeNs, ctimeNs }: BigIntStats) => `${ino} ${size} ${mtimeNs} ${ctimeNs}`
