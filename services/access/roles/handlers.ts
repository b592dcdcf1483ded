import type { AdminRules } from '../../../config/platform.ts'
import { isBootstrap } from './bootstrap.ts'
import type { assignments as assignmentContracts } from '../../../subjects/access/assignments.ts'
import type { Caller, Handlers } from '../../../subjects/kit/contract.ts'
import { GantryError } from '../../../subjects/kit/errors.ts'
import type { Role, roles as roleContracts } from '../../../subjects/access/roles.ts'
import { maxPageLength } from '../../../subjects/kit/schemas.ts'
import { builtInRoles, isBuiltIn } from './built-in-roles.ts'
import { knownRole, roleNamed } from './role-named.ts'
import { callersKey, refuseRole } from '../callers.ts'
import { ownerLimitsOf } from '../keys/owner-limits.ts'
import { type AccessState, readSettings } from '../state.ts'

type RoleState = Pick<AccessState, 'keys' | 'roles' | 'assignments' | 'users' | 'settings'>

/** Resolves to what refuses the roles that are more than the key of a caller. */
async function judgeFor(state: RoleState, caller: Caller): Promise<(role: Role) => void> {
  const key = await callersKey(state.keys, caller)
  const [own, settings] = await Promise.all([ownerLimitsOf(state, key), readSettings(state)])
  return (role) => refuseRole(key, own, role, settings)
}

/** Roles: named sets of rules. */
export function roleHandlers(state: RoleState): Handlers<typeof roleContracts> {
  const { keys, roles } = state
  const refuseBuiltIn = (name: string): void => {
    if (isBuiltIn(name))
      throw new GantryError(
        'NOT_ALLOWED_IN_STATE',
        `the role ${name} is built in and cannot be changed; create another role`,
      )
  }
  return {
    own: async (_, call) => {
      const key = await callersKey(keys, call.caller)
      const { capabilities: permissions, visible_extensions } = key
      return { roles: key.roles, permissions, visible_extensions }
    },
    list: async ({ limit = maxPageLength, after }) => {
      const own = await roles.list({ after, limit })
      return [...builtInRoles, ...own]
        .toSorted((a, b) => (a.name < b.name ? -1 : 1))
        .filter(({ name }) => after === undefined || name > after)
        .slice(0, limit)
        .map((role) => ({ ...role, builtIn: isBuiltIn(role.name) }))
    },
    put: async (role, call) => {
      refuseBuiltIn(role.name)
      const refuseWider = await judgeFor(state, call.caller)
      const replaced = await roles.get(role.name)
      for (const one of [role, ...(replaced === undefined ? [] : [replaced])]) refuseWider(one)
      await roles.put(role.name, role)
      return role
    },
    delete: async ({ name }, call) => {
      refuseBuiltIn(name)
      // A narrow key must not take away what it could not give.
      await roles.delete(name, await judgeFor(state, call.caller))
      return {}
    },
  }
}

/** Which roles the members of a group have from their next sign-in on. */
export function assignmentHandlers(
  state: RoleState,
  rules: AdminRules,
): Handlers<typeof assignmentContracts> {
  const { roles, assignments } = state
  const known = (name: string) => knownRole(roles, name)
  const role = (name: string) => roleNamed(roles, name)
  /** What a group has now, of the roles that are still there: a narrow key must not take away what it could not give. */
  const presentRoles = async (group: string): Promise<Role[]> => {
    const names = (await assignments.get(group))?.roles ?? []
    const found = await Promise.all(names.map(known))
    return found.filter((one) => one !== undefined)
  }
  return {
    list: (page) => assignments.list(page),
    configured: () => {
      const { adminSubject, adminGroup, defaultRole } = rules
      return {
        everybody: isBootstrap(rules),
        ...(adminSubject === undefined ? {} : { adminSubject }),
        ...(adminGroup === undefined ? {} : { adminGroup }),
        ...(defaultRole === undefined ? {} : { defaultRole }),
      }
    },
    put: async (assignment, call) => {
      const refuseWider = await judgeFor(state, call.caller)
      const given = await Promise.all(assignment.roles.map(role))
      for (const one of [...given, ...(await presentRoles(assignment.group))]) refuseWider(one)
      await assignments.put(assignment.group, assignment)
      return assignment
    },
    delete: async ({ group }, call) => {
      const refuseWider = await judgeFor(state, call.caller)
      for (const one of await presentRoles(group)) refuseWider(one)
      await assignments.delete(group)
      return {}
    },
  }
}
