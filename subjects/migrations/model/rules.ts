import { type Static, Type } from 'typebox'
import {
  Count,
  EpochMillis,
  GivenPath,
  list,
  model,
  Name,
  Path,
  strict,
  Switch,
  Text,
  Timestamp,
  usually,
} from '../../kit/schemas.ts'

/**
 * Rules say which paths a migration leaves out (exclusions) or is confined to (inclusions). Both have the same forms,
 * which are described here once.
 */

/** Syntax of a pattern. The names are those of the existing product. */
export const patternTypes = ['JAVA_PCRE', 'AUTOMATA', 'GLOB'] as const
export type PatternType = (typeof patternTypes)[number]

/** Bytes of a unit of size: KB as elsewhere 1,000, KiB 1,024. */
export const sizeUnits = {
  B: 1,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  PB: 1e15,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40,
  PiB: 2 ** 50,
} as const
export type SizeUnit = keyof typeof sizeUnits

/** Bytes of a size; of one that no file reaches, the most that are counted exactly. */
export const bytesOf = (value: number, unit: SizeUnit): number =>
  Math.min(value * sizeUnits[unit], Number.MAX_SAFE_INTEGER)

/** Milliseconds of a unit of age. */
export const ageUnits = { Minutes: 60_000, Hours: 3_600_000, Days: 86_400_000 } as const
export type AgeUnit = keyof typeof ageUnits

/** Longest pattern: what matching costs grows with it. */
export const maxPatternLength = 1_000
/** Paths of one list: with their bytes below, what fits into a request of 1 MiB. */
export const maxListedPaths = 10_000
/** Characters of the paths of one list together. */
export const maxListLength = 512 * 1024
/** Rules made with one call, and of one migration. */
export const maxRules = 1_000
/** A thousand years: more is a mistake, and dates would not reach so far. */
const maxAge = 525_600_000

/** A pattern for paths; its syntax is that of its type. */
export const Pattern = (description: string) =>
  Type.String({ minLength: 1, maxLength: maxPatternLength, description })

/** The forms of a rule: what each asks for beside id and description. */
export const ruleForms = {
  regex: {
    patternType: Type.Optional(
      Type.Enum([...patternTypes], {
        description: 'Syntax of the pattern; default JAVA_PCRE',
        ...usually('JAVA_PCRE'),
      }),
    ),
    regex: Pattern(
      'Pattern for paths of the source filesystem, as Gantry shows them: a glob without a slash matches names at any depth; a glob with a leading slash and the other types match whole paths',
    ),
  },
  fileSize: {
    value: Count('Size; larger files match'),
    unit: Type.Enum(Object.keys(sizeUnits) as SizeUnit[], { description: 'Unit of the size' }),
  },
  date: { beforeIsoDateTime: Timestamp('Time; files changed before it match') },
  age: {
    timeValue: Type.Integer({ minimum: 1, maximum: maxAge, description: 'Age; younger files match' }),
    timeUnit: Type.Enum(Object.keys(ageUnits) as AgeUnit[], { description: 'Unit of the age' }),
  },
  paths: {
    paths: Type.Array(GivenPath('Path in the source filesystem; includes everything below it'), {
      minItems: 1,
      maxItems: maxListedPaths,
      description: 'Paths in the source filesystem, each including everything below it',
    }),
  },
} as const
export type RuleType = keyof typeof ruleForms
export const ruleTypes = Object.keys(ruleForms) as RuleType[]

const ruleId = Name('Name of the rule')
const deletedWith = Type.Optional(
  Name('Migration that the rule is deleted with, unless another migration uses the rule'),
)
export const ruleHead = {
  id: ruleId,
  description: Type.Optional(Text('Purpose of the rule')),
  deletedWith,
}

/** A rule as it is given and stored. */
export const Rule = Type.Union([
  strict({ ...ruleHead, type: Type.Enum(['regex']), ...ruleForms.regex }),
  strict({ ...ruleHead, type: Type.Enum(['fileSize']), ...ruleForms.fileSize }),
  strict({ ...ruleHead, type: Type.Enum(['date']), ...ruleForms.date }),
  strict({ ...ruleHead, type: Type.Enum(['age']), ...ruleForms.age }),
  strict({ ...ruleHead, type: Type.Enum(['paths']), ...ruleForms.paths }),
])
export type Rule = Static<typeof Rule>

/** What a rule does to the paths that it matches. */
export const ruleEffects = ['exclusion', 'inclusion'] as const
export type RuleEffect = (typeof ruleEffects)[number]

/** Fields of a new migration. */
export const migrationRules = {
  exclusions: Type.Optional(list(ruleId, maxRules)),
  inclusions: Type.Optional(list(ruleId, maxRules)),
  defaultExclusions: Type.Optional(
    Switch(true, 'Apply the default exclusions for all migrations and for the kind of source; default: true'),
  ),
}

/** A rule as callers see it: the fields of the existing product, and those of ours. */
export const ruleView = (title: string) =>
  model(title, {
    id: ruleId,
    description: Text('Purpose of the rule'),
    type: Type.String({
      maxLength: 40,
      description: 'Type of the rule, such as RegexExclusion or FileSizeExclusion',
    }),
    fsRestriction: Type.Boolean({
      description:
        'Whether the rule covers paths that the store cannot hold; they are reported as failures, not excluded',
    }),
    sourceFsExclusion: Type.Boolean({ description: 'Whether the rule belongs to the kind of the source' }),
    globalExclusion: Type.Boolean({
      description: 'Whether the rule applies to every migration, for any kind of source',
    }),
    defaultExclusion: Type.Boolean({ description: 'Whether the rule is added to new migrations by default' }),
    deletedWith,
    patternType: ruleForms.regex.patternType,
    regex: Type.Optional(ruleForms.regex.regex),
    maxBytes: Type.Optional(Count('Size in bytes; larger files match')),
    displayUnit: Type.Optional(ruleForms.fileSize.unit),
    maxBytesFormatted: Type.Optional(Type.String({ maxLength: 40, description: 'The size in words' })),
    beforeDateEpochMillis: Type.Optional(
      EpochMillis('Time in milliseconds since 1970; files changed before it match'),
    ),
    beforeDateUtc: Type.Optional(Timestamp('The same time as text')),
    timeValue: Type.Optional(ruleForms.age.timeValue),
    timeUnit: Type.Optional(ruleForms.age.timeUnit),
    pathCount: Type.Optional(Count('Number of paths in the list')),
    paths: Type.Optional(list(Path('Path in the list; only shown for a single rule'), maxListedPaths)),
  })

export const ExclusionView = ruleView('Exclusion')
export const InclusionView = ruleView('Inclusion')
export type RuleView = Static<typeof ExclusionView>
