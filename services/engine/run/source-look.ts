import { lstatSync } from 'node:fs'
import type { Entry, StorePath } from '../../drivers/contract/driver.ts'
import { isErrno, localError } from '../../drivers/local/errors.ts'
import { statEntry } from '../../drivers/local/list.ts'
import { FolderPaths, type LocalRoot } from '../../drivers/local/root.ts'

/** Looks at the entries of one folder of the host, synchronously. */
export class FolderLook {
  readonly #paths: FolderPaths

  constructor(root: LocalRoot, folder: StorePath) {
    this.#paths = new FolderPaths(root.absolute(folder))
  }

  /** What stands under a name, a link not followed; undefined when nothing does. Throws StoreErrors. */
  entry(name: Buffer): Entry | undefined {
    try {
      const stat = lstatSync(this.#paths.of(name), { throwIfNoEntry: false })
      return stat === undefined ? undefined : statEntry(name, stat)
    } catch (error) {
      if (isErrno(error, 'ENOENT') || isErrno(error, 'ENOTDIR')) return undefined
      throw localError(error, 'source')
    }
  }
}
