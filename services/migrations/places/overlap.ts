import { notAccepted } from '../../../subjects/kit/errors.ts'
import { holds, type Location } from '../../drivers/contract/location.ts'
import type { PlaceDependencies } from './places.ts'
import type { MigrationRecord } from '../lifecycle/record.ts'

/** Whether one of two places is the other, or in it. */
export const areNested = (one: Location, other: Location): boolean => relation(one, other) !== undefined

/** What the first of two places is to the other, in words; undefined when they are apart. */
function relation(
  one: Location,
  other: Location,
): 'is the same folder as' | 'is inside' | 'contains' | undefined {
  const [isIn, contains] = [holds(other, one), holds(one, other)]
  if (isIn && contains) return 'is the same folder as'
  return isIn ? 'is inside' : contains ? 'contains' : undefined
}

/**
 * A migration into its own source would find what it has written, and copy that again and again.
 * @param asked `targets`: the folders that it writes to
 * @throws GantryError NOT_ACCEPTED when one of the two folders lies in the other
 */
export async function requireApart(
  { locate }: Pick<PlaceDependencies, 'locate'>,
  asked: Pick<MigrationRecord, 'path' | 'source' | 'target'> & { readonly targets: readonly string[] },
): Promise<void> {
  const { path, source, target, targets } = asked
  const [from, ...folders] = await Promise.all([
    locate(source, path),
    ...targets.map((there) => locate(target, there)),
  ])
  for (const [index, there] of targets.entries()) {
    const found = relation(folders[index]!, from)
    if (found === undefined) continue
    const problem = `must not overlap with the source: ${there} in ${target} ${found} ${path} in ${source}`
    throw notAccepted('target', problem)
  }
}
