import type { Unresolved } from '../../subjects/migrations/internal.ts'
import type { Migration } from '../../subjects/migrations/model/model.ts'
import { product } from '../../subjects/kit/names.ts'
import { plural } from '../../subjects/kit/plural.ts'
import type { Observation } from './judge.ts'

/**
 * What is to be told of migrations whose targets a verification has found to be different.
 * @param migrations those that there are: verifications of others may be kept
 */
export function differing(
  verifications: readonly Unresolved[],
  migrations: readonly Pick<Migration, 'internalId'>[],
): Observation[] {
  const there = new Set(migrations.map(({ internalId }) => internalId))
  return verifications
    .filter(({ internalId }) => there.has(internalId))
    .map(({ id, migrationId, level, totalDiscrepancies, unreadablePaths }) => {
      const found = [
        ...(totalDiscrepancies > 0 ? [plural(totalDiscrepancies, 'difference')] : []),
        ...(unreadablePaths > 0 ? [plural(unreadablePaths, 'unreadable path')] : []),
      ]
      const report = `"${product} verifications report ${id}"`
      const summary = `a verification of migration “${migrationId}” found ${found.join(' and ')}: see ${report}, and verify the same again with --level ${level} once they are resolved`
      return { object: migrationId, value: totalDiscrepancies + unreadablePaths, summary }
    })
}
