import type { Caller } from '../../subjects/kit/contract.ts'
import { GantryError } from '../../subjects/kit/errors.ts'
import type { Capabilities, Key } from '../../subjects/access/keys.ts'
import { everyInbox, product } from '../../subjects/kit/names.ts'
import { uncovered } from '../../subjects/kit/patterns.ts'
import type { Role } from '../../subjects/access/roles.ts'
import { limitsOfRoles, type OwnerLimits, type Settings } from '../../subjects/access/settings.ts'
import { admin } from './roles/built-in-roles.ts'
import type { KeyCollection, StoredKey } from './keys/keys.ts'

/** Whether a key may do all that an administrator may: it sees the keys of everybody. */
export const isAdministrator = (key: Pick<Key, 'capabilities'>): boolean =>
  uncovered(key.capabilities.pub.allow, admin.pub.allow).length === 0 &&
  uncovered(key.capabilities.sub.allow, admin.sub.allow).length === 0

/** The key of a caller. @throws GantryError DENIED for the platform itself, NOT_FOUND */
export async function callersKey(keys: KeyCollection, caller: Caller): Promise<StoredKey> {
  if (caller.kind === 'platform') throw new GantryError('DENIED', 'the platform itself has no key')
  const key = await keys.get(caller.keyId)
  if (key === undefined) throw new GantryError('NOT_FOUND', `the key ${caller.keyId} no longer exists`)
  return key
}

/** Subjects that `asked` reaches and `own` does not; undefined when there are none. To answer is nobody's privilege. */
export function excessOf(
  own: Capabilities,
  asked: Capabilities,
): { publish: string[]; subscribe: string[] } | undefined {
  const publish = uncovered([...own.pub.allow, everyInbox], asked.pub.allow)
  const subscribe = uncovered(own.sub.allow, asked.sub.allow)
  return publish.length + subscribe.length === 0 ? undefined : { publish, subscribe }
}

/** The extensions of `asked` that somebody does not see. */
export const hiddenFrom = (
  { visible_extensions: own }: Pick<Key, 'visible_extensions'>,
  asked: readonly string[],
): string[] => (own.includes('*') ? [] : asked.filter((prefix) => !own.includes(prefix)))

/**
 * Refuses to hand out a secret of another key that opens what the caller's own does not: another extension, or for longer.
 * A session ends soon by its nature, and what it hands out is to last.
 * @throws GantryError EXCEEDS_ROLE
 */
export function refuseSecretOf(own: StoredKey, asked: StoredKey): void {
  const hidden = hiddenFrom(own, asked.visible_extensions)
  if (hidden.length > 0) throw exceeds({ visibleExtensions: hidden })
  if (own.kind === 'session' || own.expires === undefined) return
  if (asked.expires !== undefined && Date.parse(asked.expires) <= Date.parse(own.expires)) return
  throw new GantryError(
    'EXCEEDS_ROLE',
    `key ${asked.id} ${asked.expires === undefined ? 'does not expire' : `expires at ${asked.expires}`}, but your key expires at ${own.expires}: rotate it with a key that expires later`,
    { details: { expires: [own.expires] } },
  )
}

/** @throws GantryError EXCEEDS_ROLE when `asked` reaches further than `own` */
export function refuseExcess(own: Capabilities, asked: Capabilities): void {
  const excess = excessOf(own, asked)
  if (excess !== undefined) throw exceeds(excess)
}

/**
 * The same of a role, whose permissions are for those alone who may look at roles.
 * @throws GantryError EXCEEDS_ROLE that names none of them
 */
export function refuseExcessOf(role: string, own: Capabilities, asked: Capabilities): void {
  if (excessOf(own, asked) === undefined) return
  throw new GantryError(
    'EXCEEDS_ROLE',
    `the role ${role} has permissions that your key lacks: choose another role, or give capabilities`,
  )
}

/** Refuses a key more than it was made with. @throws GantryError EXCEEDS_ROLE */
export function refuseGain({ id, capabilities }: StoredKey, asked: Capabilities): void {
  const excess = excessOf(capabilities, asked)
  if (excess === undefined) return
  throw new GantryError(
    'EXCEEDS_ROLE',
    `a key cannot gain permissions (${excessText(excess)}): create another key, then revoke this one with "${product} keys revoke ${id}"`,
    { details: excess },
  )
}

/**
 * Refuses a role that is more than the key that gives or takes it: by its rules, by the extensions that it shows, or by
 * the limits that the settings give to owners with it, which an administrator may change anyway.
 * @param own limits of the owner of the key @throws GantryError EXCEEDS_ROLE
 */
export function refuseRole(
  key: Pick<StoredKey, 'capabilities' | 'visible_extensions'>,
  own: OwnerLimits,
  { name, pub, sub, visible_extensions }: Role,
  settings: Settings,
): void {
  const hidden = hiddenFrom(key, visible_extensions)
  // A role without limits of its own has the usual ones, which may be more than those of the key's roles.
  const ofRole: Partial<OwnerLimits> = isAdministrator(key) ? {} : limitsOfRoles(settings, [name])
  const limits = Object.entries(ofRole)
    .filter(([limit, value]) => value > own[limit as keyof OwnerLimits])
    .map(([limit, value]) => `${limit} ${value}`)
  const rules = excessOf(key.capabilities, { pub, sub })
  if (rules === undefined && hidden.length === 0 && limits.length === 0) return
  throw exceeds({
    ...rules,
    ...(hidden.length > 0 && { visibleExtensions: hidden }),
    ...(limits.length > 0 && { limits }),
  })
}

type Excess = Readonly<Record<string, readonly string[]>>

const excessText = (excess: Excess): string =>
  Object.entries(excess)
    .flatMap(([action, list]) => (list.length > 0 ? [`${action} ${list.join(', ')}`] : []))
    .join('; ')

const exceeds = (excess: Excess): GantryError =>
  new GantryError('EXCEEDS_ROLE', `exceeds role permissions: ${excessText(excess)}`, { details: excess })

/** What an owner may have: of keys, its own permissions; of agents, which do what no person does, an administrator any. */
export function keyExceeds(own: Capabilities, key: Pick<Key, 'kind' | 'capabilities'>): boolean {
  return key.kind === 'agent'
    ? !isAdministrator({ capabilities: own })
    : excessOf(own, key.capabilities) !== undefined
}
