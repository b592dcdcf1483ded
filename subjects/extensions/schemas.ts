import type { Problem } from '../kit/errors.ts'
import { patternSteps } from './pattern-cost.ts'

/**
 * The JSON Schemas that extensions bring. They are checked in the platform's own process, for every call, so each of them
 * must be small, say nothing that is not understood, and take little time whatever the value is.
 */
export const schemaLimits = {
  /** As JSON; a page of an API's reference. */
  maxBytes: 65_536,
  /** Schemas in schemas; deeper ones nobody reads. */
  maxDepth: 12,
  /** Levels of JSON, values such as those of `default` included: what goes through all of it has a stack with an end. */
  maxNesting: 64,
  /** Schemas in one, all levels together. */
  maxSchemas: 400,
  /** Of one `enum`: each is a step of a compiler that goes down for every one, and its stack has an end. */
  maxValues: 1_000,
  /**
   * Steps to hold a message against its schema, as `check-cost.ts` counts them: some 50 ms in which nobody else is served.
   * A text of its `maxLength` must not take more by its pattern alone.
   */
  maxSteps: 10_000_000,
  /** Steps to tell what does not fit, after it is known that something does not. */
  maxStepsToTell: 5_000_000,
  maxPatternLength: 500,
  /** Of all patterns in a schema: they are compiled when a message comes, the worst in 15 µs a character. */
  maxPatternsLength: 5_000,
  /** Classes such as \p{L} in them: each has hundreds of ranges, and takes a millisecond. */
  maxPropertyClasses: 20,
} as const

/** Longest text of a request, which is what a pattern is held against where there is no `maxLength`. */
const longestText = 2 ** 20

type Kind =
  | 'text'
  | 'boolean'
  | 'number'
  | 'divisor'
  | 'count'
  | 'anything'
  | 'values'
  | 'names'
  | 'type'
  | 'pattern'
  | 'schema'
  | 'schemas'
  | 'fields'
  | 'schema or boolean'

/** What Gantry understands of JSON Schema 2020-12, and what the value of each keyword must be. */
const keywords: Readonly<Record<string, Kind>> = {
  $schema: 'text',
  $comment: 'text',
  title: 'text',
  description: 'text',
  format: 'text',
  default: 'anything',
  examples: 'anything',
  deprecated: 'boolean',
  readOnly: 'boolean',
  writeOnly: 'boolean',
  type: 'type',
  enum: 'values',
  const: 'anything',
  anyOf: 'schemas',
  oneOf: 'schemas',
  allOf: 'schemas',
  not: 'schema',
  properties: 'fields',
  required: 'names',
  additionalProperties: 'schema or boolean',
  minProperties: 'count',
  maxProperties: 'count',
  items: 'schema',
  prefixItems: 'schemas',
  minItems: 'count',
  maxItems: 'count',
  uniqueItems: 'boolean',
  minimum: 'number',
  maximum: 'number',
  exclusiveMinimum: 'number',
  exclusiveMaximum: 'number',
  multipleOf: 'divisor',
  minLength: 'count',
  maxLength: 'count',
  pattern: 'pattern',
}

const types = new Set(['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'])
/** Names that JavaScript gives a meaning of its own are none. */
const fieldName = /^(?!(?:__proto__|constructor|prototype)$)[\w$-][\w$.-]{0,99}$/

/** Wherever it finds one of these, TypeBox checks the whole schema in a way that takes ten times as long. */
const slowNames = /"unevaluated(?:Items|Properties)":/

const isTypes = (value: unknown): boolean => {
  const names = [value].flat()
  return names.length > 0 && names.every((name) => types.has(name as string))
}

