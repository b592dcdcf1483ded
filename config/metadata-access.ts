import { Name } from '../subjects/kit/schemas.ts'
import { matches } from '../subjects/kit/validate.ts'
import type { ConfigError } from './config-error.ts'
import { type Listed, type Properties, type PropertyReader, trueOrFalse } from './properties.ts'
import { type BasicConfig, defaultRole, securityReaders } from './security.ts'

/** Everybody, signed in or not. */
export const anonymous = 'isAnonymous()'
/** Everybody who is signed in. */
export const authenticated = 'isAuthenticated()'

/** Who reaches some paths: whoever is one of `access`, which has names of roles beside those two. */
export interface AccessEntry {
  /** As in `pathMatches`. */
  readonly pattern: string
  /** undefined: all methods. */
  readonly method: string | undefined
  readonly access: readonly string[]
}

/** Of the entries that fit a request, the first decides; what none fits is refused. */
export type AccessMap = readonly AccessEntry[]

/** Who may use the metadata service. */
export type MetadataAccess =
  | { readonly enabled: false }
  | {
      readonly enabled: true
      /** All of them have to let a request through. */
      readonly maps: readonly AccessMap[]
    }

export interface MetadataAccessConfig {
  readonly access: MetadataAccess
  /** Who comes in with a password. */
  readonly user: BasicConfig | undefined
  /** What whoever keeps the file is to be told. */
  readonly advice: string | undefined
}

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

const prefix = 'fastify.security'
const map = `${prefix}.intercept-url-map`

export const metadataAccessReaders = {
  'fastify.security.enabled': trueOrFalse,
  'fastify.security.intercept-url-map[n].pattern': {
    meaning:
      'a path pattern that starts with / (? matches one character, * characters within a segment, ** any segments)',
    read: (text) => (/^\/[^\s{}\\]*$/.test(text) ? text : undefined),
  },
  'fastify.security.intercept-url-map[n].http-method': {
    meaning: methods.join(', '),
    read: (text) => methods.find((method) => method === text),
  },
  'fastify.security.intercept-url-map[n].access[n]': {
    meaning: `${anonymous}, ${authenticated} or a role name`,
    // A name with parentheses is one of those two, misspelt.
    read: (text) =>
      text === anonymous || text === authenticated || (!/[()]/.test(text) && matches(Name('Role'), text))
        ? text
        : undefined,
  },
  'fastify.security.basic.user': securityReaders['security.basic.user'],
  'fastify.security.basic.password': securityReaders['security.basic.password'],
  'fastify.security.basic.role': securityReaders['security.basic.role'],
} as const satisfies Readonly<Record<string, PropertyReader<unknown>>>

type AccessProperties = Properties<typeof metadataAccessReaders>

/** As it is since release 2.6: the reference is open, and everything else needs a sign-in. */
export const usualMap: AccessMap = [
  { pattern: '/docs/**', method: undefined, access: [anonymous] },
  { pattern: '/**', method: undefined, access: [authenticated] },
]

/** A map as it stands in the file. */
export const linesOf = (entries: AccessMap): string =>
  entries
    .flatMap(({ pattern, access }, index) => [
      `${map}[${index}].pattern=${pattern}\n`,
      ...access.map((one, place) => `${map}[${index}].access[${place}]=${one}\n`),
    ])
    .join('')

/** @throws ConfigError about what is missing, and about what has no effect */
export function metadataAccessOf(properties: AccessProperties): MetadataAccessConfig {
  const own = mapOf(properties)
  const enabled = properties.values['fastify.security.enabled']
  const user = userOf(properties)
  if (enabled === undefined && user !== undefined)
    // Somebody would believe that the service is protected.
    throw properties.refuse('fastify.security.basic.user', 'has no effect without fastify.security.enabled')
  const isOld = own !== undefined && isOfBefore(own)
  return {
    access:
      enabled === true ? { enabled, maps: isOld ? [own, usualMap] : [own ?? usualMap] } : { enabled: false },
    user: enabled === true ? user : undefined,
    advice: isOld
      ? `${map} dates from before release 2.6: requests that it allows but the map of 2.6 does not are refused. Replace it with these lines:\n${linesOf(usualMap)}`
      : undefined,
  }
}

/** Whether a map leaves out the reference, or is open to everybody, as nobody would write it since. */
const isOfBefore = (entries: AccessMap): boolean =>
  !entries.some(({ pattern }) => pattern === usualMap[0]?.pattern) ||
  entries.some(({ pattern, access }) => coversAll(pattern) && access.includes(anonymous))

const coversAll = (pattern: string): boolean => /^(?:\/\*\*)+(?:\/\*)?$/.test(pattern)

/** The map of the file; undefined when it has none. */
function mapOf({ each }: AccessProperties): AccessMap | undefined {
  const patterns = each('fastify.security.intercept-url-map[n].pattern')
  const ofMethods = each('fastify.security.intercept-url-map[n].http-method')
  const ofAccess = each('fastify.security.intercept-url-map[n].access[n]')
  const all = [...patterns, ...ofMethods, ...ofAccess]
  if (all.length === 0) return undefined
  const last = all.reduce((one, other) => (other.at[0]! > one.at[0]! ? other : one), all[0]!)
  return Array.from({ length: last.at[0]! + 1 }, (_, index) => {
    const isOwn = ({ at }: Pick<Listed<unknown>, 'at'>) => at[0] === index
    const missing = (key: string): ConfigError =>
      (all.find(isOwn) ?? last).refuse(`requires ${map}[${index}].${key}, which is missing`)
    const pattern = patterns.find(isOwn)
    const access = ofAccess.filter(isOwn).map(({ value }) => value)
    if (pattern === undefined) throw missing('pattern')
    if (access.length === 0) throw missing('access[0]')
    return { pattern: pattern.value, method: ofMethods.find(isOwn)?.value, access }
  })
}

function userOf({ values, refuse }: AccessProperties): BasicConfig | undefined {
  const user = values['fastify.security.basic.user']
  const passwordHash = values['fastify.security.basic.password']
  const role = values['fastify.security.basic.role']
  if (user === undefined && passwordHash === undefined && role === undefined) return undefined
  if (user === undefined)
    throw refuse('fastify.security.basic.user', 'is missing: set the user name for the password')
  if (passwordHash === undefined)
    throw refuse(
      'fastify.security.basic.password',
      'is missing: fastify.security.basic.user requires it. Create a hash with "gantry credential hash"',
    )
  return { type: 'basic', user, passwordHash, role: role ?? defaultRole }
}
