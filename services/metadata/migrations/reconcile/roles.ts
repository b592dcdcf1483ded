import type { Principal } from '../../../../subjects/metadata/objects.ts'
import { type Difference, valueText } from './differences.ts'
import { type RoleMember, without } from './objects.ts'
import type { Sides } from './sides.ts'

/** What was done about roles. */
export interface RolesBrought {
  /** Roles that were made, and members that they were given. */
  readonly made: Difference[]
  /** What was left as it is, of roles that were at the target before. */
  readonly left: Set<RoleMember>
}

/** Each metastore has these, and makes them by itself: who has them is for those who run it to say. */
const builtInRoles: ReadonlySet<string> = new Set(['admin', 'public'])

/**
 * Makes a role at the target where there is none of its name, and gives it to those who have it at the source. One that is
 * there already is given to nobody: a role counts for all that its catalog has, and so beyond what the migration is about.
 */
export async function carryRole(
  sides: Sides,
  role: string,
  brought: RolesBrought,
  signal: AbortSignal,
): Promise<void> {
  const { roles } = sides.writer.privileges ?? {}
  const { privileges } = sides.target
  if (roles === undefined || privileges?.members === undefined) return
  if (builtInRoles.has(role.toLowerCase())) return
  const seen = sides.roles.get(role)
  if (seen !== undefined) {
    for (const one of seen) brought.left.add(one)
    return
  }
  const wanted = await sides.source.privileges?.members?.(role, signal)
  const there = await privileges.members(role, signal)
  if (there !== undefined) {
    const left = wanted === undefined ? [] : membersIn(role, wanted, there)
    sides.roles.set(role, left)
    for (const one of left) brought.left.add(one)
    return
  }
  // Before its members, of which one may have it as member in turn.
  sides.roles.set(role, [])
  try {
    await roles.create(role, signal)
    brought.made.push({ field: 'roles', wanted: role })
    for (const member of wanted ?? []) {
      if (member.type === 'role') await carryRole(sides, member.name, brought, signal)
      await roles.add(role, member, signal)
      brought.made.push({ field: fieldOf(role), wanted: valueText(member) })
    }
  } catch (error) {
    // What it has by now is looked at again.
    sides.roles.delete(role)
    throw error
  }
}

const membersIn = (role: string, wanted: readonly Principal[], there: readonly Principal[]): RoleMember[] => [
  ...without(wanted, there).map((member) => ({ role, member, isMissing: true })),
  ...without(there, wanted).map((member) => ({ role, member, isMissing: false })),
]

const fieldOf = (role: string): string => `roles.${role}.members`

/** As it stands among the differences of an object. */
export const differenceOf = ({ role, member, isMissing }: RoleMember): Difference => ({
  field: fieldOf(role),
  [isMissing ? 'wanted' : 'found']: valueText(member),
})

/** Members that are named in a message: it stands in each line of a report. */
const maxNamed = 10

/** What somebody has to see to at the target. */
export function messageOf(members: Iterable<RoleMember>): string {
  const all = [...members]
  const which = all
    .slice(0, maxNamed)
    .map(
      ({ role, member: { type, name }, isMissing }) =>
        `${role} ${isMissing ? 'lacks' : 'also has'} ${type} ${name}`,
    )
  const more = all.length > maxNamed ? ` and ${all.length - maxNamed} more` : ''
  return `members of roles that were at the target before differ: ${which.join(', ')}${more}; the migration does not change them: add or remove them at the target`
}
