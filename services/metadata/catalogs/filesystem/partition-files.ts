import { hash } from 'node:crypto'
import { Type } from 'typebox'
import { concurrently } from '../../../../broker/common/concurrently.ts'
import { strict } from '../../../../subjects/kit/schemas.ts'
import { Partition, TableStatistics } from '../../../../subjects/metadata/objects.ts'
import { StoreError, type StorePath } from '../../../drivers/contract/driver.ts'
import { byCodePoints } from '../order.ts'
import { partitionName, valuesIn } from '../partition-names.ts'
import { documentFile, documentName, pathOf } from './document-names.ts'
import type { Documents } from './documents.ts'

/*
 * The partitions of a table, in the order of their names, in files that each begin with one that the hash of its name chooses:
 * a file has those from the one that it is called after up to the one that the next is called after. So the same partitions
 * are in the same files, whatever the order in which they were added, and one more changes one file, or cuts it in two.
 */

/** Partitions of a file on the average: with a kB or two for each it stays a file that a person can look into. */
const usualPartitions = 200
/** Longer names begin no file: those of files end at 255 bytes in most stores, and temporary ones have more around them. */
const maxFileNameBytes = 200
/** Of the partitions before the first that begins a file; none is called so. */
const first = ''
const firstFile = 'first'

/** Listings while others write, before it is given up. */
const tries = 5

/** A partition, with its statistics. */
const PartitionDocument = strict({ ...Partition.properties, statistics: Type.Optional(TableStatistics) })
export type PartitionDocument = Type.Static<typeof PartitionDocument>

const schema = Type.Record(Type.String(), PartitionDocument)
type Entries = Map<string, PartitionDocument>

/** What becomes of a partition, or of none. */
export type Change = (now: PartitionDocument | undefined) => PartitionDocument | undefined

export class PartitionFiles {
  readonly #documents: Documents
  readonly #folder: readonly string[]

  /** @param folder its segments as they are in the store */
  constructor(documents: Documents, folder: readonly string[]) {
    this.#documents = documents
    this.#folder = folder
  }

