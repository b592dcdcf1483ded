import { type TObject, type TProperties, type TSchema, Type } from 'typebox'
import { type Definition, events, resource } from '../kit/contract.ts'
import { type FilesystemKind, filesystemKinds } from './kinds.ts'
import {
  AdditionalProperties,
  Count,
  EpochMillis,
  GivenPath,
  list,
  maxPathLength,
  model,
  Name,
  Nothing,
  page,
  Path,
  record,
  strict,
  Switch,
  Text,
} from '../kit/schemas.ts'

export const fileSystemId = Name('Name of the filesystem')
const role = Type.Enum(['source', 'target'], {
  description: 'Whether the filesystem is a source or a target',
})
const scanOnly = Type.Optional(
  Switch(
    true,
    'New migrations from this source copy once; otherwise they are live and follow changes. Each migration can decide for itself (scanOnlyMigration). Only for sources; default: true',
  ),
)
const listenAndApplySourceChanges = Type.Optional(
  Switch(
    true,
    'Live migrations to this target follow changes until they are stopped; otherwise they end with their first scan. Only for targets; default: true',
  ),
)
const reportedChanges = Type.Optional(
  Type.Boolean({
    description:
      'Other programs report the changes of this source to Gantry (`report-changes`, through the broker); live migrations detect changes only by these reports. Only for sources; default: false',
  }),
)

/** Sources and targets share their contracts; these fields are not for the role. */
export const fieldsOfOtherRole = {
  source: ['listenAndApplySourceChanges'],
  target: ['scanOnly', 'reportedChanges'],
} as const

const verbose = Type.Optional(Type.Boolean({ description: 'Show all properties, including defaults' }))

/** Twice what a caller may give in `additionalProperties`: the kind's own options and defaults come to them. */
export const maxOptions = 200

/** A filesystem as callers see it: secrets masked, all properties as text. */
export const Filesystem = model('Filesystem', {
  fileSystemId,
  fsType: Type.String({ maxLength: 40 }),
  isSource: Type.Boolean(),
  isScanOnly: Type.Boolean(),
  eventsPosition: Count('Position in the store’s change feed; 0 if it has none'),
  listenAndApplySourceChanges: Type.Optional(Type.Boolean()),
  properties: record(Type.String({ maxLength: maxPathLength }), maxOptions, 'Options and properties by name'),
})
export type Filesystem = Type.Static<typeof Filesystem>

const Health = model('FilesystemHealth', {
  fsId: fileSystemId,
  healthy: Type.Boolean(),
  timeStampEpochMillis: Count('Time of the check, in milliseconds since 1970'),
  healthReason: Type.Enum(['NONE', 'INVALID_FS_ROOT', 'FS_ERROR', 'INVALID_CREDENTIALS']),
  cause: Type.Optional(Text('Cause of the problem, and how to fix it')),
  notice: Type.Optional(Text('Limitation of how this kind of store was tested, if there is one')),
})

const Discovery = model('FilesystemDiscovery', {
  found: Type.Boolean({ description: 'Whether a store was found' }),
  message: Text('What was found and where, or why nothing was found and how to fix it'),
  properties: record(Type.String({ maxLength: maxPathLength }), maxOptions, 'Options and properties by name'),
})

export const FileStatus = model('FileStatus', {
  path: Path('Path in the filesystem; unprintable characters are percent-encoded'),
  isDirectory: Type.Boolean(),
  length: Count('Bytes'),
  // Clients of the existing product expect a number in any case.
  modificationTime: EpochMillis(
    'Modification time in milliseconds since 1970; 0 if the store does not provide it',
  ),
})

/** What is tried of a store; of a source the first six. */
const checkNames = [
  'reach',
  'credentials',
  'root',
  'clock',
  'list',
  'read',
  'changes',
  'write',
  'checksum',
  'replace',
  'condition',
  'parts',
  'delete',
] as const
export type CheckName = (typeof checkNames)[number]
const checkResults = ['yes', 'no', 'untried'] as const
export type CheckResult = (typeof checkResults)[number]

