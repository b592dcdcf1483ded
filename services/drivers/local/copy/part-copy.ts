import { closeSync, fstatSync } from 'node:fs'
import type { DirectOptions, PartCopy, PartSource } from '../../contract/direct-copy.ts'
import type { StorePath } from '../../contract/entry.ts'
import { nameOf, parentOf } from '../../paths/path-text.ts'
import { locally, writingError } from '../errors.ts'
import { copyRange } from '../file.ts'
import { changed } from '../../contract/store-error.ts'
import { openSource } from '../links.ts'
import { permitted, withTemporaryAccess } from '../rights.ts'
import type { LocalRoot, Pinned } from '../root.ts'
import { versionOf } from '../source-file.ts'
import { markPart } from '../write/parts.ts'
import { copySparseRange, isSparse } from '../write/sparse.ts'
import { openUpload, uploadOf } from '../write/upload.ts'

/** Copies bytes of a large file to a file under construction; its holes stay holes. */
export class LocalPartCopy implements PartCopy {
  readonly #target: LocalRoot
  readonly #options: DirectOptions
  readonly #file: PartSource
  readonly #folder: StorePath
  readonly #isSparse: boolean
  readonly #temporary: Buffer
  readonly #opened = new DisposableStack()
  readonly #from: number
  readonly #to: number

  constructor([source, target]: readonly [LocalRoot, LocalRoot], options: DirectOptions, file: PartSource) {
    const { path, upload, sizeBytes } = file
    this.#target = target
    this.#options = options
    this.#file = file
    const opened = this.#opened
    try {
      this.#from = inSource(() => {
        using folder = source.open(parentOf(path))
        return openSource(source, path, folder.entry(nameOf(path)), options.follow)
      })
      opened.defer(() => closeSync(this.#from))
      const { blocks } = inSource(() => this.#look())
      this.#isSparse = isSparse(sizeBytes, blocks)
      const { path: goal, pathsIn } = uploadOf(upload)
      this.#folder = parentOf(goal)
      const pinned: Pinned = this.#atTarget(() => permitted(() => target.open(this.#folder)))
      opened.use(pinned)
      this.#temporary = pathsIn(pinned).temporary
      this.#to = this.#atTarget(() => openUpload(this.#temporary))
      opened.defer(() => closeSync(this.#to))
    } catch (error) {
      opened.dispose()
      throw writingError(error)
    }
  }

  copy(offset: number, length: number): void {
    const { sizeBytes } = this.#file
    const { checkStop } = this.#options
    try {
      if (this.#isSparse) copySparseRange(this.#from, this.#to, [offset, length], sizeBytes, checkStop)
      else copyRange(this.#from, this.#to, offset, length, checkStop)
    } catch (error) {
      throw writingError(error)
    }
  }

  finish(index: number): void {
    try {
      inSource(() => this.#look())
      this.#atTarget(() => markPart(this.#temporary, index))
    } catch (error) {
      throw writingError(error)
    }
  }

  [Symbol.dispose](): void {
    this.#opened.dispose()
  }

  /** Throws `changed` when the open file is another version. */
  #look(): { readonly blocks: number } {
    const stat = fstatSync(this.#from, { bigint: true })
    if (versionOf(stat) !== this.#file.version) throw changed()
    return { blocks: Number(stat.blocks) }
  }

  #atTarget<T>(work: () => T): T {
    return withTemporaryAccess(this.#target, [this.#folder], work)
  }
}

const inSource = <T>(work: () => T): T => locally(work, 'source')
