import { abortable } from '../../../broker/common/abortable.ts'
import { beyondJobs, jobSignal } from '../http/job-signal.ts'
import { compareKeys, prefixOf } from './key-order.ts'
import type { ObjectBucket, What } from './objects.ts'

/** How long what was listed holds: others make folders, too. */
const validMs = 2_000
/** Windows that are known at once, the oldest go first; one has 1,000 keys at most. */
const maxWindows = 64
const pageKeys = 1_000

interface Window {
  /** Keys after this one were listed; empty for all. */
  readonly from: string
  /** The last one that was; undefined where the listing went to its end. */
  readonly to: string | undefined
  readonly folders: Set<string>
  readonly readMs: number
}

/**
 * Whether a folder stands where a file is to be written. A bucket may have both under one name, and a person sees one of
 * them then. To ask before each file would cost a request for each: so what stands beside it is listed, and holds for two
 * seconds for those that come after it in the same folder, since files mostly come in the order of their names.
 */
export class FolderNames {
  readonly #bucket: Pick<ObjectBucket, 'listPage'>
  /** By the prefix of the folder. */
  readonly #windows = new Map<string, Window>()
  readonly #underWay = new Map<string, Promise<Window>>()

  constructor(bucket: Pick<ObjectBucket, 'listPage'>) {
    this.#bucket = bucket
  }

  async isFolder(key: string, what: What): Promise<boolean> {
    const prefix = prefixOf(key)
    const known = this.#windows.get(prefix)
    if (known !== undefined && covers(known, key)) return known.folders.has(`${key}/`)
    const listing = this.#underWay.get(prefix)
    if (listing !== undefined) {
      const window = await abortable(listing, jobSignal())
      if (covers(window, key)) return window.folders.has(`${key}/`)
    }
    const asked = beyondJobs(() => this.#find(prefix, key, known, what)).finally(() => {
      if (this.#underWay.get(prefix) === asked) this.#underWay.delete(prefix)
    })
    this.#underWay.set(prefix, asked)
    return (await abortable(asked, jobSignal())).folders.has(`${key}/`)
  }

  /** A folder is made. */
  made(key: string): void {
    this.#windows.get(prefixOf(key))?.folders.add(`${key}/`)
  }

  /** Something was removed, and folders may be gone with it. */
  removed(): void {
    this.#windows.clear()
  }

  /** A window with this key in it: all of the folder if one page holds it, else from the key on. */
  async #find(prefix: string, key: string, known: Window | undefined, what: What): Promise<Window> {
    if (known === undefined || known.to === undefined) {
      const window = await this.#list(prefix, '', what)
      if (covers(window, key)) return window
    }
    return this.#list(prefix, key, what)
  }

  async #list(prefix: string, from: string, what: What): Promise<Window> {
    const readMs = performance.now()
    const of = { prefix, maxKeys: pageKeys, ...(from !== '' && { startAfter: from }) }
    const page = await this.#bucket.listPage(of, what)
    const last = [page.objects.at(-1)?.key ?? '', page.prefixes.at(-1) ?? ''].toSorted(compareKeys).at(-1)
    const window = {
      from,
      to: page.nextToken === '' ? undefined : last,
      folders: new Set(page.prefixes),
      readMs,
    }
    this.#windows.delete(prefix)
    this.#windows.set(prefix, window)
    if (this.#windows.size > maxWindows) {
      const [oldest] = this.#windows.keys()
      if (oldest !== undefined) this.#windows.delete(oldest)
    }
    return window
  }
}

const covers = ({ from, to, readMs }: Window, key: string): boolean =>
  performance.now() - readMs < validMs &&
  compareKeys(from, key) <= 0 &&
  (to === undefined || compareKeys(`${key}/`, to) <= 0)