const Check = model('FilesystemCheck', {
  ok: Type.Boolean({ description: 'Whether no check failed' }),
  checks: list(
    strict({
      check: Type.Enum(checkNames, {
        description:
          'reach: a store of this kind answers. credentials: it accepts them. root: the folder, bucket or container exists. clock: its time is close enough to that of this host for signed requests. list, read, write, replace, delete: these operations work. checksum: the store keeps a correct digest. condition: a file is removed only in the version that was seen. parts: large files can be written',
      }),
      result: Type.Enum(checkResults, {
        description: 'untried: not applicable to this store or its contents',
      }),
      detail: Type.Optional(Text('Problem and how to fix it, or what was found')),
    }),
  ),
})

const checkDescription =
  'Each check reports yes, no or untried. A source is not changed. In a target, a folder `.gantry~check~…` is created in the root and removed afterwards.'

/** A store is asked over a network and given time for it. */
export const storeDeadlineMs = 30_000

/** Paths in one report: they fit into a message, whatever they are called. */
const maxReportedPaths = 1_000

/** Longest text of a position among reports. */
const maxPositionLength = 60

/** What somebody says has changed in a filesystem. */
export const Report = strict({
  changes: Type.Array(
    strict({
      path: GivenPath(
        'Path that was created, changed or removed. For a rename, the new path; report the old path in `from` or as a separate change',
      ),
      from: Type.Optional(
        GivenPath(
          'Old path of a renamed file or folder, if known: it is then renamed at the target too, if the target supports it',
        ),
      ),
      tree: Type.Optional(
        Type.Boolean({
          description:
            'Whether everything below the path may have changed too, as when a folder was renamed; with the path /, everything is compared. Default: false',
        }),
      ),
    }),
    {
      maxItems: maxReportedPaths,
      description: 'Changes in any order; an empty list reports that nothing has changed',
    },
  ),
  since: Type.Optional(
    EpochMillis(
      'Time before which all changes have been reported, in milliseconds since 1970; default: now. The lag of migrations is measured from this time',
    ),
  ),
})
export type Report = Type.Static<typeof Report>

/** How far somebody has read reports; opaque. */
export const ReportPosition = Type.String({ minLength: 1, maxLength: maxPositionLength })

/** How long one call removes what is in a folder; it has to answer before its deadline. */
export const removalSeconds = 20

const storeErrors = ['STORE_REFUSED', 'STORE_UNREACHABLE', 'NOT_FOUND'] as const

type DiscoverOf<K extends DiscoverableKind> = ReturnType<typeof discoverOf<K>>
type DiscoveryOf = ReturnType<typeof discoveryOf>
type CheckOf<K extends FilesystemKind> = ReturnType<typeof checkOf<K>>
type CreateOf<K extends FilesystemKind> = ReturnType<typeof createOf<K>>
type UpdateOf<K extends FilesystemKind> = ReturnType<typeof updateOf<K>>

const otherProperties = AdditionalProperties(
  'Your own properties, by name; stored and shown, without any effect',
)

const placeFields = {
  fileSystemId,
  role,
  scanOnly,
  reportedChanges,
  listenAndApplySourceChanges,
  otherProperties,
}

/** The options of a kind, as the compiler knows them when the kind is a type parameter. */
type OptionsOf<K extends FilesystemKind> = Extract<(typeof filesystemKinds)[K]['options'], TProperties>

/** Options of a kind that are in its contract as optional, and without which it is refused. */
function neededOf(kind: FilesystemKind): { readonly needed?: readonly string[] } {
  const known = filesystemKinds[kind]
  return 'needed' in known ? { needed: known.needed } : {}
}

function createOf<K extends FilesystemKind>(kind: K) {
  const { path, place, summary, example, options } = filesystemKinds[kind]
  return {
    summary: `Add ${summary}`,
    description:
      'Gantry connects to the store first. If the store cannot be reached or rejects the credentials, nothing is saved.',
    input: strict<TProperties>({ ...placeFields, ...options }) as unknown as TObject<
      typeof placeFields & OptionsOf<K>
    >,
    output: Filesystem,
    errors: ['ALREADY_EXISTS', 'LIMIT_REACHED', ...storeErrors],
    audit: { object: 'fileSystemId', details: ['role', ...place, 'scanOnly'] },
    http: [{ method: 'POST', path: `/api/v1/filesystems/${path}`, status: 201 }],
    cli: {
      args: ['fileSystemId'],
      ...neededOf(kind),
      example: `gantry filesystems create-${kind} my-target --role target ${example}`,
    },
    deadlineMs: storeDeadlineMs,
  } as const satisfies Definition
}

