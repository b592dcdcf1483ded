import { Type } from 'typebox'
import { resource } from '../kit/contract.ts'
import { filesystemKinds } from '../filesystems/kinds.ts'
import { lookedTypes } from '../filesystems/internal.ts'
import { commandDeadlineMs } from '../migrations/commands.ts'
import { ruleContracts } from './contracts.ts'
import { ExclusionView, InclusionView, Pattern, ruleForms } from '../migrations/model/rules.ts'
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
    summary: 'List exclusions, including default and store-specific ones',
    input: strict({
      scope: Type.Optional(
        Type.Enum([...exclusionScopes], {
          description: 'Return only exclusions of this scope; default: all',
        }),
      ),
      fsType: Type.Optional(
        Type.Enum([...fsTypes], {
          type: 'string',
          description: 'Return only exclusions of this filesystem type',
        }),
      ),
      ...page,
    }),
    output: list(ExclusionView),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/exclusions' }],
    cli: { columns: ['id', 'type', 'defaultExclusion', 'fsRestriction', 'description'] },
  },
  test: {
    summary: 'Show what happens to a path, and which rule decides',
    description:
      'With a migration, its rules decide, and fields that are not given are looked up at the source. Without one, all user-defined exclusions and those of every migration decide. With a pattern, only the pattern decides unless a migration is given. If the path does not exist and a rule depends on size or time, the decision is DEPENDS. The target is not checked.',
    input: strict({
      path: GivenPath('Path in the source filesystem'),
      migrationId: Type.Optional(Name('Migration whose rules decide')),
      regex: Type.Optional(Pattern('Pattern to try as one more exclusion, before it is created')),
      patternType: ruleForms.regex.patternType,
      type: Type.Optional(
        Type.Enum(lookedTypes, { description: 'Type of the path; default: as at the source, or file' }),
      ),
      size: Type.Optional(Count('File size in bytes; default: as at the source')),
      modified: Type.Optional(Timestamp('Modification time of the file; default: as at the source')),
    }),
    output: strict({
      path: Path('Path in the source filesystem'),
      decision: Type.Enum([...pathDecisions]),
      exclusion: Type.Optional(ExclusionView),
      inclusion: Type.Optional(InclusionView),
      targetPath: Type.Optional(Path('Path at the target')),
      pathMappingId: Type.Optional(Name('Path mapping that determines the target path')),
      explanation: Text('Explanation of the decision'),
      judgedAs: Type.Optional(
        Text(
          'Type, size and time that the rules were evaluated with, and whether they were given or read at the source',
        ),
      ),
    }),
    errors: ['NOT_FOUND'],
    deadlineMs: commandDeadlineMs,
    http: [
      { method: 'GET', path: '/api/v1/migrations/{migrationId}/exclusions/test' },
      // Below /api/v1/exclusions it would stand in the place of a rule with this name.
      { method: 'GET', path: '/api/v1/rules/test' },
    ],
    cli: {
      args: ['path'],
      example: 'gantry exclusions test /data/part.tmp --migration-id nightly --size 4096',
    },
  },
})
