import type { assignments as assignmentContracts } from '../../subjects/assignments.ts'
import type { Handlers } from '../../subjects/contract.ts'
import { GantryError } from '../../subjects/errors.ts'
import type { Role, roles as roleContracts } from '../../subjects/roles.ts'
import { maxPageLength } from '../../subjects/schemas.ts'
import { builtInRoles, isBuiltIn } from './built-in-roles.ts'
import { callersKey, refuseExcess } from './callers.ts'
import type { AccessState } from './state.ts'

type RoleState = Pick<AccessState, 'keys' | 'roles' | 'assignments'>

/** Roles: named sets of rules. */
export function roleHandlers({ keys, roles }: RoleState): Handlers<typeof roleContracts> {
  const refuseBuiltIn = (name: string): void => {
    if (isBuiltIn(name))
      throw new GantryError('NOT_ALLOWED_IN_STATE', `the role ${name} is built in; make another`)
  }
  return {
    own: async (_, call) => {
      const key = await callersKey(keys, call.caller)
      const { capabilities: permissions, visible_extensions } = key
      return { roles: key.roles, permissions, visible_extensions }
    },
    list: async ({ limit = maxPageLength, after }) => {
      const own = await roles.all()
      return [...builtInRoles, ...own]
        .toSorted((a, b) => (a.name < b.name ? -1 : 1))
        .filter(({ name }) => after === undefined || name > after)
        .slice(0, limit)
    },
    put: async (role, call) => {
      refuseBuiltIn(role.name)
      const creator = await callersKey(keys, call.caller)
      const replaced = await roles.get(role.name)
      for (const { pub, sub } of [role, ...(replaced === undefined ? [] : [replaced])])
        refuseExcess(creator.capabilities, { pub, sub })
      await roles.put(role.name, role)
      return role
    },
    delete: async ({ name }, call) => {
      refuseBuiltIn(name)
      const { capabilities } = await callersKey(keys, call.caller)
      // A narrow key must not take away what it could not give.
      await roles.delete(name, ({ pub, sub }) => refuseExcess(capabilities, { pub, sub }))
      return {}
    },
  }
}

/** Which roles the members of a group have from their next sign-in on. */
export function assignmentHandlers({
  keys,
  roles,
  assignments,
}: RoleState): Handlers<typeof assignmentContracts> {
  const role = async (name: string): Promise<Role> => {
    const found = builtInRoles.find((one) => one.name === name) ?? (await roles.get(name))
    if (found === undefined) throw new GantryError('NOT_FOUND', `there is no role ${name}`)
    return found
  }
  return {
    list: ({ limit = maxPageLength, after }) =>
      assignments.list({ limit, ...(after === undefined ? {} : { after }) }),
    put: async (assignment, call) => {
      const creator = await callersKey(keys, call.caller)
      for (const { pub, sub } of await Promise.all(assignment.roles.map(role))) {
        refuseExcess(creator.capabilities, { pub, sub })
      }
      await assignments.put(assignment.group, assignment)
      return assignment
    },
    delete: async ({ group }) => {
      await assignments.delete(group)
      return {}
    },
  }
}
