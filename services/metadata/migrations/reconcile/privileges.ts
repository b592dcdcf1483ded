import type { Privilege } from '../../../../subjects/metadata/objects.ts'
import { StoreError } from '../../../drivers/contract/store-error.ts'
import type { PrivilegesOf } from '../../catalogs/contract/catalog.ts'
import { differencesIn } from './differences.ts'
import { digestOf, type Extras, type Failure, without } from './objects.ts'
import { carryRole, differenceOf, messageOf, type RolesBrought } from './roles.ts'
import type { Sides } from './sides.ts'

/** What an object is to a migration that looks at its privileges. */
export interface Standing {
  /** Whether this migration made it. */
  readonly isOwn: boolean
  /** Whether it is not at the target yet, as nothing is written. */
  readonly isToBeMade: boolean
}

const nothing: Extras = { differences: [], left: [] }

/**
 * Makes the privileges of a database or table those of the source, where they are brought; roles that have some are made
 * with their members. What another program made keeps its own, unless all is overwritten. Throws StoreError `unsupported`
 * where the source has some that the target has no word for.
 */
export async function carryPrivileges(
  sides: Sides,
  object: PrivilegesOf,
  { isOwn, isToBeMade }: Standing,
  signal: AbortSignal,
): Promise<Extras> {
  if (sides.privileges === 'none' || sides.source.privileges === undefined) return nothing
  const its = await sides.source.privileges.of(object, signal)
  const { privileges: writer } = sides.writer
  if (writer === undefined || sides.target.privileges === undefined) {
    if (its.length === 0) return nothing
    const what = object.name === undefined ? 'database' : 'table'
    throw new StoreError(
      'unsupported',
      `the target does not support privileges, and ${its.length} were not migrated; the ${what} itself was migrated`,
    )
  }
  const { held = (one) => one } = writer
  const there = isToBeMade ? [] : await sides.target.privileges.of(object, signal)
  const wanted = distinct(its.map(held))
  const missing = without(wanted, there.map(held))
  const isWanted = new Set(wanted.map(digestOf))
  const surplus = there.filter((one) => !isWanted.has(digestOf(held(one))))
  const differences = differencesIn('privileges', missing, surplus)
  if (!isOwn && sides.privileges === 'own')
    return differences.length === 0
      ? nothing
      : { differences: [], left: differences, note: notChanged(missing.length, surplus.length) }
  const roles: RolesBrought = { made: [], left: new Set() }
  for (const { principal } of wanted)
    if (principal.type === 'role') await carryRole(sides, principal.name, roles, signal)
  // One that is the same but for its option is to be revoked before it can be granted anew.
  if (surplus.length > 0) await writer.revoke(object, surplus, signal)
  if (missing.length > 0) await writer.grant(object, missing, signal)
  return {
    differences: [...roles.made, ...differences],
    left: [...roles.left].map(differenceOf),
    ...(roles.left.size > 0 && { note: { failureClass: 'permission', message: messageOf(roles.left) } }),
  }
}

const notChanged = (missing: number, surplus: number): Failure => ({
  failureClass: 'permission',
  message: `another program created it at the target, and its privileges differ (${missing} missing, ${surplus} only there): they are not changed unless onConflict is overwrite, or both become equal`,
})

/** The same privilege may have been granted by several. */
const distinct = (some: readonly Privilege[]): Privilege[] => [
  ...new Map(some.map((one) => [digestOf(one), one])).values(),
]
