import type { PathMapping } from '../../../../subjects/migrations/model/path-mapping-model.ts'
import { pathFromText, textFromPath } from '../../../drivers/paths/path-text.ts'
import type { EngineMapping } from '../../../engine/run/mappings.ts'
import { isWithin, joinPath, relativePath } from '../../../engine/items/paths.ts'
import type { MigrationRecord } from '../../lifecycle/record.ts'

/** What a migration is about, as far as path mappings go. */
export type Moved = Pick<MigrationRecord, 'path' | 'source' | 'target' | 'pathMappings'>

const longestFirst = (a: { from: Buffer }, b: { from: Buffer }) => b.from.length - a.from.length

const bytesOf = ({ sourcePath, targetPath }: PathMapping): EngineMapping => ({
  from: pathFromText(sourcePath),
  to: pathFromText(targetPath),
})

/**
 * Those of all mappings that a migration is led by: the one of its path or of the nearest folder above it, and those of
 * folders in it.
 */
export function applicable(
  all: readonly PathMapping[],
  { path, source, target }: Pick<Moved, 'path' | 'source' | 'target'>,
): PathMapping[] {
  const root = pathFromText(path)
  const known = all
    .filter(
      ({ sourceFileSystem, targetFileSystem }) => sourceFileSystem === source && targetFileSystem === target,
    )
    .map((mapping) => ({ mapping, from: pathFromText(mapping.sourcePath) }))
    .toSorted(longestFirst)
  const above = known.find(({ from }) => isWithin(from, root))
  const inside = known.filter(({ from }) => isWithin(root, from) && from.length > root.length)
  return [...inside, ...(above === undefined ? [] : [above])].map(({ mapping }) => mapping)
}

/** What leads the migration, its root last; without a mapping the root alone, to the same place. */
export function regionsOf({ path, pathMappings = [] }: Moved): EngineMapping[] {
  const root = pathFromText(path)
  const all = pathMappings.map(bytesOf).toSorted(longestFirst)
  const above = all.find(({ from }) => isWithin(from, root))
  const to = above === undefined ? root : joinPath(above.to, relativePath(above.from, root))
  return [...all.filter(({ from }) => from.length > root.length), { from: root, to }]
}

/** The mappings of a migration for the engine; undefined when every path is the same at the target. */
export function engineMappings(record: Moved): EngineMapping[] | undefined {
  // Most have none, and a new migration is held against thousands.
  if (record.pathMappings === undefined || record.pathMappings.length === 0) return undefined
  const regions = regionsOf(record)
  const isPlain = regions.every(({ from, to }) => from.equals(to))
  return isPlain ? undefined : regions
}

/** The mapping that leads a path, if one does. */
export function leading({ pathMappings = [] }: Moved, path: Buffer): PathMapping | undefined {
  return pathMappings
    .map((mapping) => ({ mapping, from: pathFromText(mapping.sourcePath) }))
    .toSorted(longestFirst)
    .find(({ from }) => isWithin(from, path))?.mapping
}

/** Folders of the target that a migration writes to. */
export const targetsOf = (record: Moved): string[] => regionsOf(record).map(({ to }) => textFromPath(to))
