import type { Entry, StorePath } from '../../drivers/driver.ts'
import { StoreError } from '../../drivers/driver.ts'
import { nameOf, parentOf } from '../../drivers/local-root.ts'
import { joinPath, textFromPath } from './paths.ts'
import type { Run } from './run.ts'

/**
 * Where a folder of the source goes to at the target, both as bytes in their stores. A migration has either none, and all
 * paths are the same at the target, or one for its root and one for each folder below it that goes elsewhere, the longest
 * `from` first: the first that fits a path leads it.
 */
export interface EngineMapping {
  readonly from: Uint8Array
  readonly to: Uint8Array
}

const slash = 0x2f

/** Whether a path is a folder or lies below it. */
const isWithin = (path: Uint8Array, folder: Uint8Array): boolean =>
  folder.length === 0 ||
  (path.length >= folder.length &&
    (path.length === folder.length || path[folder.length] === slash) &&
    Buffer.compare(path.subarray(0, folder.length), folder) === 0)

/** What is left of a path below a folder that it lies in. */
const below = (path: StorePath, folder: Uint8Array): StorePath =>
  path.subarray(folder.length === 0 || path.length === folder.length ? folder.length : folder.length + 1)

const mappingOf = (mappings: readonly EngineMapping[], path: StorePath): EngineMapping | undefined =>
  mappings.find(({ from }) => isWithin(path, from))

/** Where a path of the source is at the target. Every use of the target goes through this. */
export function targetPath({ spec: { mappings } }: Pick<Run, 'spec'>, path: StorePath): StorePath {
  if (mappings === undefined) return path
  const mapping = mappingOf(mappings, path)
  return mapping === undefined ? path : joinPath(Buffer.from(mapping.to), below(path, mapping.from))
}

/** Whether a folder of the source goes elsewhere than into that of its parent. */
export function isMapped(run: Pick<Run, 'spec'>, path: StorePath): boolean {
  if (run.spec.mappings === undefined) return false
  const there = targetPath(run, path)
  if (path.length === 0) return there.length > 0
  return !joinPath(targetPath(run, parentOf(path)), nameOf(path)).equals(there)
}

/** Whether something of another folder of the source goes to this path of the target, or below it. */
export const isTaken = ({ spec: { mappings } }: Pick<Run, 'spec'>, path: StorePath): boolean =>
  mappings?.some(({ to }) => isWithin(to, path)) ?? false

/**
 * Finds what of a folder cannot go where its mapping leads, because another mapping leads there; undefined when nothing of
 * it can collide. The path of the target belongs to the mapping with the longest `to`.
 */
export function collisionsIn(
  { spec: { mappings } }: Pick<Run, 'spec'>,
  folder: StorePath,
): ((entry: Pick<Entry, 'name' | 'type'>) => StoreError | undefined) | undefined {
  const own = mappings === undefined ? undefined : mappingOf(mappings, folder)
  if (mappings === undefined || own === undefined) return undefined
  const there = joinPath(Buffer.from(own.to), below(folder, own.from))
  const isNear = mappings.some((one) => {
    if (one === own) return false
    const covers = one.to.length >= own.to.length && isWithin(there, one.to)
    return covers || isWithin(one.to, there) || isWithin(one.from, folder)
  })
  if (!isNear) return undefined
  return ({ name, type }) => {
    const path = joinPath(folder, name)
    const mapping = mappingOf(mappings, path) ?? own
    if (type !== 'folder' && Buffer.compare(mapping.from, path) === 0) return notFolder(mapping)
    const goal = joinPath(Buffer.from(mapping.to), below(path, mapping.from))
    const owner = longest(mappings.filter(({ to }) => isWithin(goal, to)))
    if (owner !== undefined && owner !== mapping) return collision(goal, owner)
    const under =
      type === 'folder' ? undefined : mappings.find((one) => one !== mapping && isWithin(one.to, goal))
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
    `target: ${textFromPath(goal)} is taken: a path mapping leads ${textFromPath(Buffer.from(from))} of the source there`,
  )

const notFolder = ({ from }: EngineMapping) =>
  new StoreError(
    'unsupported',
    `source: ${textFromPath(Buffer.from(from))} has a path mapping, and is no folder; map the folder that it is in`,
  )