  /** Names of all partitions, in order. Throws `changed` where others write on and on. */
  names(signal: AbortSignal): Promise<string[]> {
    return this.#settled(signal, async (files) => {
      const found: string[][] = files.map(() => [])
      await concurrently(files.keys(), this.#documents.concurrency, async (index) => {
        found[index] = sortedNames(await this.#entries(files, index, signal))
      })
      return found.flat()
    })
  }

  /** Those of these names that are there, each with its name. Throws `changed` as `names`. */
  of(names: readonly string[], signal: AbortSignal): Promise<[string, PartitionDocument][]> {
    return this.#settled(signal, async (files) => {
      const found: [string, PartitionDocument][] = []
      const wanted = [...Map.groupBy(names, (name) => indexOf(files, name))]
      await concurrently(wanted, this.#documents.concurrency, async ([index, its]) => {
        const entries = await this.#entries(files, index, signal)
        for (const name of its) {
          const entry = entries.get(name)
          if (entry !== undefined) found.push([name, entry])
        }
      })
      return found
    })
  }

  /**
   * Changes partitions, for the only one who writes. Who reads meanwhile, and after a kill, has each as it was or as it is now:
   * what is in two files is that of the one that its name belongs to.
   */
  async change(changes: ReadonlyMap<string, Change>, signal: AbortSignal): Promise<void> {
    const files = await this.#files(signal)
    const byFile = Map.groupBy(changes, ([name]) => indexOf(files, name))
    /** Of files that nothing begins any more: they go to the one before, and then the files go. */
    let carried: Entries = new Map()
    let left: string[] = []
    // From the last to the first.
    for (const [index, file] of [...files.entries()].toReversed()) {
      const its = byFile.get(index)
      if (its === undefined && left.length === 0) continue
      const entries = await this.#entries(files, index, signal)
      let isChanged = left.length > 0
      for (const [name, change] of its ?? []) {
        const now = entries.get(name)
        const then = change(now)
        if (then === now) continue
        isChanged = true
        if (then === undefined) entries.delete(name)
        else entries.set(name, then)
      }
      if (!isChanged) continue
      for (const [name, partition] of carried) entries.set(name, partition)
      const [own = new Map<string, PartitionDocument>(), ...others] = cut(file, entries)
      for (const [name, run] of others.toReversed().map((run) => [firstOf(run), run] as const))
        await this.#documents.write(this.#pathOf(name), Object.fromEntries(run), signal)
      if (file !== first && !(own.has(file) && begins(file))) {
        carried = own
        left.push(file)
        continue
      }
      if (own.size > 0) await this.#documents.write(this.#pathOf(file), Object.fromEntries(own), signal)
      else await this.#documents.remove(this.#pathOf(file), signal)
      for (const one of left) await this.#documents.remove(this.#pathOf(one), signal)
      ;[carried, left] = [new Map(), []]
    }
  }

  /** Removes all of them. */
  async clear(signal: AbortSignal): Promise<void> {
    for (const file of (await this.#files(signal)).toReversed())
      await this.#documents.remove(this.#pathOf(file), signal)
    await this.#documents.removeFolder(pathOf(...this.#folder), signal)
  }

  #pathOf(file: string): StorePath {
    return pathOf(...this.#folder, documentFile(file === first ? firstFile : file))
  }

  /** What files are called after, in order; the first is always among them. */
  async #files(signal: AbortSignal): Promise<string[]> {
    const files = await this.#documents.list(pathOf(...this.#folder), 'file', signal)
    const named = files.flatMap((file) => documentName(file) ?? [])
    return [first, ...named.filter((name) => name !== firstFile).toSorted(byCodePoints)]
  }

  /** Asks until the files are the same before and after: what is moved between two may be missed in both. */
  async #settled<T>(signal: AbortSignal, ask: (files: readonly string[]) => Promise<T>): Promise<T> {
    let files = await this.#files(signal)
    for (let left = tries; left > 0; left--) {
      const answer = await ask(files)
      const now = await this.#files(signal)
      if (now.length === files.length && now.every((file, index) => file === files[index])) return answer
      files = now
    }
    const where = this.#documents.nameOf(pathOf(...this.#folder))
    throw new StoreError('changed', `${where} changes continuously; try again later`)
  }

  /** The partitions of a file, but those that belong to the next; none where it is gone. */
  async #entries(files: readonly string[], index: number, signal: AbortSignal): Promise<Entries> {
    const [from = first, until] = files.slice(index, index + 2)
    const path = this.#pathOf(from)
    const document = (await this.#documents.read(path, schema, signal)) ?? {}
    const entries: Entries = new Map()
    for (const [name, partition] of Object.entries(document)) {
      const values = valuesIn(name)
      if (nameless(partition.values) !== nameless(values))
        throw this.#documents.refused(path, `${name}.values must match its name, ${JSON.stringify(values)}`)
      if (byCodePoints(name, from) < 0)
        throw this.#documents.refused(path, `${name} must be in an earlier file`)
      if (until === undefined || byCodePoints(name, until) < 0) entries.set(name, partition)
    }
    return entries
  }
}

/** The name that values have with any keys; for one that is not there Hive has a word. */
const nameless = (values: readonly string[]): string =>
  partitionName(
    values.map(() => 'key'),
    values,
  )

const sortedNames = (entries: Entries): string[] => [...entries.keys()].toSorted(byCodePoints)

/** Whether a partition begins a file. */
const begins = (name: string): boolean =>
  hash('sha256', name, 'buffer').readUInt32BE(0) % usualPartitions === 0 &&
  Buffer.byteLength(documentFile(name)) <= maxFileNameBytes

/** Index of the file that a partition belongs to. */
function indexOf(files: readonly string[], name: string): number {
  let [from, to] = [0, files.length]
  while (to - from > 1) {
    const middle = (from + to) >> 1
    if (byCodePoints(files[middle]!, name) <= 0) from = middle
    else to = middle
  }
  return from
}

/** Runs of partitions, each for a file; the first goes on with the file that they were in. */
function cut(file: string, entries: Entries): Entries[] {
  const runs: Entries[] = [new Map()]
  for (const name of sortedNames(entries)) {
    if (name !== file && begins(name)) runs.push(new Map())
    runs.at(-1)!.set(name, entries.get(name)!)
  }
  return runs
}

const firstOf = (run: Entries): string => [...run.keys()][0] ?? first
