import type { Migration } from '../../subjects/migrations/model/model.ts'
import type { Verification } from '../../subjects/migrations/verifications.ts'
import { product } from '../../subjects/kit/names.ts'
import { plural } from '../../subjects/kit/plural.ts'
import { shellArgument } from '../../subjects/kit/shell-word.ts'
import type { Observation } from './judge.ts'

type Verified = Pick<Verification, 'migrationId' | 'totalDiscrepancies' | 'unreadablePaths'>

/**
 * What is to be told of migrations whose last verification did not find the target equal to the source: until another one
 * does, nobody knows better.
 * @param verifications those that are complete, newest first
 * @param migrations those that there are: verifications of others may be kept
 */
export function differing(
  verifications: readonly Verified[],
  migrations: readonly Pick<Migration, 'migrationId'>[],
): Observation[] {
  const there = new Set(migrations.map(({ migrationId }) => migrationId))
  const latest = new Map<string, Verified>()
  for (const one of verifications)
    if (there.has(one.migrationId) && !latest.has(one.migrationId)) latest.set(one.migrationId, one)
  return [...latest.values()].flatMap((one) => {
    const { migrationId, totalDiscrepancies, unreadablePaths } = one
    const found = [
      ...(totalDiscrepancies > 0 ? [plural(totalDiscrepancies, 'difference')] : []),
      ...(unreadablePaths > 0 ? [plural(unreadablePaths, 'unreadable path')] : []),
    ]
    if (found.length === 0) return []
    const report = `"${product} verifications report ${shellArgument(migrationId)}"`
    const summary = `the last verification of migration “${migrationId}” found ${found.join(' and ')}: see ${report}, and verify it again once they are resolved`
    return [{ object: migrationId, value: totalDiscrepancies + unreadablePaths, summary }]
  })
}