function updateOf<K extends FilesystemKind>(kind: K) {
  const { path, place, summary, example, options } = filesystemKinds[kind]
  const changes = Object.fromEntries(
    Object.entries(options).map(([name, schema]) => [name, Type.Optional(schema)]),
  )
  return {
    summary: `Change options of ${summary}`,
    description: 'Omitted options keep their values. Gantry connects to the store first.',
    input: strict<TProperties>({
      ...placeFields,
      role: Type.Optional(role),
      ...changes,
    }) as unknown as TObject<
      Omit<typeof placeFields, 'role'> & { role: Type.TOptional<typeof role> } & {
        [P in keyof OptionsOf<K>]: Type.TOptional<Extract<OptionsOf<K>[P], TSchema>>
      }
    >,
    output: Filesystem,
    errors: ['NOT_ALLOWED_IN_STATE', 'CONFLICT', ...storeErrors],
    audit: { object: 'fileSystemId', details: ['role', ...place, 'scanOnly'] },
    http: [{ method: 'PATCH', path: `/api/v1/filesystems/${path}/{fileSystemId}` }],
    cli: {
      args: ['fileSystemId'],
      example: `gantry filesystems update-${kind} my-target ${example}`,
    },
    deadlineMs: storeDeadlineMs,
  } as const satisfies Definition
}

/** A source whose options are found on the host. */
function discoverOf<K extends DiscoverableKind>(kind: K) {
  const { path, place, summary, options, discovery } = filesystemKinds[kind]
  const given = Object.fromEntries(
    Object.entries(options).map(([name, schema]) => [name, Type.Optional(schema)]),
  )
  return {
    summary: `Add ${summary} as a source, from the configuration on this host`,
    description: `Omitted options are read from ${discovery}; given properties override those found there. Gantry connects to the store first.`,
    input: strict<TProperties>({
      fileSystemId: Type.Optional(Name(`Name of the filesystem; default: ${discoveredId(kind)}`)),
      scanOnly,
      otherProperties,
      ...given,
    }) as unknown as TObject<
      { fileSystemId: Type.TOptional<typeof fileSystemId> } & Pick<
        typeof placeFields,
        'scanOnly' | 'otherProperties'
      > & { [P in keyof OptionsOf<K>]: Type.TOptional<Extract<OptionsOf<K>[P], TSchema>> }
    >,
    output: Filesystem,
    errors: ['ALREADY_EXISTS', 'LIMIT_REACHED', ...storeErrors],
    audit: { object: 'fileSystemId', details: [...place, 'scanOnly'] },
    http: [{ method: 'POST', path: `/api/v1/filesystem-discoveries/${path}`, status: 201 }],
    cli: { example: `gantry filesystems discover-${kind} --user mover` },
    deadlineMs: storeDeadlineMs,
  } as const satisfies Definition
}

function discoveryOf(kind: DiscoverableKind) {
  const { path, summary, discovery } = filesystemKinds[kind]
  return {
    summary: `Show what the configuration on this host says about ${summary}`,
    description: `The options are read from ${discovery}. Nothing is saved, and Gantry does not connect to the store.`,
    input: strict({}),
    output: Discovery,
    errors: [],
    http: [{ method: 'GET', path: `/api/v1/filesystem-discoveries/${path}` }],
    cli: { failed: { field: 'found', is: false } },
  } as const satisfies Definition
}

/** Name of a source that was found and is given none. */
export const discoveredId = (kind: DiscoverableKind): string =>
  `auto-discovered-source-${filesystemKinds[kind].path}`

