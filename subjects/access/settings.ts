import { type TSchema, Type } from 'typebox'
import { events, resource } from '../kit/contract.ts'
import { form } from '../kit/forms.ts'
import { hostIdentities, identityNamePattern, namedIdentities } from '../filesystems/host-identities.ts'
import { GivenPath, list, maxPathLength, model, OneOf, record, strict } from '../kit/schemas.ts'

/** A working day; whoever is away for longer signs in again. */
export const defaultSessionHours = 12
/** A month: what a session may do is decided when it begins. */
export const maxSessionHours = 31 * 24

/** More migrations than that run at once only when their number is not limited. */
const maxLimit = 10_000

/** More are a table of their own; each is looked at whenever a filesystem is opened. */
const maxPlaces = 100
/** Numbers that nothing was measured beyond. */
const maxOwnThings = 100_000
/** All that the REST servers keep open. */
export const maxPooledConnections = 2_000
/** Whoever administers makes the keys of programs: a thousand extensions with some each. */
const adminMaxKeys = 5_000
/** Whoever administers often runs the extensions of everybody. */
const adminMaxStorageMib = 8_192
/** All are listed, a page at a time; the broker names them all for that, in some milliseconds. */
const defaultMaxMadeRules = 10_000
/** More roles than an administrator tells apart. */
const maxLimitedRoles = 100

/** @param usual what it is until somebody changes it */
const ownerLimit = (usual: number, description: string, { minimum = 1, maximum = maxOwnThings } = {}) => ({
  usual,
  field: Type.Integer({ minimum, maximum, description: `${description}; default ${usual}` }),
})

const ownerLimits = {
  /** A person has a handful, a pipeline or two of them for each of its stages; more are forgotten ones. */
  maxKeys: ownerLimit(100, 'Maximum number of valid API keys per owner'),
  /** Browsers, machines and programs of a person that are signed in within one working day. */
  maxSessions: ownerLimit(50, 'Maximum number of sessions per user; beyond that, the oldest session ends', {
    maximum: 1_000,
  }),
  /**
   * A tenth of what the REST servers keep open, so that no owner takes them from the others. Fewer than ten would lock out
   * an administrator who works with a few keys at once, and with it whoever could raise the limit.
   */
  maxConnections: ownerLimit(
    200,
    'Maximum number of keys and sessions per owner that use REST at the same time',
    {
      minimum: 10,
      maximum: maxPooledConnections,
    },
  ),
  /** A company has some dozens of stores, each perhaps under a few roots. */
  maxFilesystems: ownerLimit(1_000, 'Maximum number of filesystems per owner'),
  /** The same of metastores. */
  maxCatalogs: ownerLimit(200, 'Maximum number of metadata catalogs per owner'),
  /** Some for each catalog. */
  maxMetadataMigrations: ownerLimit(
    1_000,
    'Maximum number of metadata migrations per owner, and separately of metadata rules',
  ),
  /** One for each share or project of a large site; each is compared with all others when another is made. */
  maxMigrations: ownerLimit(5_000, 'Maximum number of migrations per owner'),
  /** The same: folders that go elsewhere are the exception. */
  maxMappings: ownerLimit(5_000, 'Maximum number of path mappings per owner'),
  /** Two at a time are worked on, so that more would wait for days. */
  maxJobs: ownerLimit(
    200,
    'Maximum number of queued and running verifications per owner, and separately of cleanups',
  ),
  /** The whole storage of 16 extensions; most need some kilobytes. */
  maxStorageMib: ownerLimit(1_024, 'Maximum storage of all extensions of an owner together, in MiB', {
    maximum: 2 ** 20,
  }),
  /** Eleven a second, day and night. */
  maxUsageRecords: ownerLimit(
    1_000_000,
    'Maximum number of usage records per day from all extensions of an owner together',
    { maximum: 1_000_000_000 },
  ),
  /**
   * About 120 changes a second, day and night. All reports share a part of the store, of which the oldest go when it is full,
   * and who had not read them compares everything: so nobody fills it again and again. A message has at most 1 MiB.
   */
  maxReportedMib: ownerLimit(
    1_024,
    'Maximum size of reported source changes per owner and day, from all keys together, in MiB',
    { minimum: 2, maximum: 2 ** 20 },
  ),
}

type OwnerLimitName = keyof typeof ownerLimits
const ownerLimitNames = Object.keys(ownerLimits) as OwnerLimitName[]

const eachOwnerLimit = <T>(valueOf: (name: OwnerLimitName) => T) =>
  Object.fromEntries(ownerLimitNames.map((name) => [name, valueOf(name)])) as Record<OwnerLimitName, T>

const ownerLimitFields = eachOwnerLimit((name) => ownerLimits[name].field)

/** The same fields, none of which must be given. */
const optional = <P extends Record<string, TSchema>>(fields: P) =>
  Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, Type.Optional(field)])) as {
    [K in keyof P]: Type.TOptional<P[K]>
  }

/** What one owner of keys may have. */
export const OwnerLimits = strict(ownerLimitFields)
export type OwnerLimits = Type.Static<typeof OwnerLimits>

/** The limits of owners until somebody changes them. */
export const defaultOwnerLimits: OwnerLimits = eachOwnerLimit((name) => ownerLimits[name].usual)