type Schema = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** What is wrong with a schema; empty when it can be used. @param field where it stands, such as `endpoints[0].input` */
export function schemaProblems(schema: unknown, field: string): Problem[] {
  const { maxBytes, maxNesting, maxSchemas, maxPatternsLength, maxPropertyClasses } = schemaLimits
  if (isDeeper(schema, maxNesting))
    return [{ field, problem: `is nested too deeply: use at most ${maxNesting} levels of lists and objects` }]
  const bytes = new TextEncoder().encode(JSON.stringify(schema)).length
  if (bytes > maxBytes) return [{ field, problem: `must be at most ${maxBytes} bytes of JSON, not ${bytes}` }]
  const look = new Look()
  look.schema(schema, field, 1)
  if (look.count > maxSchemas) {
    look.problems.push({ field, problem: `must contain at most ${maxSchemas} schemas, not ${look.count}` })
  }
  if (slowNames.test(JSON.stringify(schema)))
    look.problems.push({
      field,
      problem: 'must not use the names unevaluatedItems and unevaluatedProperties',
    })
  const patterns = look.patterns.join('')
  const classes = patterns.match(/\\p\{/gi)?.length ?? 0
  if (patterns.length > maxPatternsLength || classes > maxPropertyClasses)
    look.problems.push({
      field,
      problem: `must have at most ${maxPatternsLength} characters in all its patterns, and at most ${maxPropertyClasses} classes such as \\p{L}`,
    })
  return look.problems
}

/** The same for what an endpoint takes: an object, so that it can be put together from a query or a command line. */
export function inputProblems(schema: Schema, field: string): Problem[] {
  const problems = schemaProblems(schema, field)
  if (schema['type'] === 'object') return problems
  return [
    ...problems,
    { field: `${field}.type`, problem: 'must be object: the input of an endpoint has named fields' },
  ]
}

/** Whether there are more lists and objects in each other than so many. */
const isDeeper = (value: unknown, levels: number): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (levels === 0 || Object.values(value).some((one) => isDeeper(one, levels - 1)))

class Look {
  readonly problems: Problem[] = []
  readonly patterns: string[] = []
  count = 0

  #wrong(field: string, problem: string): void {
    this.problems.push({ field, problem })
  }

  schema(schema: unknown, at: string, depth: number): void {
    this.count += 1
    if (!isObject(schema)) return this.#wrong(at, 'must be a JSON Schema object')
    const { maxDepth } = schemaLimits
    if (depth > maxDepth)
      return this.#wrong(at, `is nested too deeply: use at most ${maxDepth} levels of schemas`)
    for (const [keyword, value] of Object.entries(schema)) {
      if (keyword.startsWith('x-')) continue
      const kind = Object.hasOwn(keywords, keyword) ? keywords[keyword] : undefined
      const place = `${at}.${keyword}`
      if (kind === undefined) this.#wrong(place, unknownKeyword(keyword))
      else this.#value(kind, value, place, depth, schema)
    }
  }

  #value(kind: Kind, value: unknown, at: string, depth: number, schema: Schema): void {
    switch (kind) {
      case 'anything':
        return
      case 'text':
        if (typeof value !== 'string') this.#wrong(at, 'must be a string')
        return
      case 'boolean':
        if (typeof value !== 'boolean') this.#wrong(at, 'must be true or false')
        return
      case 'number':
        if (typeof value !== 'number') this.#wrong(at, 'must be a number')
        return
      case 'divisor':
        if (typeof value !== 'number' || value <= 0) this.#wrong(at, 'must be a number greater than 0')
        return
      case 'count':
        if (!Number.isSafeInteger(value) || (value as number) < 0)
          this.#wrong(at, 'must be a whole number, 0 or greater')
        return
      case 'values':
        if (!Array.isArray(value) || value.length === 0) this.#wrong(at, 'must be a list of values')
        else if (value.length > schemaLimits.maxValues)
          this.#wrong(at, `must have at most ${schemaLimits.maxValues} values, not ${value.length}`)
        return
      case 'names':
        if (!Array.isArray(value) || !value.every((name) => typeof name === 'string'))
          this.#wrong(at, 'must be a list of names')
        return
      case 'type':
        if (!isTypes(value)) this.#wrong(at, `must be one of ${[...types].join(', ')}, or a list of them`)
        return
      case 'pattern':
        return this.#pattern(value, at, schema)
      case 'schema or boolean':
        if (typeof value !== 'boolean') this.schema(value, at, depth + 1)
        return
      case 'schema':
        return this.schema(value, at, depth + 1)
      case 'schemas':
        if (!Array.isArray(value) || value.length === 0) return this.#wrong(at, 'must be a list of schemas')
        for (const [index, one] of value.entries()) this.schema(one, `${at}[${index}]`, depth + 1)
        return
      case 'fields':
        return this.#fields(value, at, depth)
    }
  }

  #fields(value: unknown, at: string, depth: number): void {
    if (!isObject(value)) return this.#wrong(at, 'must be an object that maps field names to schemas')
    for (const [name, field] of Object.entries(value)) {
      if (!fieldName.test(name))
        this.#wrong(`${at}.${name}`, 'must have a name of letters, digits, _ . $ and -')
      this.schema(field, `${at}.${name}`, depth + 1)
    }
  }

  #pattern(value: unknown, at: string, { maxLength }: Schema): void {
    const { maxPatternLength, maxSteps } = schemaLimits
    if (typeof value !== 'string' || value.length > maxPatternLength || !isRegExp(value))
      return this.#wrong(at, `must be a regular expression of at most ${maxPatternLength} characters`)
    const length = typeof maxLength === 'number' ? maxLength : longestText
    this.patterns.push(value)
    if (patternSteps(value)(length) <= maxSteps) return
    this.#wrong(
      at,
      'can take too long to match: set a smaller maxLength, start the pattern with ^, and do not repeat groups that contain repetitions or alternatives',
    )
  }
}

function unknownKeyword(keyword: string): string {
  return keyword === '$ref' || keyword === '$defs'
    ? 'is not supported: write each schema where it is used'
    : 'is not a supported JSON Schema keyword'
}

function isRegExp(text: string): boolean {
  try {
    // What is too large is only said when it is tried.
    new RegExp(text, 'u').test('')
    return true
  } catch {
    return false
  }
}