/** Before it is added, and with no name. */
function checkOf<K extends FilesystemKind>(kind: K) {
  const { path, summary, example, options } = filesystemKinds[kind]
  return {
    summary: `Check ${summary}, without saving it`,
    description: `Nothing is saved. ${checkDescription}`,
    input: strict<TProperties>({ role, ...options }) as unknown as TObject<
      { role: typeof role } & OptionsOf<K>
    >,
    output: Check,
    errors: [],
    audit: {},
    http: [{ method: 'POST', path: `/api/v1/filesystem-checks/${path}` }],
    cli: {
      ...neededOf(kind),
      example: `gantry filesystems check-${kind} --role target ${example}`,
      failed: { field: 'ok', is: false },
    },
    deadlineMs: storeDeadlineMs,
  } as const satisfies Definition
}

export const kinds = Object.keys(filesystemKinds) as FilesystemKind[]
const perKind = Object.fromEntries(
  kinds.flatMap((kind) => [
    [`create-${kind}`, createOf(kind)],
    [`update-${kind}`, updateOf(kind)],
    [`check-${kind}`, checkOf(kind)],
  ]),
) as { [K in FilesystemKind as `create-${K}`]: CreateOf<K> } & {
  [K in FilesystemKind as `update-${K}`]: UpdateOf<K>
} & {
  [K in FilesystemKind as `check-${K}`]: CheckOf<K>
}

/** Kinds whose sources are found on the host. */
export type DiscoverableKind = {
  [K in FilesystemKind]: (typeof filesystemKinds)[K] extends { readonly discovery: string } ? K : never
}[FilesystemKind]
export const isDiscoverable = (kind: FilesystemKind): kind is DiscoverableKind =>
  'discovery' in filesystemKinds[kind]
export const discoverableKinds = kinds.filter(isDiscoverable)
const perDiscoverable = Object.fromEntries(
  discoverableKinds.flatMap((kind) => [
    [`discover-${kind}`, discoverOf(kind)],
    [`discovery-${kind}`, discoveryOf(kind)],
  ]),
) as { [K in DiscoverableKind as `discover-${K}`]: DiscoverOf<K> } & {
  [K in DiscoverableKind as `discovery-${K}`]: DiscoveryOf
}

