import { GantryError } from '../../../subjects/kit/errors.ts'
import type { Role } from '../../../subjects/access/roles.ts'
import type { AccessState } from '../state.ts'
import { builtInRoles } from './built-in-roles.ts'

/** A role, built in or not; undefined where there is none of this name. */
export const knownRole = async (roles: AccessState['roles'], name: string): Promise<Role | undefined> =>
  builtInRoles.find((one) => one.name === name) ?? (await roles.get(name))

/** The same. @throws GantryError NOT_FOUND */
export async function roleNamed(roles: AccessState['roles'], name: string): Promise<Role> {
  const found = await knownRole(roles, name)
  if (found === undefined) throw new GantryError('NOT_FOUND', `there is no role ${name}`)
  return found
}
