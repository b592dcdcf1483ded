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
  Text,
} from '../kit/schemas.ts'

export const fileSystemId = Name('Name of the filesystem')
const role = Type.Enum(['source', 'target'], { description: 'What it is used as' })
const scanOnly = Type.Optional(
  Type.Boolean({
    description:
      'Sources: what a migration from it is that does not say so itself (scanOnlyMigration): true copies what is there, false goes on to follow changes; default true',
  }),
)
const listenAndApplySourceChanges = Type.Optional(
  Type.Boolean({
    description:
      'Targets: whether live migrations to it follow changes for as long as they live (true) or until their scan is over (false); default true',
  }),
)
const reportedChanges = Type.Optional(
  Type.Boolean({
    description:
      'Sources: whether others report to Gantry what changes there (`report-changes`, by the broker). Live migrations take their reports in place of all other ways to learn of changes; default false',
  }),
)
const verbose = Type.Optional(Type.Boolean({ description: 'All properties, defaults too' }))

/** Twice what a caller may give in `additionalProperties`: the kind's own options and defaults come to them. */
export const maxOptions = 200

/** A filesystem as callers see it: secrets masked, all properties as text. */
export const Filesystem = model('Filesystem', {
  fileSystemId,
  fsType: Type.String({ maxLength: 40 }),
  isSource: Type.Boolean(),
  isScanOnly: Type.Boolean(),
  eventsPosition: Count('Position in the store’s change feed; 0 where it has none'),
  listenAndApplySourceChanges: Type.Optional(Type.Boolean()),
  properties: record(Type.String({ maxLength: maxPathLength }), maxOptions, 'Options and properties by name'),
})
export type Filesystem = Type.Static<typeof Filesystem>

const Health = model('FilesystemHealth', {
  fsId: fileSystemId,
  healthy: Type.Boolean(),
  timeStampEpochMillis: Count('When it was looked at'),
  healthReason: Type.Enum(['NONE', 'INVALID_FS_ROOT', 'FS_ERROR', 'INVALID_CREDENTIALS']),
  cause: Type.Optional(Text('What is wrong, and what to do')),
})

const Discovery = model('FilesystemDiscovery', {
  found: Type.Boolean({ description: 'Whether a store was found' }),
  message: Text('What was found where, or why nothing was and what to do'),
  properties: record(Type.String({ maxLength: maxPathLength }), maxOptions, 'Options and properties by name'),
})

export const FileStatus = model('FileStatus', {
  path: Path('Path in the filesystem; what is not printable is percent-encoded'),
  isDirectory: Type.Boolean(),
  length: Count('Bytes'),
  // Clients of the existing product expect a number in any case.
  modificationTime: EpochMillis('Milliseconds since 1970; 0 also where the store gives none'),
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
  ok: Type.Boolean({ description: 'Whether nothing failed' }),
  checks: list(
    strict({
      check: Type.Enum(checkNames, {
        description:
          'reach: something answers that is such a store. credentials: it takes them. root: the folder, bucket or container is there. clock: its time is near enough to that of this host for signed requests to be taken. list, read, write, replace, delete: these can be done. checksum: the store keeps a digest that is right. condition: a file is only removed in the version that was seen. parts: large files can be written',
      }),
      result: Type.Enum(checkResults, {
        description: 'untried: the store, or what is in it, gives no occasion',
      }),
      detail: Type.Optional(Text('What is wrong and what to do, or what was found')),
    }),
  ),
})

