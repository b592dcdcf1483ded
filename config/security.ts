import { Name } from '../subjects/kit/schemas.ts'
import { matches } from '../subjects/kit/validate.ts'
import { ldapConfigOf, type LdapConfig, ldapReaders } from './ldap.ts'
import { anyText, type Properties, type PropertyReader } from './properties.ts'

/** Who may use the migrator: whoever is on its host, one user, or the people of a directory. */
export type SecurityConfig = { readonly type: 'off' } | BasicConfig | LdapConfig

export interface BasicConfig {
  readonly type: 'basic'
  readonly user: string
  /** A bcrypt hash. */
  readonly passwordHash: string
  readonly role: string
}

const securityTypes = ['off', 'basic', 'ldap'] as const

/** A hash that costs less is soon found by trying; one that costs more takes seconds a check. */
const minHashCost = 4
const maxHashCost = 15

/** bcrypt in the forms that its programs write; some put the method's name before it. */
const bcryptHash: PropertyReader<string> = {
  meaning: 'a bcrypt hash from "gantry credential hash"',
  secret: true,
  read: (text) => {
    const [, hash, cost] = /^(?:\{bcrypt\})?(\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53})$/.exec(text) ?? []
    return Number(cost) >= minHashCost && Number(cost) <= maxHashCost ? hash : undefined
  },
}

export const securityReaders = {
  'security.type': {
    meaning: securityTypes.join(' or '),
    read: (text: string) => securityTypes.find((type) => type === text),
  },
  'security.basic.user': {
    meaning: 'a user name without a colon',
    // A colon ends the name in the header of a request.
    read: (text: string) => (/^[^:]{1,255}$/.test(text) ? text : undefined),
  },
  'security.basic.password': bcryptHash,
  'security.basic.role': {
    ...anyText('a role name'),
    read: (text: string) => (matches(Name('Role'), text) ? text : undefined),
  },
  ...ldapReaders,
}

export const defaultRole = 'admin'

/** @throws ConfigError about what is missing, and about what does not belong to the type */
export function securityConfigOf(properties: Properties<typeof securityReaders>): SecurityConfig {
  const { values, refuse } = properties
  const type = values['security.type']
  for (const key of Object.keys(securityReaders) as (keyof typeof securityReaders)[]) {
    if (key === 'security.type' || values[key] === undefined) continue
    // Somebody would believe that the migrator is protected.
    if (type === undefined)
      throw refuse(key, 'has no effect without security.type: set security.type or remove it')
    // Who switches it off on purpose may leave the rest there.
    if (type !== 'off' && !key.startsWith(`security.${type}.`)) {
      throw refuse(key, `has no effect with security.type=${type}: remove it`)
    }
  }
  if (type === undefined) return { type: 'off' }
  if (type === 'off') return { type }
  if (type === 'ldap') return ldapConfigOf(properties)
  const { 'security.basic.user': user, 'security.basic.password': passwordHash } = values
  const needed = 'is missing: security.type=basic requires it'
  if (user === undefined) throw refuse('security.basic.user', needed)
  if (passwordHash === undefined) {
    throw refuse('security.basic.password', `${needed}. Create a hash with "gantry credential hash"`)
  }
  return { type, user, passwordHash, role: values['security.basic.role'] ?? defaultRole }
}
