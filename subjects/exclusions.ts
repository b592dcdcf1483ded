import { Type } from 'typebox'
import { resource } from './contract.ts'
import { filesystemKinds } from './filesystem-kinds.ts'
import { migrationId } from './migration-model.ts'
import { ruleContracts } from './rule-contracts.ts'
import { ExclusionView, InclusionView } from './rules.ts'
import { Count, list, Name, page, Path, strict, Text, Timestamp } from './schemas.ts'

/** Kinds of filesystems, as replies name them. */
export const fsTypes: readonly string[] = [
  ...new Set(Object.values(filesystemKinds).map(({ fsType }) => fsType)),
]

/** Which exclusions are listed; the first two are by who made them, the others by the kind of filesystem they come with. */
export const exclusionScopes = ['userDefined', 'global', 'source', 'target'] as const

const bound = (scope: (typeof exclusionScopes)[number], path: string) =>
  ({ server: 'migrator', method: 'GET', path, bind: { scope } }) as const

/** What becomes of a path. */
export const pathDecisions = [
  'MIGRATED',
  'EXCLUDED',
  'NOT_INCLUDED',
  'REFUSED',
  'COLLISION',
  'OUTSIDE',
] as const

export const exclusions = resource('exclusions', {
  ...ruleContracts('exclusion'),
  list: {
    summary:
      'All exclusions: those that were made, those that come with a kind of source, and what targets refuse',
    input: strict({
      scope: Type.Optional(Type.Enum([...exclusionScopes], { description: 'Only these; default: all' })),
      fsType: Type.Optional(
        Type.String({
          maxLength: 40,
          description: `Only those of this kind of filesystem: ${fsTypes.join(', ')}`,
        }),
      ),
      ...page,
    }),
    output: list(ExclusionView),
    errors: [],
    http: [
      { server: 'migrator', method: 'GET', path: '/exclusions' },
      bound('userDefined', '/exclusions/userDefined'),
      bound('global', '/exclusions/global'),
      bound('source', '/exclusions/source/{fsType}'),
      bound('target', '/exclusions/target/{fsType}'),
      { server: 'platform', method: 'GET', path: '/api/v1/exclusions' },
    ],
    cli: { columns: ['id', 'type', 'defaultExclusion', 'fsRestriction', 'description'] },
  },
  test: {
    summary: 'What a migration does with a path, and which rule decides that',
    description: 'No store is asked: whether there is such a path is not looked at.',
    input: strict({
      migrationId,
      path: Path('Path in the source filesystem'),
      type: Type.Optional(
        Type.Enum(['file', 'folder', 'symlink', 'other'], { description: 'What stands there; default file' }),
      ),
      size: Type.Optional(Count('Bytes of the file; default 0')),
      modified: Type.Optional(Timestamp('When the file was changed; default now')),
    }),
    output: strict({
      path: Path('The same'),
      decision: Type.Enum([...pathDecisions]),
      exclusion: Type.Optional(ExclusionView),
      inclusion: Type.Optional(InclusionView),
      targetPath: Type.Optional(Path('Where it goes at the target')),
      pathMappingId: Type.Optional(Name('The path mapping that leads there')),
      explanation: Text('The decision in words'),
    }),
    errors: ['NOT_FOUND'],
    http: [
      { server: 'migrator', method: 'GET', path: '/migrations/{migrationId}/exclusions/test' },
      { server: 'platform', method: 'GET', path: '/api/v1/migrations/{migrationId}/exclusions/test' },
    ],
    cli: {
      args: ['path'],
      example: 'gantry exclusions test /data/part.tmp --migration-id nightly --size 4096',
    },
  },
})