const checkDescription =
  'Each line says yes or no. Of a source nothing is changed. In a target a folder `.gantry-check-…` is made in the root, and removed.'

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
        'What came, went or was changed; of what was renamed the new path, and the old one in `from` or in a change of its own',
      ),
      from: Type.Optional(
        GivenPath(
          'Path that it had until it was renamed, if that is known: it is renamed at the target then, where that can be done',
        ),
      ),
      tree: Type.Optional(
        Type.Boolean({
          description:
            'Whether all that is below it may have changed as well, as when a folder was renamed; with the path / everything is compared. Default false',
        }),
      ),
    }),
    {
      maxItems: maxReportedPaths,
      description: 'In any order; none at all says that nothing has changed',
    },
  ),
  since: Type.Optional(
    EpochMillis(
      'Before which time all changes have been reported, in milliseconds since 1970; default: now. The lag of migrations is counted from it',
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

const otherProperties = AdditionalProperties('Properties by name that are kept and shown, and change nothing')

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

function createOf<K extends FilesystemKind>(kind: K) {
  const { path, summary, example, options } = filesystemKinds[kind]
  return {
    summary: `Add ${summary}`,
    description:
      'The store is asked first; nothing is kept when it cannot be reached or refuses the credentials.',
    input: strict<TProperties>({ ...placeFields, ...options }) as unknown as TObject<
      typeof placeFields & OptionsOf<K>
    >,
    output: Filesystem,
    errors: ['ALREADY_EXISTS', 'LIMIT_REACHED', ...storeErrors],
    audit: { object: 'fileSystemId' },
    http: [{ method: 'POST', path: `/api/v1/filesystems/${path}`, status: 201 }],
    cli: {
      args: ['fileSystemId'],
      example: `gantry filesystems create-${kind} my-target --role target ${example}`,
    },
    deadlineMs: storeDeadlineMs,
  } as const satisfies Definition
}

function updateOf<K extends FilesystemKind>(kind: K) {
  const { path, summary, options } = filesystemKinds[kind]
  const changes = Object.fromEntries(
    Object.entries(options).map(([name, schema]) => [name, Type.Optional(schema)]),
  )
  return {
    summary: `Change ${summary}`,
    description: 'What is not given stays. The store is asked first.',
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
    audit: { object: 'fileSystemId' },
    http: [{ method: 'PATCH', path: `/api/v1/filesystems/${path}/{fileSystemId}` }],
    cli: { args: ['fileSystemId'] },
    deadlineMs: storeDeadlineMs,
  } as const satisfies Definition
}

/** A source whose options are found on the host. */
function discoverOf<K extends DiscoverableKind>(kind: K) {
  const { path, summary, options, discovery } = filesystemKinds[kind]
  const given = Object.fromEntries(
    Object.entries(options).map(([name, schema]) => [name, Type.Optional(schema)]),
  )
  return {
    summary: `Add ${summary} as a source, found on the host of the platform`,
    description: `Options that are not given come from ${discovery}; properties that are given go before those that are found. The store is asked first.`,
    input: strict<TProperties>({
      fileSystemId: Type.Optional(Name(`Name of the filesystem; default ${discoveredId(kind)}`)),
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
    audit: { object: 'fileSystemId' },
    http: [{ method: 'POST', path: `/api/v1/filesystem-discoveries/${path}`, status: 201 }],
    cli: { example: `gantry filesystems discover-${kind} --user mover` },
    deadlineMs: storeDeadlineMs,
  } as const satisfies Definition
}

function discoveryOf(kind: DiscoverableKind) {
  const { path, summary, discovery } = filesystemKinds[kind]
  return {
    summary: `What the host of the platform says of ${summary}`,
    description: `It is read from ${discovery}. Nothing is kept of it, and no store is asked.`,
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
    summary: `Try what a migration needs of ${summary}`,
    description: `Nothing is kept of it. ${checkDescription}`,
    input: strict<TProperties>({ role, ...options }) as unknown as TObject<
      { role: typeof role } & OptionsOf<K>
    >,
    output: Check,
    errors: [],
    audit: {},
    http: [{ method: 'POST', path: `/api/v1/filesystem-checks/${path}` }],
    cli: {
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
    summary: 'The kinds of filesystem that exist',
    input: strict({}),
    output: list(
      strict({
        fs: Type.String({ maxLength: 40, description: 'Kind, as in the paths' }),
        fsDescription: Text('What it is'),
        autoconfigurable: Type.Boolean(),
        multipleSourceAllowed: Type.Boolean(),
      }),
    ),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/filesystem-kinds' }],
  },
  list: {
    summary: 'The filesystems, sources and targets',
    input: strict({ role: Type.Optional(role), verbose, ...page }),
    output: list(Filesystem),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/filesystems' }],
    cli: { columns: ['fileSystemId', 'fsType', 'isSource', 'properties'] },
  },
  get: {
    summary: 'One filesystem',
    input: strict({ fileSystemId, role: Type.Optional(role), verbose }),
    output: Filesystem,
    errors: ['NOT_FOUND'],
    http: [{ method: 'GET', path: '/api/v1/filesystems/{fileSystemId}' }],
    cli: { args: ['fileSystemId'] },
  },
  delete: {
    summary: 'Forget a filesystem; its files stay',
    input: strict({ fileSystemId, role: Type.Optional(role) }),
    output: Nothing,
    errors: ['NOT_FOUND', 'IN_USE'],
    audit: { object: 'fileSystemId' },
    http: [{ method: 'DELETE', path: '/api/v1/filesystems/{fileSystemId}' }],
    cli: { args: ['fileSystemId'] },
  },
  clear: {
    summary: 'Forget all sources, or all targets',
    description: 'Refused as a whole while a migration needs one of them.',
    input: strict({ role }),
    output: Nothing,
    errors: ['IN_USE'],
    audit: { object: 'role' },
    http: [{ method: 'DELETE', path: '/api/v1/filesystems' }],
    cli: { args: ['role'] },
  },
  health: {
    summary: 'Whether a filesystem can be reached',
    input: strict({ fileSystemId }),
    output: Health,
    errors: ['NOT_FOUND'],
    http: [{ method: 'GET', path: '/api/v1/filesystems/{fileSystemId}/health' }],
    cli: { args: ['fileSystemId'] },
    deadlineMs: storeDeadlineMs,
  },
  'check-stored': {
    summary: 'Try what a migration needs of a filesystem',
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
    summary: 'Whether each filesystem can be reached',
    input: strict(page),
    output: list(Health),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/filesystem-health' }],
    deadlineMs: storeDeadlineMs,
  },
  'list-paths': {
    summary: 'The entries of a folder, by name',
    input: strict({
      fileSystemId,
      role: Type.Optional(role),
      path: GivenPath('Folder, absolute in the filesystem'),
      limit: page.limit,
      after: Type.Optional(GivenPath('Path of the last entry of the page before')),
    }),
    output: list(FileStatus),
    errors: storeErrors,
    http: [{ method: 'GET', path: '/api/v1/filesystems/{fileSystemId}/paths' }],
    cli: { args: ['fileSystemId', 'path'], example: 'gantry filesystems list-paths my-target /data' },
    deadlineMs: storeDeadlineMs,
  },
  'report-changes': {
    summary: 'Report what has changed in a source',
    description:
      'For programs that know of changes where Gantry cannot: each live migration from a source with `reportedChanges` looks at the paths, and applies what it finds there. The reply says that the report is stored: repeat it until there is one. A report that comes twice, late or in another order does no harm. Report at least every half minute, if only that nothing has changed: the lag of migrations grows without reports.',
    input: strict({ fileSystemId, ...Report.properties }),
    output: Nothing,
    errors: ['NOT_FOUND', 'NOT_ALLOWED_IN_STATE'],
    http: [],
    brokerOnly: true,
  },
  'delete-path': {
    summary: 'Remove a file or folder from a filesystem',
    description: `Refused for the root, and while a migration works at the path, above or below it: stop it first. One that begins meanwhile ends the removal (\`IN_USE\`). A stopped or completed migration does not copy again what was removed: reset it. Symbolic links are removed, and none is followed. After ${removalSeconds} seconds a large folder is left as far as it is, with \`complete\` false: ask again.`,
    input: strict({
      fileSystemId,
      role: Type.Optional(role),
      path: GivenPath('File or folder, absolute in the filesystem'),
      recursive: Type.Optional(
        Type.Boolean({ description: 'Whether a folder goes with all that is in it; default false' }),
      ),
    }),
    output: strict({
      removed: Count('Files and folders that are gone'),
      bytes: Count('Bytes of these files'),
      complete: Type.Boolean({ description: 'Whether nothing is left; else ask again' }),
    }),
    errors: ['IN_USE', 'NOT_ALLOWED_IN_STATE', ...storeErrors],
    audit: { object: 'fileSystemId', path: 'path', removed: 'removed' },
    http: [{ method: 'DELETE', path: '/api/v1/filesystems/{fileSystemId}/paths' }],
    cli: {
      args: ['fileSystemId', 'path'],
      example: 'gantry filesystems delete-path my-target /data/old --recursive',
      failed: { field: 'complete', is: false },
    },
    deadlineMs: storeDeadlineMs,
  },
})

export const filesystemEvents = events('filesystems', {
  'changes-reported': {
    summary: 'Changes in a source were reported, and can be read',
    ephemeral: true,
    payload: strict({ fileSystemId }),
  },
})
