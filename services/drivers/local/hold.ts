import { lstatSync, statSync } from 'node:fs'
import type { FolderHold } from '../contract/driver.ts'
import type { Entry, StorePath } from '../contract/entry.ts'
import { StoreError } from '../contract/store-error.ts'
import { isErrno, isNoFolder, localError } from './errors.ts'
import { typeOf } from './list.ts'
import type { LocalRoot, Pinned } from './root.ts'

/** A folder of the host that is held open. */
export class LocalHold implements FolderHold {
  readonly #opened: Pinned
  readonly #absolute: Buffer
  readonly #isOther: (name: Buffer) => boolean

  /** @param isOther whether only something that is named otherwise stands under a name, where the file system folds case */
  constructor(root: LocalRoot, folder: StorePath, isOther: (name: Buffer) => boolean) {
    this.#absolute = root.absolute(folder)
    this.#isOther = isOther
    this.#opened = inFolder(() => root.open(folder))
  }

  isThere(): boolean {
    const [held, now] = inFolder(() => [statSync(this.#opened.path), statSync(this.#absolute)] as const)
    return held.dev === now.dev && held.ino === now.ino
  }

  typeOf(name: Buffer): Entry['type'] | undefined {
    const stat = inFolder(() => lstatSync(this.#opened.entry(name), { throwIfNoEntry: false }))
    return stat === undefined || inFolder(() => this.#isOther(name)) ? undefined : typeOf(stat)
  }

  [Symbol.dispose](): void {
    this.#opened.close()
  }
}

/** What looks at a folder that may be none any more. */
function inFolder<T>(look: () => T): T {
  try {
    return look()
  } catch (error) {
    throw isErrno(error, 'ENOENT') || isNoFolder(error)
      ? new StoreError('gone', 'there is no such folder', { cause: error, side: 'source' })
      : localError(error, 'source')
  }
}
