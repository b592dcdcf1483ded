import type { PathMapping } from '../../../../subjects/migrations/model/path-mapping-model.ts'
import { pathFromText } from '../../../drivers/paths/path-text.ts'
import type { EngineMapping } from '../../../engine/run/mappings.ts'
import { isWithin, joinPath, relativePath } from '../../../engine/items/paths.ts'
import { engineMappings, type Moved, regionsOf } from './frozen.ts'

/** Whether two folders lead to places of which neither lies in the other, or to the same from the same. */
function agree(a: EngineMapping, b: EngineMapping): boolean {
  const [outer, inner] = a.to.length <= b.to.length ? [a, b] : [b, a]
  if (!isWithin(outer.to, inner.to)) return true
  return joinPath(outer.from, relativePath(outer.to, inner.to)).equals(inner.from)
}

/**
 * Whether two migrations would write to the same place from different ones. Without mappings they may: then whoever made
 * them has said so with their paths.
 */
export function collide(one: Moved, other: Moved): boolean {
  if (one.target !== other.target) return false
  if (engineMappings(one) === undefined && engineMappings(other) === undefined) return false
  const [ours, theirs] = [regionsOf(one), regionsOf(other)]
  const isSameSource = one.source === other.source
  const meets = (regions: readonly EngineMapping[], region: EngineMapping) => {
    const taker = regions
      .filter(({ to }) => isWithin(to, region.to))
      .toSorted((a, b) => b.to.length - a.to.length)[0]
    return taker !== undefined && !(isSameSource && agree(taker, region))
  }
  return ours.some((region) => meets(theirs, region)) || theirs.some((region) => meets(ours, region))
}

/** A mapping of the same folder, or one that leads others to the same place; undefined when there is none. */
export function overlapping(all: readonly PathMapping[], asked: PathMapping): PathMapping | undefined {
  const from = pathFromText(asked.sourcePath)
  const to = pathFromText(asked.targetPath)
  return all.find((other) => {
    if (other.targetFileSystem !== asked.targetFileSystem) return false
    const isSameSource = other.sourceFileSystem === asked.sourceFileSystem
    const theirs = { from: pathFromText(other.sourcePath), to: pathFromText(other.targetPath) }
    if (isSameSource && theirs.from.equals(from)) return true
    const isNested = isWithin(theirs.to, to) || isWithin(to, theirs.to)
    return isNested && !(isSameSource && agree(theirs, { from, to }))
  })
}
