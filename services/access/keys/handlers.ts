import type { agentKeys } from '../../../subjects/migrations/agents.ts'
import type { Call, Caller, Contract, Handlers } from '../../../subjects/kit/contract.ts'
import { GantryError, invalid, notAccepted } from '../../../subjects/kit/errors.ts'
import {
  type Capabilities,
  defaultOverlapMinutes,
  type keys as keyContracts,
} from '../../../subjects/access/keys.ts'
import { product } from '../../../subjects/kit/names.ts'
import { maxPageLength } from '../../../subjects/kit/schemas.ts'
import { roleNamed } from '../roles/role-named.ts'
import { viewer } from '../roles/built-in-roles.ts'
import { agentCapabilities } from './agent.ts'
import { judge, remedies } from '../authorise.ts'
import {
  callersKey,
  isAdministrator,
  keyExceeds,
  refuseExcess,
  refuseExcessOf,
  refuseGain,
  refuseSecretOf,
} from '../callers.ts'
import {
  issueKey,
  type Issuer,
  keysOf,
  noKeyText,
  publicKey,
  rotateKey,
  sessionsOf,
  type StoredKey,
  whyInvalid,
} from './keys.ts'
import { revoked } from './narrow.ts'
import type { OwnerRoom } from './owner-limits.ts'
import type { AccessState } from '../state.ts'

export interface KeyDependencies {
  readonly state: Pick<AccessState, 'keys' | 'roles'>
  readonly issuer: Issuer
  readonly room: OwnerRoom
  /** Drops every live connection of a key, on every node; resolves when they are gone. */
  readonly kick: (keyId: string) => Promise<void>
}

const minuteMs = 60_000
const dayMs = 24 * 60 * minuteMs

type Asked = Pick<StoredKey, 'name' | 'kind' | 'capabilities'> & {
  readonly notes?: string
  readonly expiresInDays?: number
}

/** When a new key ends: as asked, and not after the one that makes it; only what a session makes outlasts that. */
function endOf(creator: StoredKey, days: number | undefined): string | undefined {
  const asked = days === undefined ? undefined : new Date(Date.now() + days * dayMs).toISOString()
  const last = creator.kind === 'session' ? undefined : creator.expires
  if (asked === undefined || last === undefined) return asked ?? last
  return asked < last ? asked : last
}

/** Makes a key for somebody, and answers it with its token. */
export async function issueFor(
  { keys, issuer, room }: { keys: AccessState['keys']; issuer: Issuer; room: OwnerRoom },
  creator: StoredKey,
  { expiresInDays, notes = '', ...asked }: Asked,
) {
  const expires = endOf(creator, expiresInDays)
  const { key, token } = await room.forKey(creator, () =>
    issueKey(keys, issuer, {
      ...asked,
      notes,
      owner: creator.owner,
      createdBy: creator.id,
      // What it may do is in its capabilities; it has no role of its own.
      roles: [],
      visible_extensions: asked.kind === 'agent' ? [] : creator.visible_extensions,
      ...(expires === undefined ? {} : { expires }),
    }),
  )
  return { ...publicKey(key), token }
}

