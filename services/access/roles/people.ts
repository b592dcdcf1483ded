import type { AdminRules } from '../../../config/platform.ts'
import { GantryError } from '../../../subjects/kit/errors.ts'
import { limitsOfRoles } from '../../../subjects/access/settings.ts'
import { Group, Subject } from '../../../subjects/kit/schemas.ts'
import { maxGroups, type User } from '../../../subjects/access/users.ts'
import { matches } from '../../../subjects/kit/validate.ts'
import { isBootstrap } from './bootstrap.ts'
import { admin, builtInRoles, everyone } from './built-in-roles.ts'
import { type Issuer, issueKey, type StoredKey } from '../keys/keys.ts'
import { narrowKeysOf, type NarrowedKey } from '../keys/narrow.ts'
import type { OwnerRoom } from '../keys/owner-limits.ts'
import { union } from '../permissions.ts'
import { type AccessState, readSettings } from '../state.ts'

/** Who vouches for a person. The names of one must not be taken for those of another: all but the first are prefixes. */
const sources = ['oidc', 'basic', 'ldap', 'local', 'metadata'] as const

/** Somebody for whom a source has vouched. */
export interface Person {
  readonly source: (typeof sources)[number]
  /** As the source says it. */
  readonly subject: string
  readonly name?: string | undefined
  readonly email?: string | undefined
  readonly groups: readonly string[]
  /** Roles that the source itself gives. */
  readonly roles?: readonly string[]
}

/** What comes of a sign-in. The token is nowhere else. */
export interface Session {
  readonly token: string
  readonly key: StoredKey
  readonly user: User
  /** Keys of the person that could do more than the person may now. */
  readonly narrowed: readonly NarrowedKey[]
}

/**
 * The subject by which a person is known here.
 * @throws GantryError UNAUTHENTICATED when it is none that we could store, or says to be of another source
 */
function subjectOf({ source, subject }: Person): string {
  if (source === 'oidc' && sources.some((other) => subject.startsWith(`${other}:`))) {
    throw new GantryError('UNAUTHENTICATED', 'the subject starts with the prefix of another identity source')
  }
  const known = source === 'oidc' ? subject : `${source}:${subject}`
  if (subject !== '' && matches(Subject('Subject'), known)) return known
  throw new GantryError('UNAUTHENTICATED', 'the subject is empty, too long or contains control characters')
}

/** Who is an administrator by the configuration, whatever the assignments say. In bootstrap mode everybody is. */
function isConfiguredAdmin(subject: string, groups: readonly string[], rules: AdminRules): boolean {
  if (isBootstrap(rules)) return true
  return (
    subject === rules.adminSubject || (rules.adminGroup !== undefined && groups.includes(rules.adminGroup))
  )
}

/** Names of the roles that a person has now. */
async function rolesOf(
  subject: string,
  { groups, roles = [] }: Pick<Person, 'groups' | 'roles'>,
  { state, rules }: SignInOptions,
): Promise<string[]> {
  if (isConfiguredAdmin(subject, groups, rules)) return [admin.name]
  const all = await state.assignments.all()
  const assigned = all.filter(({ group }) => groups.includes(group)).flatMap((each) => each.roles)
  const names = [...roles, ...assigned]
  const withDefault = rules.defaultRole === undefined ? names : [...names, rules.defaultRole]
  return [...new Set(withDefault)].toSorted()
}

/**
 * Signs a person in: resolves the roles, which then hold until the next sign-in, notes the person, brings its keys within
 * what it may now, and makes the key of the session.
 * @throws GantryError UNAUTHENTICATED when the subject is none that can be known here
 */
export async function signIn(person: Person, options: SignInOptions): Promise<Session> {
  const { state, issuer, room, kick } = options
  const subject = subjectOf(person)
  const names = await rolesOf(subject, person, options)
  const known = [...builtInRoles, ...(await state.roles.all())]
  const roles = names.flatMap((name) => known.find((role) => role.name === name) ?? [])
  const effective = union([everyone, ...roles])
  const user: User = {
    subject,
    ...(person.name === undefined ? {} : { name: person.name }),
    ...(person.email === undefined ? {} : { email: person.email }),
    groups: person.groups.filter((group) => matches(Group('Group'), group)).slice(0, maxGroups),
    roles: roles.map(({ name }) => name),
    ...effective,
    lastLogin: new Date().toISOString(),
  }
  await state.users.put(subject, user)
  const settings = await readSettings(state)
  const { exceedingKeys, sessionHours } = settings
  const narrowed = await narrowKeysOf(user, exceedingKeys, { keys: state.keys, kick })
  const { maxSessions } = limitsOfRoles(settings, user.roles)
  const { key, token } = await room.forSession(subject, maxSessions, () =>
    issueKey(state.keys, issuer, {
      name: 'session',
      notes: '',
      owner: subject,
      kind: 'session',
      roles: user.roles,
      capabilities: effective.permissions,
      visible_extensions: effective.visible_extensions,
      expires: new Date(Date.now() + sessionHours * 3_600_000).toISOString(),
    }),
  )
  return { token, key, user, narrowed }
}

export interface SignInOptions {
  readonly state: AccessState
  readonly rules: AdminRules
  readonly issuer: Issuer
  readonly room: OwnerRoom
  readonly kick: (keyId: string) => Promise<void>
}
