import type { Static, TSchema } from 'typebox'
import { Compile, type Validator } from 'typebox/compile'
import { Settings } from 'typebox/system'
import { Check, Errors } from 'typebox/value'
import { invalid, type Problem } from './errors.ts'
import { choiceInWords, inWords, mendedText } from './forms.ts'
import { type JsonSchema, jsonSchema } from './json-schema.ts'
import { nearest } from './nearest.ts'
import { shortened } from './shortened.ts'

/** More problems than this in one reply help nobody. */
export const maxProblems = 20
// TypeBox stops looking after 8 by default, and tells each unknown field twice.
Settings.Set({ maxErrors: 2 * maxProblems })
/** A wrong name is shown up to this length: it may be as long as the request. */
const maxShownNameLength = 400
/** Values that would be right, in one message: as many as somebody reads. */
const maxShownLength = 1_000

/**
 * A schema is compiled when it is used for this many times, until then it is interpreted: compiling takes as long as 5 to
 * 25 uses (0.2 ms for one field, 7 ms for a hundred), and most endpoints of a thousand extensions are hardly ever called.
 */
const usesBeforeCompiling = 10

/**
 * Compiled schemas that are kept, by their length as JSON: compiled they take some fifty times that. All of our own have
 * a sixth of it; beyond it, what is still in use is compiled anew.
 */
const maxCompiledLength = 4_194_304

/** How a schema is used: so many times interpreted, then compiled. */
let validators = new WeakMap<TSchema, number | Validator>()
let compiledLength = 0

/** Whether a value has the schema's shape. @param isLarge whether it is worth compiling the schema for it alone */
export function matches<S extends TSchema>(schema: S, value: unknown, isLarge = false): value is Static<S> {
  const known = validators.get(schema) ?? 0
  if (typeof known !== 'number') return known.Check(value)
  if (known < usesBeforeCompiling && !isLarge) {
    validators.set(schema, known + 1)
    return Check(schema, value)
  }
  compiledLength += JSON.stringify(schema).length
  if (compiledLength > maxCompiledLength) {
    compiledLength = 0
    validators = new WeakMap()
  }
  const validator = Compile(schema)
  validators.set(schema, validator)
  return validator.Check(value)
}

/** @throws Error when a schema that somebody wrote by hand cannot be used */
export function requireUsable(schema: TSchema): void {
  Compile(schema)
}

/** What is wrong with a value, field by field; empty when it fits. */
export const problemsOf = (schema: TSchema, value: unknown): Problem[] =>
  matches(schema, value) ? [] : faultsOf(schema, value)

/** What is wrong with a value that is known not to match: to look again would take as long. */
export function faultsOf(schema: TSchema, value: unknown): Problem[] {
  const excerpt = excerptOf(schema, value)
  const faults = excerpt === value ? [] : faultsIn(schema, excerpt)
  return faults.length > 0 ? faults : faultsIn(schema, value)
}

function faultsIn(schema: TSchema, value: unknown): Problem[] {
  const problems = new Map<string, string[]>()
  const errors = Errors(schema, value)
  for (const error of errors) {
    if (isToldByForm(error, errors) || isToldByChoice(schema, error)) continue
    for (const [field, problem] of describe(schema, error, value)) {
      const known = problems.get(field) ?? []
      if (!known.includes(problem)) known.push(problem)
      problems.set(field, known)
    }
  }
  return [...problems]
    .slice(0, maxProblems)
    .map(([field, list]) => ({ field: shortened(field, maxShownNameLength), problem: list.join(', or ') }))
}

/** What a schema lets a value be large by. */
interface Extent {
  /** Every name of a field, wherever it stands. */
  readonly names: ReadonlySet<string>
  /** One more than the largest number of items or names that it bounds. */
  readonly most: number
}

/** No schema of ours is as deep; a value may be deeper than a stack can follow. */
const maxExcerptDepth = 20

const extents = new WeakMap<TSchema, Extent>()

