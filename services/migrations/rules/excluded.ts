import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Rule } from '../../../subjects/migrations/model/rules.ts'
import type { StorePath } from '../../drivers/contract/driver.ts'
import { nameOf, pathFromText } from '../../drivers/paths/path-text.ts'
import { type RuleLists, Rules } from '../../engine/run/rules.ts'
import type { MigrationRecord } from '../lifecycle/record.ts'
import { matchingOf, maxMatching, ruledOut } from './explain.ts'

/** What is known of a path that failed: nothing else is judged by its size or time. */
interface FailedPath {
  readonly path: StorePath
  readonly isFolder: boolean
}

interface Compiled {
  readonly rules: Rules
  readonly matching: (path: Buffer) => number
}

/** Compiled rules that are kept: the longest list takes most of a second, and pages of failures are asked for one after another. */
const maxKept = 16
const kept = new LRUCache<string, Compiled>({ max: maxKept })

function compiled(lists: RuleLists): Compiled {
  const key = hash('sha256', JSON.stringify(lists), 'base64url')
  const its = kept.get(key) ?? { rules: new Rules(lists), matching: matchingOf(lists) }
  kept.set(key, its)
  return its
}

const isOfPath = ({ type }: Rule): boolean => type === 'regex' || type === 'paths'

/**
 * Says of paths whether the rules of a migration leave them out by now, as far as paths alone decide that; not of one that
 * alone would keep everybody waiting.
 */
export function exclusionsOf(
  { exclusions, inclusions }: RuleLists,
  { path: root }: Pick<MigrationRecord, 'path'>,
): (failed: FailedPath) => boolean {
  // What an inclusion of another type takes nobody knows here.
  const included = inclusions.every(isOfPath) ? inclusions : []
  const lists = { exclusions: exclusions.filter(isOfPath), inclusions: included }
  if (lists.exclusions.length + lists.inclusions.length === 0) return () => false
  const { rules, matching } = compiled(lists)
  const isRuledOut = ruledOut(rules, pathFromText(root))
  return ({ path, isFolder }) => {
    const type = isFolder ? 'folder' : 'file'
    return (
      matching(path) <= maxMatching &&
      isRuledOut(path, { name: nameOf(path), type, sizeBytes: 0 }) !== undefined
    )
  }
}