/** Keys: made, shown, revoked. A user sees its own, an administrator all. */
export function keyHandlers({
  state: { keys, roles },
  issuer,
  room,
  kick,
}: KeyDependencies): Handlers<typeof keyContracts> {
  /** The key, if the caller may know of it; what it may not see does not exist for it. */
  const visible = async (id: string, caller: Caller): Promise<StoredKey> => {
    const [key, own] = await Promise.all([keys.get(id), callersKey(keys, caller)])
    if (key === undefined || !(own.owner === key.owner || isAdministrator(own))) {
      throw new GantryError('NOT_FOUND', noKeyText(id))
    }
    return key
  }
  /** The same for who wants to change it: a narrow key must not touch a wider one of its owner. */
  const within = async (id: string, caller: Caller): Promise<StoredKey> => {
    const [asked, own] = await Promise.all([visible(id, caller), callersKey(keys, caller)])
    if (own.id !== id && keyExceeds(own.capabilities, asked))
      refuseExcess(own.capabilities, asked.capabilities)
    return asked
  }
  /** What a new key may do: what is named, or what a role has now. */
  const permissionsOf = async (
    own: Capabilities,
    named: Capabilities | undefined,
    role: string | undefined,
  ): Promise<Capabilities> => {
    if (role === undefined) {
      if (named === undefined)
        throw invalid([
          { field: 'capabilities', problem: `is missing: give it, or a role such as ${viewer.name}` },
        ])
      refuseExcess(own, named)
      return named
    }
    if (named !== undefined)
      throw notAccepted('role', 'cannot be combined with capabilities: leave out one of them')
    const { pub, sub } = await roleNamed(roles, role)
    refuseExcessOf(role, own, { pub, sub })
    return { pub, sub }
  }
  const changeable = async (id: string, caller: Caller): Promise<StoredKey> => {
    const key = await within(id, caller)
    const reason = whyInvalid(key)
    if (reason !== undefined) throw new GantryError('NOT_ALLOWED_IN_STATE', `${reason}; create another key`)
    if (key.kind === 'session')
      throw new GantryError('NOT_ALLOWED_IN_STATE', 'a session cannot be changed; revoke it instead')
    return key
  }
  /** Who drops its own connections would not get the reply. */
  const drop = async (id: string, call: Pick<Call<Contract>, 'caller' | 'afterReply'>): Promise<void> => {
    const { caller } = call
    if (caller.kind === 'key' && caller.keyId === id) call.afterReply(() => kick(id))
    else await kick(id)
  }
  return {
    create: async ({ capabilities: named, role, ...asked }, call) => {
      const creator = await callersKey(keys, call.caller)
      const capabilities = await permissionsOf(creator.capabilities, named, role)
      return issueFor({ keys, issuer, room }, creator, { ...asked, kind: 'key', capabilities })
    },
    list: async ({ limit = maxPageLength, after, own: onlyOwn = false }, call) => {
      const own = await callersKey(keys, call.caller)
      const page = { after, limit }
      const found =
        isAdministrator(own) && !onlyOwn
          ? await keys.list(page)
          : await Promise.all(
              [keysOf(own.owner), sessionsOf(own.owner)].map((group) => keys.listGroup(group, page)),
            )
      return found
        .flat()
        .toSorted((a, b) => (a.id < b.id ? -1 : 1))
        .slice(0, limit)
        .map(publicKey)
    },
    get: async ({ id }, call) => {
      const key = await visible(id, call.caller)
      // DELETE was its end; what it was, the list says.
      if (key.revoked !== undefined)
        throw call.fail(
          'NOT_FOUND',
          `key ${id} was revoked at ${key.revoked}; it is still shown in "${product} keys list"`,
        )
      return publicKey(key)
    },
    update: async ({ id, name, notes, capabilities }, call) => {
      const asked = await changeable(id, call.caller)
      if (capabilities !== undefined) refuseGain(asked, capabilities)
      const key = await keys.update(id, (current) => {
        if (capabilities !== undefined) refuseGain(current, capabilities)
        return {
          ...current,
          name: name ?? current.name,
          notes: notes ?? current.notes,
          capabilities: capabilities ?? current.capabilities,
        }
      })
      // A connection keeps what it could do when it was opened.
      if (capabilities !== undefined) await drop(id, call)
      return publicKey(key)
    },
    rotate: async ({ id, overlapMinutes = defaultOverlapMinutes }, call) => {
      const [asked, own] = await Promise.all([changeable(id, call.caller), callersKey(keys, call.caller)])
      if (own.id !== id) refuseSecretOf(own, asked)
      const until = new Date(Date.now() + overlapMinutes * minuteMs).toISOString()
      const { key, token } = await rotateKey(keys, issuer, { id, until })
      // The server ends a connection when its permission does; those that are open know of no end yet.
      await drop(id, call)
      return { ...publicKey(key), token }
    },
    revoke: async ({ id }, call) => {
      await within(id, call.caller)
      const key = await keys.update(id, revoked)
      await drop(id, call)
      return publicKey(key)
    },
    examine: async ({ token }, call) => {
      if (!isAdministrator(await callersKey(keys, call.caller)))
        throw call.fail('DENIED', 'only administrators can see why a token was rejected')
      const { salt, location } = issuer
      const found = await judge(keys, { instance: location.instance, salt }, token.trim())
      if ('refused' in found)
        return { valid: false, explanation: `${found.refused}; ${remedies[found.reason]}` }
      const { key, until, isReplaced } = found
      const end =
        until === undefined ? 'it does not expire' : `it is valid until ${new Date(until).toISOString()}`
      const kind = isReplaced
        ? 'the replaced token (cannot change keys, roles, assignments, settings or alerts)'
        : 'the token'
      return { valid: true, explanation: `${kind} of key ${key.id} (${key.name}) of ${key.owner}; ${end}` }
    },
    self: async (_, call) => publicKey(await callersKey(keys, call.caller)),
  }
}

/** Keys of transfer agents: administrators alone make them. */
export function agentKeyHandlers({
  state: { keys },
  issuer,
  room,
}: Pick<KeyDependencies, 'state' | 'issuer' | 'room'>): Handlers<typeof agentKeys> {
  return {
    register: async (asked, call) => {
      const creator = await callersKey(keys, call.caller)
      if (!isAdministrator(creator)) {
        throw call.fail('EXCEEDS_ROLE', 'exceeds role permissions: only administrators can create agent keys')
      }
      const capabilities = agentCapabilities('*')
      return issueFor({ keys, issuer, room }, creator, { ...asked, kind: 'agent', capabilities })
    },
  }
}