function extentOf(schema: TSchema): Extent {
  const known = extents.get(schema)
  if (known !== undefined) return known
  const names = new Set<string>()
  let most = maxProblems
  const walk = (at: unknown): void => {
    if (typeof at !== 'object' || at === null) return
    const { properties, required, minItems, maxItems, minProperties, maxProperties } = at as Record<
      string,
      unknown
    >
    if (typeof properties === 'object') for (const name of Object.keys(properties ?? {})) names.add(name)
    if (Array.isArray(required)) for (const name of required) names.add(String(name))
    for (const bound of [minItems, maxItems, minProperties, maxProperties])
      if (typeof bound === 'number') most = Math.max(most, bound + 1)
    for (const inside of Object.values(at)) walk(inside)
  }
  walk(jsonSchema(schema))
  const extent = { names, most }
  extents.set(schema, extent)
  return extent
}

/**
 * A value without the items and unknown fields that nobody has to be told of: TypeBox looks at each of them, however many
 * problems it has found, and a megabyte of them took 0.1 s. The same value where there are few.
 */
function excerptOf(schema: TSchema, value: unknown): unknown {
  const extent = extentOf(schema)
  const shorten = (at: unknown, depth: number): unknown => {
    if (typeof at !== 'object' || at === null || depth > maxExcerptDepth) return at
    if (Array.isArray(at)) {
      const items = at.slice(0, extent.most).map((item) => shorten(item, depth + 1))
      return items.length === at.length && items.every((item, index) => item === at[index]) ? at : items
    }
    const object = at as Record<string, unknown>
    const shown = namesIn(object, extent)
    const kept = shown.map((name): [string, unknown] => [name, shorten(object[name], depth + 1)])
    const isSame =
      kept.length === Object.keys(object).length && kept.every(([name, inside]) => inside === object[name])
    return isSame ? at : Object.fromEntries(kept)
  }
  return shorten(value, 0)
}

/** Names of an object: all that the schema knows, and no more of the others than its problems are told by. */
function namesIn(object: Readonly<Record<string, unknown>>, { names, most }: Extent): string[] {
  const found = new Set<string>()
  let others = 0
  for (const name in object) {
    if (!names.has(name) && ++others > most) {
      for (const known of names) if (Object.hasOwn(object, known)) found.add(known)
      break
    }
    found.add(name)
  }
  return [...found]
}

/** The value, typed, or an INVALID_INPUT error whose message and details name each field and the fix. */
export function check<S extends TSchema>(schema: S, value: unknown, what?: string): Static<S> {
  if (matches(schema, value)) return value
  throw invalid(faultsOf(schema, value), what)
}

interface SchemaError {
  keyword: string
  instancePath: string
  schemaPath: string
  params: object
  message: string
}

/** An empty text, where the form that it must have says what would be right. */
const isToldByForm = ({ keyword, schemaPath, instancePath }: SchemaError, all: readonly SchemaError[]) =>
  keyword === 'minLength' &&
  all.some(
    (other) =>
      other.keyword === 'pattern' && other.schemaPath === schemaPath && other.instancePath === instancePath,
  )

/** What an alternative of a union lacks, where the union says in words what it takes. */
function isToldByChoice(schema: TSchema, { schemaPath }: SchemaError): boolean {
  const end = schemaPath.lastIndexOf('/anyOf/')
  return end >= 0 && choiceAt(schema, schemaPath.slice(0, end)) !== undefined
}

/** What the union at a place of a schema takes, in words. */
function choiceAt(schema: TSchema, pointer: string): string | undefined {
  const { description } = schemaAt(schema, pointer)
  return description === undefined ? undefined : choiceInWords(description)
}

