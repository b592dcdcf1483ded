import { stat } from 'node:fs/promises'
import { GantryError } from '../../subjects/errors.ts'
import { openDriver } from '../drivers/index.ts'
import { isErrno } from '../drivers/local-errors.ts'
import { LocalRoot } from '../drivers/local-root.ts'
import type { MoveSpec } from './engine/mover.ts'
import type { MigrationRecord } from './record.ts'
import { RegularLook } from './regular-look.ts'

const sides = ['source', 'target'] as const
type Side = (typeof sides)[number]
const absent = 'absent'

/** The process has four threads for such questions, and a mount that hangs keeps one: those of others are not for it. */
const maxAtOnce = 2
let atOnce = 0

/** Which folders the roots of a migration are; undefined for a store that is none of this host, and while nobody can tell. */
type RootIds = Readonly<Record<Side, string | undefined>>
type RootFolders = Readonly<Record<Side, Buffer | undefined>>

/** What is known of the roots of a migration while it is worked on, over its breaks. */
export interface KnownRoots {
  ids: RootIds | undefined
  /** Some work may have been done in another folder. */
  isTorn: boolean
}

/**
 * Looks whether the paths of source and target still lead to the same folders: where a volume was is the folder below it
 * once it is unmounted, and who moves a folder above them may put another in its place. No watch tells of that, and what
 * is found or written there would be taken for what was meant.
 */
export class Roots implements Disposable {
  readonly #folders: RootFolders
  readonly #known: KnownRoots
  #looks: RegularLook | undefined

  private constructor(folders: RootFolders, known: KnownRoots) {
    this.#folders = folders
    this.#known = known
  }

  /**
   * Begins to look. A live migration takes another source for what it is, and compares it; any other one is not what was
   * asked for.
   * @param onChange called once they are others
   * @throws GantryError STORE_UNREACHABLE when they are others than those that the work was begun with
   */
  static async watch(spec: MoveSpec, known: KnownRoots, onChange: (reason: unknown) => void): Promise<Roots> {
    const roots = new Roots(await foldersOf(spec), known)
    const ids = await roots.#look()
    if (known.ids !== undefined && spec.live !== undefined) known.ids = { ...known.ids, source: ids.source }
    roots.#require(ids)
    // A mount that hangs is asked once; until a look, work may be done in another folder.
    roots.#looks = new RegularLook(() => roots.check(), onChange)
    roots.#looks.start()
    return roots
  }

  /** @throws GantryError STORE_UNREACHABLE when they are others */
  async check(): Promise<void> {
    try {
      this.#require(await this.#look())
    } catch (error) {
      this.#known.isTorn = true
      throw error
    }
  }

  [Symbol.dispose](): void {
    void this.#looks?.stop()
  }

  /** Takes note of those that were not known yet. */
  #require(ids: RootIds): void {
    const known = this.#known.ids ?? ids
    for (const side of sides) {
      const [before, now] = [known[side], ids[side]]
      if (before === undefined || before === absent || now === undefined || now === before) continue
      const what = now === absent ? 'is not there' : 'is another one than the work was begun with'
      throw new GantryError(
        'STORE_UNREACHABLE',
        `${side}: its folder ${what}; mount or move back what belongs there, or stop and start the migration to take it as it is`,
      )
    }
    const latest = (side: Side) => (known[side] === absent ? ids[side] : (known[side] ?? ids[side]))
    this.#known.ids = { source: latest('source'), target: latest('target') }
  }

  async #look(): Promise<RootIds> {
    const [source, target] = await Promise.all(sides.map((side) => idOf(this.#folders[side])))
    return { source, target }
  }
}

/** Whether some of a scan was done elsewhere, be it that the source was not there: nobody knows which. A live one compares. */
export const isTorn = (
  { kind, seeded }: Pick<MigrationRecord, 'kind' | 'seeded'>,
  known: Readonly<KnownRoots>,
): boolean => known.isTorn && seeded && kind !== 'live'

/** The root of a migration in its source, and that of its target: the folder below is made when it is needed. */
async function foldersOf({ source, target, root }: MoveSpec): Promise<RootFolders> {
  const [from, to] = await Promise.all([localRoot(source), localRoot(target)])
  return { source: from?.absolute(Buffer.from(root)), target: to?.absolute(Buffer.alloc(0)) }
}

async function localRoot(spec: MoveSpec['source']): Promise<LocalRoot | undefined> {
  const driver = await openDriver(spec)
  try {
    const { localRoot } = driver.features
    return localRoot === undefined ? undefined : new LocalRoot(localRoot)
  } finally {
    await driver.close()
  }
}

/** Not by its device, which is another one after each mount. */
async function idOf(folder: Buffer | undefined): Promise<string | undefined> {
  if (folder === undefined || atOnce >= maxAtOnce) return undefined
  atOnce++
  try {
    const { ino, birthtimeNs } = await stat(folder, { bigint: true })
    return `${ino} ${birthtimeNs}`
  } catch (error) {
    return isErrno(error, 'ENOENT') || isErrno(error, 'ENOTDIR') ? absent : undefined
  } finally {
    atOnce--
  }
}
