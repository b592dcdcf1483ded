import { StoreError, type Entry, type StorePath } from '../../drivers/contract/driver.ts'
import { nameOf, parentOf } from '../../drivers/paths/path-text.ts'
import { isWithin, joinPath, relativePath, textFromPath } from '../items/paths.ts'

/**
 * Where a folder of the source goes to at the target, both as bytes in their stores. A migration has either none, and all
 * paths are the same at the target, or one for its root and one for each folder below it that goes elsewhere, the longest
 * `from` first: the first that fits a path leads it.
 */
export interface EngineMapping {
  readonly from: StorePath
  readonly to: StorePath
}

/** A mapping as it comes from another thread: structured cloning makes plain bytes of buffers. */
export interface SentMapping {
  readonly from: Uint8Array
  readonly to: Uint8Array
}

interface Mapped {
  readonly spec: { readonly mappings?: readonly EngineMapping[] | undefined }
}

const mappingOf = (mappings: readonly EngineMapping[], path: StorePath): EngineMapping | undefined =>
  mappings.find(({ from }) => isWithin(from, path))

const through = ({ from, to }: EngineMapping, path: StorePath): StorePath =>
  joinPath(to, relativePath(from, path))

/** Where a path of the source is at the target. Every use of the target goes through this. */
export function targetPath({ spec: { mappings } }: Mapped, path: StorePath): StorePath {
  const mapping = mappings === undefined ? undefined : mappingOf(mappings, path)
  return mapping === undefined ? path : through(mapping, path)
}

/** Whether a folder of the source goes elsewhere than into that of its parent. */
export function isMapped(run: Mapped, path: StorePath): boolean {
  if (run.spec.mappings === undefined) return false
  const there = targetPath(run, path)
  if (path.length === 0) return there.length > 0
  return !joinPath(targetPath(run, parentOf(path)), nameOf(path)).equals(there)
}

/**
 * Whether what a path of the target has is not its origin's: `here`, or only `below` it, where a mapping of another folder
 * leads. A path belongs to the mapping with the longest `to`.
 * @param origin where it would come from, in the source
 */
export function takenAt(run: Mapped, path: StorePath, origin: StorePath): 'here' | 'below' | undefined {
  const { mappings } = run.spec
  if (mappings === undefined) return undefined
  // A folder that goes elsewhere leaves its place to whatever the target has there, also when the folder is gone.
  if (!targetPath(run, origin).equals(path)) return 'here'
  const taker = longest(mappings.filter(({ to }) => isWithin(to, path)))
  if (taker !== undefined) {
    const from = joinPath(taker.from, relativePath(taker.to, path))
    if (!from.equals(origin) && mappingOf(mappings, from) === taker) return 'here'
  }
  return mappings.some(({ to }) => isWithin(path, to) && !path.equals(to)) ? 'below' : undefined
}

/** The mappings of a path of the source and of folders below it, which do not go into that of their parent. */
export const mappedIn = (run: Mapped, path: StorePath): EngineMapping[] =>
  (run.spec.mappings ?? []).filter(({ from }) => isWithin(path, from) && isMapped(run, from))

/**
 * Finds what of a folder cannot go where its mapping leads, because another mapping leads there; undefined when nothing of
 * it can collide. The path of the target belongs to the mapping with the longest `to`.
 */
export function collisionsIn(
  { spec: { mappings } }: Mapped,
  folder: StorePath,
): ((entry: Pick<Entry, 'name' | 'type'>) => StoreError | undefined) | undefined {
  const own = mappings === undefined ? undefined : mappingOf(mappings, folder)
  if (mappings === undefined || own === undefined) return undefined
  const there = through(own, folder)
  const isNear = mappings.some((one) => {
    if (one === own) return false
    const covers = one.to.length >= own.to.length && isWithin(one.to, there)
    return covers || isWithin(there, one.to) || isWithin(folder, one.from)
  })
  if (!isNear) return undefined
  return ({ name, type }) => {
    const path = joinPath(folder, name)
    const mapping = mappingOf(mappings, path) ?? own
    if (type !== 'folder' && mapping.from.equals(path)) return notFolder(path)
    const goal = through(mapping, path)
    const taker = longest(mappings.filter(({ to }) => isWithin(to, goal)))
    if (taker !== undefined && taker !== mapping) return collision(goal, taker)
    const under =
      type === 'folder' ? undefined : mappings.find((one) => one !== mapping && isWithin(goal, one.to))
    return under === undefined ? undefined : collision(goal, under)
  }
}

const longest = (mappings: readonly EngineMapping[]): EngineMapping | undefined =>
  mappings.reduce<EngineMapping | undefined>(
    (best, one) => (best === undefined || one.to.length > best.to.length ? one : best),
    undefined,
  )

const collision = (goal: StorePath, { from }: EngineMapping) =>
  new StoreError(
    'collision',
    `${textFromPath(goal)} is taken: a path mapping leads ${textFromPath(from)} of the source there`,
    { side: 'target' },
  )

const notFolder = (path: StorePath) =>
  new StoreError(
    'unsupported',
    `${textFromPath(path)} has a path mapping, and is no folder; map the folder that it is in`,
    { side: 'source' },
  )
