import { closeSync, fstatSync } from 'node:fs'
import type {
  DirectCopy,
  DirectOptions,
  FolderCopy,
  PartCopy,
  PartSource,
} from '../../contract/direct-copy.ts'
import type { StorePath } from '../../contract/entry.ts'
import { nameOf, parentOf } from '../../paths/path-text.ts'
import { localError } from '../errors.ts'
import { openSource } from '../links.ts'
import type { LocalRoot } from '../root.ts'
import { isSparse } from '../write/sparse.ts'
import { LocalFolderCopy } from './folder-copy.ts'
import { LocalPartCopy } from './part-copy.ts'

/** Copies from a folder of the host to another, with its own calls. */
export class LocalCopy implements DirectCopy {
  readonly #roots: readonly [LocalRoot, LocalRoot]
  readonly #options: DirectOptions

  constructor(roots: readonly [LocalRoot, LocalRoot], options: DirectOptions) {
    this.#roots = roots
    this.#options = options
  }

  folder(from: StorePath, to: StorePath, told: Parameters<DirectCopy['folder']>[2]): FolderCopy {
    return new LocalFolderCopy(this.#roots, this.#options, [from, to], told)
  }

  part(file: PartSource): PartCopy {
    return new LocalPartCopy(this.#roots, this.#options, file)
  }

  hasHoles(path: StorePath): boolean {
    const [source] = this.#roots
    try {
      using folder = source.open(parentOf(path))
      const fd = openSource(source, path, folder.entry(nameOf(path)), this.#options.follow)
      try {
        const { size, blocks } = fstatSync(fd)
        return isSparse(size, blocks)
      } finally {
        closeSync(fd)
      }
    } catch (error) {
      throw localError(error, 'source')
    }
  }
}