const fields = {
  exceedingKeys: OneOf(
    { narrow: 'they lose the permissions that the owner lacks', revoke: 'they are revoked' },
    { about: 'What happens to the keys of a user whose roles shrink, at their next sign-in' },
  ),
  sessionHours: Type.Integer({
    minimum: 1,
    maximum: maxSessionHours,
    description: `Lifetime of a session in hours; default ${defaultSessionHours}`,
  }),
  maxRunningMigrations: Type.Integer({
    minimum: 0,
    maximum: maxLimit,
    description:
      'Maximum number of migrations that scan and copy at the same time; the others wait. Default 0: no limit',
  }),
  filesystemRoots: {
    ...list(GivenPath('Folder on the host'), maxPlaces),
    description:
      'Folders on this host that local filesystems must be in, checked each time a filesystem is opened. Default none: any folder except those of the platform itself',
  },
  storeHosts: {
    ...list(
      Type.String({
        minLength: 1,
        maxLength: 300,
        ...form('^[A-Za-z0-9.:/[\\]_-]+$', 'a host, an address or a network such as 10.1.0.0/16'),
      }),
      maxPlaces,
    ),
    description:
      'Local and private hosts, host:port pairs and networks that stores may use, such as 127.0.0.1:10000 or 10.1.0.0/16. Default none: public addresses only',
  },
  hostCredentials: {
    ...list(
      Type.String({
        maxLength: maxPathLength,
        ...form(
          `^(?:${hostIdentities.join('|')}|(?:${namedIdentities.join('|')}):${identityNamePattern}|/.+)$`,
          `one of ${hostIdentities.join(', ')}, one of ${namedIdentities.join(', ')} with a colon and a name, or the absolute path of a file or folder`,
        ),
      }),
      maxPlaces,
    ),
    description: `Credentials of this host and of agent hosts that filesystems and catalogs may use: ${hostIdentities.join(', ')}; named ones (${namedIdentities.map((one) => `${one}:NAME`).join(', ')}); absolute paths of files, and of folders with a Hive configuration (configPath of catalogs). Anyone who may add a store can then act with the rights of the host. Default none`,
  },
  ...ownerLimitFields,
  roleLimits: record(
    strict(optional(ownerLimitFields)),
    maxLimitedRoles,
    'Limits for owners with a role, by role name; with several roles, the highest limit applies',
  ),
  maxRules: Type.Integer({
    minimum: 1,
    maximum: maxOwnThings,
    description: `Maximum number of exclusions, and separately of inclusions; default ${defaultMaxMadeRules}`,
  }),
}

export const Settings = model('Settings', fields)
export type Settings = Type.Static<typeof Settings>

/** The settings that nobody has changed. */
export const defaultSettings: Settings = {
  exceedingKeys: 'narrow',
  sessionHours: defaultSessionHours,
  maxRunningMigrations: 0,
  filesystemRoots: [],
  storeHosts: [],
  hostCredentials: [],
  ...defaultOwnerLimits,
  roleLimits: {
    admin: { maxKeys: adminMaxKeys, maxConnections: maxPooledConnections, maxStorageMib: adminMaxStorageMib },
  },
  maxRules: defaultMaxMadeRules,
}

/** What an owner with these roles may have. */
export function limitsOfRoles(settings: Settings, roles: readonly string[]): OwnerLimits {
  const { roleLimits } = settings
  const limits = roles.flatMap((role) => (Object.hasOwn(roleLimits, role) ? [roleLimits[role]!] : []))
  const highest = (name: keyof OwnerLimits): number => {
    const ofRoles = limits.flatMap((limit) => limit[name] ?? [])
    return ofRoles.length === 0 ? settings[name] : Math.max(...ofRoles)
  }
  return eachOwnerLimit(highest)
}

/** Settings that a change may leave out. */
const changeable = {
  exceedingKeys: Type.Optional(fields.exceedingKeys),
  sessionHours: Type.Optional(fields.sessionHours),
  maxRunningMigrations: Type.Optional(fields.maxRunningMigrations),
  filesystemRoots: Type.Optional(fields.filesystemRoots),
  storeHosts: Type.Optional(fields.storeHosts),
  hostCredentials: Type.Optional(fields.hostCredentials),
  ...optional(ownerLimitFields),
  roleLimits: Type.Optional(fields.roleLimits),
  maxRules: Type.Optional(fields.maxRules),
}

/** What administrators decide at run time. */
export const settings = resource('settings', {
  get: {
    summary: 'Show the settings',
    input: strict({}),
    output: Settings,
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/admin/settings' }],
  },
  put: {
    summary: 'Change settings; the others stay unchanged',
    input: strict(changeable),
    output: Settings,
    errors: [],
    audit: { details: Object.keys(changeable) },
    lasting: true,
    http: [{ method: 'PUT', path: '/api/v1/admin/settings' }],
    cli: { example: 'gantry settings put --exceeding-keys revoke' },
  },
})

export const settingsEvents = events('settings', {
  changed: {
    summary: 'Settings were changed',
    payload: strict({ names: list(Type.Enum(Object.keys(fields) as (keyof Settings)[]), 100) }),
  },
})
