import { Type } from 'typebox'
import { resource } from '../kit/contract.ts'
import { filesystemKinds } from '../filesystems/kinds.ts'
import { lookedTypes } from '../filesystems/internal.ts'
import { commandDeadlineMs } from '../migrations/commands.ts'
import { migrationId } from '../migrations/model/model.ts'
import { ruleContracts } from './contracts.ts'
import { ExclusionView, InclusionView } from '../migrations/model/rules.ts'
import { Count, GivenPath, list, Name, page, Path, strict, Text, Timestamp } from '../kit/schemas.ts'

/** Kinds of filesystems, as replies name them. */
export const fsTypes: readonly string[] = [
  ...new Set(Object.values(filesystemKinds).map(({ fsType }) => fsType)),
]

/** Which exclusions are listed; the first two are by who made them, the others by the kind of filesystem they come with. */
export const exclusionScopes = ['userDefined', 'global', 'source', 'target'] as const

/** What becomes of a path. */
export const pathDecisions = [
  'MIGRATED',
  'EXCLUDED',
  'NOT_INCLUDED',
  'REFUSED',
  'COLLISION',
  /** A rule decides that by what is not known of the file. */
  'DEPENDS',
  'OUTSIDE',
] as const

export const exclusions = resource('exclusions', {
  ...ruleContracts('exclusion'),
  list: {
    summary:
      'All exclusions: those that were made, those of every new migration, those that come with a kind of source, and what targets refuse',
    input: strict({
      scope: Type.Optional(Type.Enum([...exclusionScopes], { description: 'Only these; default: all' })),
      fsType: Type.Optional(
        Type.Enum([...fsTypes], { type: 'string', description: 'Only those of this kind of filesystem' }),
      ),
      ...page,
    }),
    output: list(ExclusionView),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/exclusions' }],
    cli: { columns: ['id', 'type', 'defaultExclusion', 'fsRestriction', 'description'] },
  },
  test: {
    summary: 'What a migration does with a path, and which rule decides that',
    description:
      'What is not given is looked up at the source. Where nothing is there, and a rule asks for size or time, the answer is DEPENDS; the target is not asked.',
    input: strict({
      migrationId,
      path: GivenPath('Path in the source filesystem'),
      type: Type.Optional(
        Type.Enum(lookedTypes, { description: 'What stands there; default: as at the source, else file' }),
      ),
      size: Type.Optional(Count('Bytes of the file; default: as at the source')),
      modified: Type.Optional(Timestamp('When the file was changed; default: as at the source')),
    }),
    output: strict({
      path: Path('The same'),
      decision: Type.Enum([...pathDecisions]),
      exclusion: Type.Optional(ExclusionView),
      inclusion: Type.Optional(InclusionView),
      targetPath: Type.Optional(Path('Where it goes at the target')),
      pathMappingId: Type.Optional(Name('The path mapping that leads there')),
      explanation: Text('The decision in words'),
      judgedAs: Type.Optional(
        Text('What the rules were asked about: type, size and time, and whether given or at the source'),
      ),
    }),
    errors: ['NOT_FOUND'],
    deadlineMs: commandDeadlineMs,
    http: [{ method: 'GET', path: '/api/v1/migrations/{migrationId}/exclusions/test' }],
    cli: {
      args: ['path'],
      example: 'gantry exclusions test /data/part.tmp --migration-id nightly --size 4096',
    },
  },
})
