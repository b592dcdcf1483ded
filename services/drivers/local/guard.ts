import type { Stats } from 'node:fs'
import { GantryError, isGantryError } from '../../../subjects/kit/errors.ts'
import { AllowedView, folderId, idOf, type OwnFolder, type StoreBounds } from '../contract/bounds.ts'
import { StoreError } from '../contract/driver.ts'
import { hostFolder, resolved } from './host-folder.ts'
import { areasOf, isIn, type Location } from '../contract/location.ts'
import { kernelInterfaceIn, mountTable, parseMounts } from './mounts.ts'
import { contains } from './root.ts'
import { pathFromText, textFromPath } from '../paths/path-text.ts'

/**
 * A root that was found where it may be is looked at as a whole so often, while it stays the same folder: links above
 * it and mounts below it may change.
 */
const wholeEveryMs = 1_000

/** A look at a root that found nothing wrong. */
interface Seen {
  readonly id: string | undefined
  readonly real: Buffer
  readonly version: number
  readonly untilMs: number
}

/**
 * Keeps a local filesystem out of the folders of Gantry itself, and in those that administrators allow. Whoever reads the
 * configuration folder is an administrator, and whoever writes to the program folder decides what runs.
 */
export class LocalGuard {
  /** Where filesystems may be. */
  readonly bounds: StoreBounds
  readonly #root: Buffer
  readonly #field: string
  readonly #view: AllowedView
  readonly #ownIds: Set<string>
  /** What was found right at the last look at everything. */
  #seen: Seen | undefined

  /**
   * @param root absolute
   * @param field what it was given as, for messages
   */
  constructor(root: Buffer, bounds: StoreBounds, field = 'fsRoot') {
    this.#field = field
    this.#root = root
    this.bounds = bounds
    this.#view = new AllowedView(bounds)
    this.#ownIds = new Set(bounds.ownIds)
  }

  /** Throws GantryError NOT_ACCEPTED when the root is not where it may be, by what its path leads to at the moment. */
  requireRoot(): void {
    const { version } = this.#view
    const now = performance.now()
    const id = folderId(this.#root)
    if (this.#seen !== undefined && this.#seen.id === id && this.#seen.version === version) {
      if (now < this.#seen.untilMs) return
    }
    this.#seen = undefined
    const real = resolved(this.#root)
    this.#requireApart(real)
    this.#requireAllowed(real)
    this.#seen = { id, real, version, untilMs: now + wholeEveryMs }
  }

  /**
   * Checks the folder that is about to be used as the root: what the path leads to may have changed since `requireRoot`.
   * Throws StoreError `permission`.
   * @param real without symbolic links
   */
  requireRootAt(real: Buffer): void {
    if (this.#seen?.version === this.#view.version && this.#seen.real.equals(real)) return
    try {
      this.#requireApart(real)
      this.#requireAllowed(real)
    } catch (error) {
      throw isGantryError(error) ? new StoreError('permission', error.message, { cause: error }) : error
    }
  }

  /** Throws `permission` for a folder of Gantry itself, whatever led to it since the root was looked at. */
  requireEnterable(folder: Pick<Stats, 'dev' | 'ino'>): void {
    if (this.#ownIds.has(idOf(folder)))
      throw new StoreError('permission', 'this is a folder of Gantry itself; it is neither read nor written')
  }

  #requireApart(real: Buffer): void {
    const table = mountTable()
    const root = hostFolder(real, table)
    for (const own of this.bounds.ownFolders) {
      const path = resolved(Buffer.from(own.path))
      const id = folderId(path)
      if (id !== undefined) this.#ownIds.add(id)
      const relation = relationOf(root, hostFolder(path, table))
      if (relation !== undefined) throw this.#collides(relation, own)
    }
    const kernels = kernelInterfaceIn(parseMounts(table), real)
    if (kernels === undefined) return
    const { type, place } = kernels
    const isInside = contains(place, real)
    throw this.#refused(
      `${isInside ? 'is part' : 'contains a part'} of the kernel (${type} at ${textFromPath(place.subarray(1))})`,
      [isInside ? 'choose another folder' : 'choose a narrower root'],
    )
  }

  #requireAllowed(real: Buffer): void {
    const { roots } = this.#view.allowed
    if (roots === undefined || roots.some((root) => contains(realFolder(root), real))) return
    throw this.#refused(`is in none of the folders that filesystems may be in (${roots.join(', ')})`, [
      'choose a folder in one of them',
      'have an administrator add it to the setting filesystemRoots',
    ])
  }

  #collides(relation: string, { name, path, fix }: OwnFolder): GantryError {
    const narrower = relation === 'contains' ? 'choose a narrower root' : 'choose another folder'
    return this.#refused(`${relation} ${name} of Gantry (${path})`, [narrower, fix])
  }

  #refused(problem: string, fixes: readonly string[]): GantryError {
    const text = `${textFromPath(this.#root.subarray(1))} ${problem}: ${fixes.join(', or ')}`
    const details = [{ field: this.#field, problem: text }]
    return new GantryError('NOT_ACCEPTED', `${this.#field} ${text}`, { details })
  }
}

/** What a root is to a folder, over all that is mounted in either; undefined when they are apart. */
function relationOf(root: Location, folder: Location): 'is' | 'is in' | 'contains' | undefined {
  const pairs = areasOf(root).flatMap((a) => areasOf(folder).map((b) => [a, b] as const))
  if (isIn(root.own, folder.own) && isIn(folder.own, root.own)) return 'is'
  if (areasOf(folder).some((area) => isIn(area, root.own))) return 'is in'
  return pairs.some(([a, b]) => isIn(a, b) || isIn(b, a)) ? 'contains' : undefined
}

/** An allowed folder as it is at the moment; one that is not there allows what will be made under its own path. */
const realFolder = (root: string): Buffer =>
  resolved(Buffer.concat([Buffer.from('/'), pathFromText(root, 'filesystemRoots')]))
