import type { Collection } from '../../broker/collection.ts'
import type { TokenLocation } from '../../broker/token.ts'
import type { keys as keyContracts, Role, roles as roleContracts } from '../../subjects/access.ts'
import type { Caller, Handlers } from '../../subjects/contract.ts'
import { GantryError } from '../../subjects/errors.ts'
import { maxPageLength } from '../../subjects/schemas.ts'
import { builtInRoles, isBuiltIn } from './built-in-roles.ts'
import { callersKey, isAdministrator, refuseExcess } from './callers.ts'
import { issueKey, type KeyCollection, publicKey, type StoredKey } from './keys.ts'

export { rbacHandlers } from './check.ts'

export interface AccessDependencies {
  readonly keys: KeyCollection
  readonly roles: Collection<typeof Role>
  readonly salt: string
  readonly location: TokenLocation
  /** Drops every live connection of a key, on every node; resolves when they are gone. */
  readonly kick: (keyId: string) => Promise<void>
  /** The same once the reply to the request in hand is with its caller. */
  readonly kickAfterReply: (keyId: string) => void
}

const dayMs = 24 * 3600 * 1000

/** Keys: made, shown, revoked. A user sees its own, an administrator all. */
export function keyHandlers({
  keys,
  salt,
  location,
  kick,
  kickAfterReply,
}: AccessDependencies): Handlers<typeof keyContracts> {
  /** The key, if the caller may know of it; what it may not see does not exist for it. */
  const visible = async (id: string, caller: Caller): Promise<StoredKey> => {
    const [key, own] = await Promise.all([keys.get(id), callersKey(keys, caller)])
    if (key === undefined || !(own.owner === key.owner || isAdministrator(own))) {
      throw new GantryError('NOT_FOUND', `there is no key ${id}`)
    }
    return key
  }
  return {
    create: async ({ name, notes = '', capabilities, expiresInDays }, call) => {
      const creator = await callersKey(keys, call.caller)
      refuseExcess(creator.capabilities, capabilities)
      const { key, token } = await issueKey(
        keys,
        { salt, location },
        {
          name,
          notes,
          capabilities,
          owner: creator.owner,
          kind: 'key',
          roles: creator.roles,
          ...(expiresInDays === undefined
            ? {}
            : { expires: new Date(Date.now() + expiresInDays * dayMs).toISOString() }),
        },
      )
      return { ...publicKey(key), token }
    },
    list: async ({ limit = maxPageLength, after }, call) => {
      const own = await callersKey(keys, call.caller)
      // The page is cut from those that the caller may see.
      const all = await keys.list({ limit: Infinity, ...(after === undefined ? {} : { after }) })
      return all
        .filter((key) => key.owner === own.owner || isAdministrator(own))
        .slice(0, limit)
        .map(publicKey)
    },
    get: async ({ id }, call) => publicKey(await visible(id, call.caller)),
    revoke: async ({ id }, call) => {
      const [asked, own] = await Promise.all([visible(id, call.caller), callersKey(keys, call.caller)])
      // A narrow key must not take away a wider one of its owner.
      if (own.id !== id) refuseExcess(own.capabilities, asked.capabilities)
      const key = await keys.update(id, (current) =>
        current.revoked === undefined ? { ...current, revoked: new Date().toISOString() } : undefined,
      )
      // Who revokes the own key would not get the reply.
      if (call.caller.kind === 'key' && call.caller.keyId === id) kickAfterReply(id)
      else await kick(id)
      return publicKey(key)
    },
    self: async (_, call) => publicKey(await callersKey(keys, call.caller)),
  }
}

/** Roles: named sets of rules. */
export function roleHandlers({ keys, roles }: AccessDependencies): Handlers<typeof roleContracts> {
  const refuseBuiltIn = (name: string): void => {
    if (isBuiltIn(name))
      throw new GantryError('NOT_ALLOWED_IN_STATE', `the role ${name} is built in; make another`)
  }
  return {
    own: async (_, call) => {
      const key = await callersKey(keys, call.caller)
      return { roles: key.roles, permissions: key.capabilities }
    },
    list: async ({ limit = maxPageLength, after }) => {
      const own = await roles.list({ limit: Infinity })
      return [...builtInRoles, ...own]
        .toSorted((a, b) => (a.name < b.name ? -1 : 1))
        .filter(({ name }) => after === undefined || name > after)
        .slice(0, limit)
    },
    put: async (role, call) => {
      refuseBuiltIn(role.name)
      const creator = await callersKey(keys, call.caller)
      refuseExcess(creator.capabilities, { pub: role.pub, sub: role.sub })
      try {
        await roles.create(role.name, role)
      } catch (error) {
        if (!(error instanceof GantryError && error.code === 'ALREADY_EXISTS')) throw error
        await roles.update(role.name, () => role)
      }
      return role
    },
    delete: async ({ name }) => {
      refuseBuiltIn(name)
      await roles.delete(name)
      return {}
    },
  }
}
