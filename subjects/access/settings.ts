import { type TSchema, Type } from 'typebox'
import { events, resource } from '../kit/contract.ts'
import { form } from '../kit/forms.ts'
import { hostIdentities } from '../filesystems/host-identities.ts'
import { GivenPath, list, maxPathLength, model, record, strict } from '../kit/schemas.ts'

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
  maxKeys: ownerLimit(100, 'Valid API keys that one owner may have'),
  /** Browsers, machines and programs of a person that are signed in within one working day. */
  maxSessions: ownerLimit(50, 'Sessions that one person may have: the oldest ends when another begins', {
    maximum: 1_000,
  }),
  /**
   * A tenth of what the REST servers keep open, so that no owner takes them from the others. Fewer than ten would lock out
   * an administrator who works with a few keys at once, and with it whoever could raise the limit.
   */
  maxConnections: ownerLimit(200, 'Keys and sessions of one owner that may use REST at the same time', {
    minimum: 10,
    maximum: maxPooledConnections,
  }),
  /** A company has some dozens of stores, each perhaps under a few roots. */
  maxFilesystems: ownerLimit(1_000, 'Filesystems that one owner may have made'),
  /** The same of metastores. */
  maxCatalogs: ownerLimit(200, 'Catalogs of metadata that one owner may have made'),
  /** Some for each catalog. */
  maxMetadataMigrations: ownerLimit(
    1_000,
    'Migrations of metadata that one owner may have made, and as many rules',
  ),
  /** One for each share or project of a large site; each is compared with all others when another is made. */
  maxMigrations: ownerLimit(5_000, 'Migrations that one owner may have made'),
  /** The same: folders that go elsewhere are the exception. */
  maxMappings: ownerLimit(5_000, 'Path mappings that one owner may have made'),
  /** Two at a time are worked on, so that more would wait for days. */
  maxJobs: ownerLimit(200, 'Verifications of one owner that wait or are under way, and as many cleanups'),
  /** The whole storage of 16 extensions; most need some kilobytes. */
  maxStorageMib: ownerLimit(1_024, 'MiB that all extensions of one owner may store together', {
    maximum: 2 ** 20,
  }),
  /** Eleven a second, day and night. */
  maxUsageRecords: ownerLimit(
    1_000_000,
    'Records of usage that all extensions of one owner may make within a day',
    { maximum: 1_000_000_000 },
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
  exceedingKeys: Type.Enum(['narrow', 'revoke'], {
    description:
      'What becomes of keys that may do or see more than their owner, when the owner signs in with fewer permissions',
  }),
  sessionHours: Type.Integer({
    minimum: 1,
    maximum: maxSessionHours,
    description: `How long a sign-in lasts; default ${defaultSessionHours}`,
  }),
  maxRunningMigrations: Type.Integer({
    minimum: 0,
    maximum: maxLimit,
    description:
      'How many migrations may scan and copy at once, the others wait as SCHEDULED; default 0, any number',
  }),
  filesystemRoots: {
    ...list(GivenPath('Folder of the host'), maxPlaces),
    description:
      'Folders of this host that local filesystems must lie in, checked each time one is opened; default none: any folder except those of the platform itself',
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
      'Hosts, host:port and networks on this host or in inner networks that stores may use, such as 127.0.0.1:10000 or 10.1.0.0/16; default none: public addresses only',
  },
  hostCredentials: {
    ...list(
      Type.String({
        maxLength: maxPathLength,
        ...form(
          `^(?:${hostIdentities.join('|')}|/.+)$`,
          `one of ${hostIdentities.join(', ')}, or the absolute path of a file`,
        ),
      }),
      maxPlaces,
    ),
    description: `Credentials of this host, and of each agent's, that filesystems and catalogs may use: ${hostIdentities.join(', ')}, and files by their absolute paths; whoever may add one of them acts with the rights of the host then. Default none`,
  },
  ...ownerLimitFields,
  roleLimits: record(
    strict(optional(ownerLimitFields)),
    maxLimitedRoles,
    'The same limits for owners with a role, by its name; of several roles the highest limit counts',
  ),
  maxRules: Type.Integer({
    minimum: 1,
    maximum: maxOwnThings,
    description: `Exclusions that may be made, and as many inclusions; default ${defaultMaxMadeRules}`,
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

/** What administrators decide at run time. */
export const settings = resource('settings', {
  get: {
    summary: 'The settings',
    input: strict({}),
    output: Settings,
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/admin/settings' }],
  },
  put: {
    summary: 'Change settings; those that are not given stay',
    input: strict({
      exceedingKeys: Type.Optional(fields.exceedingKeys),
      sessionHours: Type.Optional(fields.sessionHours),
      maxRunningMigrations: Type.Optional(fields.maxRunningMigrations),
      filesystemRoots: Type.Optional(fields.filesystemRoots),
      storeHosts: Type.Optional(fields.storeHosts),
      hostCredentials: Type.Optional(fields.hostCredentials),
      ...optional(ownerLimitFields),
      roleLimits: Type.Optional(fields.roleLimits),
      maxRules: Type.Optional(fields.maxRules),
    }),
    output: Settings,
    errors: [],
    audit: {},
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