function describe(schema: TSchema, error: SchemaError, value: unknown): [field: string, problem: string][] {
  const at = fieldOf(error.instancePath)
  const params = error.params as Record<string, unknown>
  switch (error.keyword) {
    case 'required':
      return (params['requiredProperties'] as string[]).map((name) => [join(at, name), 'is required'])
    // The place of an unknown field has the schema `false`.
    case 'boolean':
      return [unknownField(schema, error)]
    // The same fault, told a second time after all the others.
    case 'additionalProperties':
      return []
    case 'enum':
      return [[at, `must be one of ${shown(params['allowedValues'] as unknown[])}`]]
    case 'const':
      return [[at, `must be ${shown([params['allowedValue']])}`]]
    case 'anyOf': {
      const words = choiceAt(schema, error.schemaPath)
      return words === undefined ? [] : [[at, `must be ${words}`]]
    }
    case 'pattern':
      return [
        [at, patternProblem(String(params['pattern']), valueAt(value, error.instancePath)) ?? error.message],
      ]
    case 'format':
      return [[at, formatProblems[String(params['format'])] ?? error.message]]
    default:
      return [[at, error.message]]
  }
}

/** Values as somebody would write them: text as it is, all else as JSON; cut. */
function shown(values: readonly unknown[]): string {
  const text = values.map((value) => (typeof value === 'string' ? value : JSON.stringify(value))).join(', ')
  return shortened(text, maxShownLength)
}

function patternProblem(pattern: string, value: unknown): string | undefined {
  const words = inWords(pattern)
  if (words === undefined) return undefined
  const mended = typeof value === 'string' ? mendedText(pattern, value) : undefined
  return `must be ${words}${mended === undefined ? '' : `, such as ${mended}`}`
}

/** What stands at a place of a value. @param pointer of JSON */
const valueAt = (value: unknown, pointer: string): unknown =>
  pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>(
      (at, part) =>
        typeof at === 'object' && at !== null && Object.hasOwn(at, part)
          ? (at as Readonly<Record<string, unknown>>)[part]
          : undefined,
      value,
    )

const formatProblems: Readonly<Record<string, string>> = {
  'date-time': 'must be a time such as 2026-01-31T12:00:00Z',
}

function unknownField(
  schema: TSchema,
  { instancePath, schemaPath }: SchemaError,
): [field: string, problem: string] {
  const slash = instancePath.lastIndexOf('/')
  const name = decoded(instancePath.slice(slash + 1))
  const at = schemaAt(schema, schemaPath.slice(0, schemaPath.lastIndexOf('/')))
  return [join(fieldOf(instancePath.slice(0, slash)), name), unknownName(at, name)]
}

/** What a JSON pointer into a schema leads to (`#/properties/rules/items`). */
function schemaAt(schema: TSchema, pointer: string): JsonSchema {
  let at: unknown = schema
  for (const part of pointer.split('/').slice(1).map(decoded))
    at = typeof at === 'object' && at !== null ? (at as Record<string, unknown>)[part] : undefined
  return typeof at === 'object' && at !== null ? at : {}
}

function unknownName({ properties = {}, patternProperties = {} }: JsonSchema, name: string): string {
  const known = Object.keys(properties)
  const near = nearest(name, known)
  if (near !== undefined) return `is not a field here; did you mean ${near}?`
  const words = Object.keys(patternProperties).flatMap((pattern) => inWords(pattern) ?? [])
  if (words.length > 0) return `is not a field here: its name must be ${words.join(', or ')}`
  return known.length === 0
    ? 'is not a field here'
    : `is not a field here; the fields are ${known.join(', ')}`
}

const join = (at: string, name: string) => (at === '' ? name : `${at}.${name}`)

/** A name in a JSON pointer. */
const decoded = (part: string) => part.replaceAll('~1', '/').replaceAll('~0', '~')

/** `/a/0/b` → `a[0].b` */
function fieldOf(instancePath: string): string {
  return instancePath
    .split('/')
    .slice(1)
    .map(decoded)
    .reduce((path, part) => (/^\d+$/.test(part) ? `${path}[${part}]` : join(path, part)), '')
}
