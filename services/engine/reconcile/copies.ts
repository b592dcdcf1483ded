import type { Entry, StorePath } from '../../drivers/contract/driver.ts'
import { ChangedNames } from '../items/changed-folders.ts'
import { type Children, withOthers } from '../items/children.ts'
import type { Counts, ItemResult } from '../run/counts.ts'
import { largeFileBytes } from '../items/items.ts'
import { boundsOf, type Run } from '../run/run.ts'
import { transfer } from '../copy/transfer.ts'

/** Names of one folder that are to be copied. */
interface Group {
  readonly folder: StorePath
  readonly files: Buffer[]
  readonly others: Buffer[]
  /** Of the files, as they were found. */
  readonly fileBytes: number[]
}

/**
 * What a comparison found to be copied. As little as one item would have it copies at once, which saves the way
 * through the queue; more becomes items of their own, for all threads.
 */
export class Copies {
  readonly #run: Run
  readonly #children: Children
  readonly #counts: Counts
  readonly #groups = new Map<StorePath, Group>()
  readonly #large = new ChangedNames()
  #names = 0
  #bytes = 0
  #isMuch: boolean

  /**
   * @param counts what is to be copied is added, as found
   * @param isMuch nothing is copied here: a deep item would leave what it was writing in folders that it does not name
   */
  constructor(run: Run, children: Children, counts: Counts, isMuch: boolean) {
    this.#run = run
    this.#children = children
    this.#counts = counts
    this.#isMuch = isMuch
  }

  /** @param folder one object for all entries of a folder; `entry` is a file, a link or something special */
  add(folder: StorePath, { type, name, sizeBytes }: Entry): void {
    const counts = this.#counts
    if (type === 'file') {
      counts.filesScanned++
      counts.bytesScanned += sizeBytes
    } else if (type === 'symlink') counts.linksScanned++
    else counts.othersScanned++
    if (sizeBytes > largeFileBytes) {
      this.#children.file(folder, name, sizeBytes)
      this.#large.add(folder, name)
      return
    }
    if (this.#isMuch) {
      this.#handOn(folder, name, type === 'file' ? sizeBytes : 0)
      return
    }
    const group = this.#groups.get(folder) ?? { folder, files: [], others: [], fileBytes: [] }
    this.#groups.set(folder, group)
    if (type === 'file' && sizeBytes > 0) {
      group.files.push(name)
      group.fileBytes.push(sizeBytes)
    } else group.others.push(name)
    this.#names++
    this.#bytes += sizeBytes
    const { names, bytes } = boundsOf(this.#run)
    if (this.#names >= names || this.#bytes >= bytes) this.#handOnAll()
  }

  /** Copies what is left here; resolves when that is done. */
  async finish(): Promise<ItemResult | undefined> {
    if (this.#groups.size === 0) return undefined
    return transfer(
      this.#run,
      {
        kind: 'transfer',
        attempt: 1,
        notBeforeMs: 0,
        policy: 'Overwrite',
        groups: Array.from(this.#groups.values(), ({ fileBytes, ...group }) => ({
          ...group,
          sizes: withOthers(fileBytes, group.others),
        })),
      },
      true,
    )
  }

  /** Large files, which are copied by items of their own. */
  get large(): Uint8Array[] {
    return this.#large.items()
  }

  #handOnAll(): void {
    this.#isMuch = true
    for (const { folder, files, others, fileBytes } of this.#groups.values()) {
      for (const [index, name] of files.entries()) this.#handOn(folder, name, fileBytes[index]!)
      for (const name of others) this.#handOn(folder, name, 0)
    }
    this.#groups.clear()
  }

  /** @param sizeBytes 0 for what need not be opened */
  #handOn(folder: StorePath, name: Buffer, sizeBytes: number): void {
    if (sizeBytes > 0) this.#children.file(folder, name, sizeBytes)
    else this.#children.other(folder, name)
  }
}