export const filesystems = resource('filesystems', {
  ...perKind,
  ...perDiscoverable,
  kinds: {
    summary: 'List the kinds of filesystem',
    input: strict({}),
    output: list(
      strict({
        fs: Type.String({ maxLength: 40, description: 'Kind, as in the paths of the API' }),
        fsDescription: Text('Description of the kind'),
        autoconfigurable: Type.Boolean(),
        multipleSourceAllowed: Type.Boolean(),
      }),
    ),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/filesystem-kinds' }],
  },
  list: {
    summary: 'List filesystems (sources and targets)',
    input: strict({ role: Type.Optional(role), verbose, ...page }),
    output: list(Filesystem),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/filesystems' }],
    cli: { columns: ['fileSystemId', 'fsType', 'isSource', 'properties'] },
  },
  get: {
    summary: 'Show a filesystem',
    input: strict({ fileSystemId, role: Type.Optional(role), verbose }),
    output: Filesystem,
    errors: ['NOT_FOUND'],
    http: [{ method: 'GET', path: '/api/v1/filesystems/{fileSystemId}' }],
    cli: { args: ['fileSystemId'] },
  },
  delete: {
    summary: 'Delete a filesystem from Gantry (its files stay)',
    input: strict({ fileSystemId, role: Type.Optional(role) }),
    output: Nothing,
    errors: ['NOT_FOUND', 'IN_USE'],
    audit: { object: 'fileSystemId' },
    http: [{ method: 'DELETE', path: '/api/v1/filesystems/{fileSystemId}' }],
    cli: { args: ['fileSystemId'] },
  },
  clear: {
    summary: 'Delete all sources, or all targets, from Gantry (their files stay)',
    description: 'If a migration needs one of them, none is deleted.',
    input: strict({ role }),
    output: Nothing,
    errors: ['IN_USE'],
    audit: { object: 'role' },
    http: [{ method: 'DELETE', path: '/api/v1/filesystems' }],
    cli: { args: ['role'], confirms: 'This deletes every {role} from Gantry; the files stay.' },
  },
  health: {
    summary: 'Check whether a filesystem can be reached',
    input: strict({ fileSystemId }),
    output: Health,
    errors: ['NOT_FOUND'],
    http: [{ method: 'GET', path: '/api/v1/filesystems/{fileSystemId}/health' }],
    cli: { args: ['fileSystemId'] },
    deadlineMs: storeDeadlineMs,
  },
  'check-stored': {
    summary: 'Check a saved filesystem',
    description: checkDescription,
    input: strict({ fileSystemId }),
    output: Check,
    errors: ['NOT_FOUND'],
    audit: { object: 'fileSystemId' },
    http: [{ method: 'POST', path: '/api/v1/filesystems/{fileSystemId}/check' }],
    cli: {
      args: ['fileSystemId'],
      example: 'gantry filesystems check-stored my-target',
      failed: { field: 'ok', is: false },
    },
    deadlineMs: storeDeadlineMs,
  },
  'health-all': {
    summary: 'Check whether each filesystem can be reached',
    input: strict(page),
    output: list(Health),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/filesystem-health' }],
    deadlineMs: storeDeadlineMs,
  },
  'list-paths': {
    summary: 'List the entries of a folder, sorted by name',
    input: strict({
      fileSystemId,
      role: Type.Optional(role),
      path: GivenPath('Absolute path of the folder in the filesystem'),
      limit: page.limit,
      after: Type.Optional(GivenPath('Path of the last entry of the previous page')),
    }),
    output: list(FileStatus),
    errors: storeErrors,
    http: [{ method: 'GET', path: '/api/v1/filesystems/{fileSystemId}/paths' }],
    cli: { args: ['fileSystemId', 'path'], example: 'gantry filesystems list-paths my-target /data' },
    deadlineMs: storeDeadlineMs,
  },
  'report-changes': {
    summary: 'Report changes in a source',
    description:
      'For programs that know of changes which Gantry cannot detect. Each live migration from a source with `reportedChanges` checks the reported paths and applies the changes that it finds. The reply confirms that the report is stored; repeat the report until you get a reply. Reports can be sent twice, late or in any order. Send a report at least every 30 seconds, even if nothing has changed: without reports, the lag of migrations grows.',
    input: strict({ fileSystemId, ...Report.properties }),
    output: Nothing,
    errors: ['NOT_FOUND', 'NOT_ALLOWED_IN_STATE', 'LIMIT_REACHED'],
    http: [],
    brokerOnly: true,
  },
  'delete-path': {
    summary: 'Remove a file or folder from a filesystem',
    description: `Refused for the root, and while a migration works at the path, above or below it: stop the migration first. If a migration starts during the removal, the removal ends (\`IN_USE\`). A stopped or completed migration does not copy removed files again unless you reset it. Symbolic links are removed, not followed. The call ends after ${removalSeconds} seconds; if \`complete\` is false, repeat it.`,
    input: strict({
      fileSystemId,
      role: Type.Optional(role),
      path: GivenPath('Absolute path of the file or folder in the filesystem'),
      recursive: Type.Optional(
        Type.Boolean({ description: 'Remove a folder with all its contents; default: false' }),
      ),
    }),
    output: strict({
      removed: Count('Files and folders removed'),
      bytes: Count('Bytes of the removed files'),
      complete: Type.Boolean({ description: 'Whether everything was removed; if not, repeat the call' }),
    }),
    errors: ['IN_USE', 'NOT_ALLOWED_IN_STATE', ...storeErrors],
    audit: { object: 'fileSystemId', path: 'path', removed: 'removed' },
    http: [{ method: 'DELETE', path: '/api/v1/filesystems/{fileSystemId}/paths' }],
    cli: {
      args: ['fileSystemId', 'path'],
      example: 'gantry filesystems delete-path my-target /data/old --recursive',
      confirms: 'This removes {path} from the filesystem {fileSystemId} and cannot be undone.',
      failed: { field: 'complete', is: false },
    },
    deadlineMs: storeDeadlineMs,
  },
})

export const filesystemEvents = events('filesystems', {
  'changes-reported': {
    summary: 'Changes in a source were reported',
    ephemeral: true,
    payload: strict({ fileSystemId }),
  },
})
