import type { Rule } from '../../../subjects/migrations/model/rules.ts'
import type { StorePath } from '../../drivers/contract/driver.ts'
import { nameOf, pathFromText } from '../../drivers/paths/path-text.ts'
import type { RuleLists } from '../../engine/run/rules.ts'
import type { MigrationRecord } from '../lifecycle/record.ts'
import { matchingOf, maxMatching, ruledOut } from './explain.ts'

/** What is known of a path that failed: nothing else is judged by its size or time. */
interface FailedPath {
  readonly path: StorePath
  readonly isFolder: boolean
}

const isOfPath = ({ type }: Rule): boolean => type === 'regex' || type === 'paths'

/**
 * Says of paths whether the rules of a migration leave them out by now, as far as paths alone decide that. Of a long list with
 * costly patterns, only of the first ones: it is done here, where everybody waits meanwhile.
 */
export function exclusionsOf(
  { exclusions, inclusions }: RuleLists,
  { path: root }: Pick<MigrationRecord, 'path'>,
): (failed: FailedPath) => boolean {
  // What an inclusion of another type takes nobody knows here.
  const included = inclusions.every(isOfPath) ? inclusions : []
  const lists = { exclusions: exclusions.filter(isOfPath), inclusions: included }
  if (lists.exclusions.length + lists.inclusions.length === 0) return () => false
  const isRuledOut = ruledOut(lists, pathFromText(root))
  const matching = matchingOf(lists)
  let left = maxMatching
  return ({ path, isFolder }) => {
    if (left > 0) left -= matching(path)
    if (left < 0) return false
    const type = isFolder ? 'folder' : 'file'
    return isRuledOut(path, { name: nameOf(path), type, sizeBytes: 0 }) !== undefined
  }
}
