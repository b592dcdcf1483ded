import type { Static, TSchema } from 'typebox'
import { faultsOf, matches } from '../subjects/kit/validate.ts'
import { problemOfFile } from './file-problem.ts'
import { pathOfField, placeIn, yaml } from './yaml.ts'

/** The configuration cannot be used as it is. Each problem names the file, the field and the fix, in one line. */
export class ConfigError extends Error {
  readonly problems: readonly string[]

  constructor(problems: string | readonly string[], options?: { cause?: unknown }) {
    const all = typeof problems === 'string' ? [problems] : problems
    super(all.join('; '), options)
    this.name = 'ConfigError'
    this.problems = all
  }
}

/**
 * The content of a configuration file that is JSON, checked.
 * @param file as messages name it
 * @throws ConfigError that names each field which is wrong, with its place
 */
export function parseConfig<S extends TSchema>(schema: S, text: string, file: string): Static<S> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new ConfigError(`${file} is not valid JSON: ${(cause as Error).message}`, { cause })
  }
  if (matches(schema, value)) return value
  const placeOf = placesIn(text)
  throw new ConfigError(
    faultsOf(schema, value).map(({ field, problem }) =>
      field === '' ? `${file}: ${problem}` : `${file}${placeOf(field)}: ${field} ${problem}`,
    ),
  )
}

/**
 * A file of the configuration that is JSON, and what is made of it: of a file with fields that are wrong, what is made of the
 * others is tried too, so that all that is wrong is said at once.
 * @throws ConfigError
 */
export function readConfig<S extends TSchema, T>(
  schema: S,
  text: string,
  file: string,
  use: (value: Static<S>) => T,
): { readonly value: Static<S>; readonly used: T } {
  try {
    const value = parseConfig(schema, text, file)
    return { value, used: use(value) }
  } catch (error) {
    const value = jsonIn(text)
    if (!(error instanceof ConfigError) || typeof value !== 'object' || value === null) throw error
    const wrong = new Set(faultsOf(schema, value).map(({ field }) => nameIn(value, field)))
    if (wrong.size === 0 || wrong.has('')) throw error
    const others = Object.fromEntries(Object.entries(value).filter(([name]) => !wrong.has(name)))
    // Required fields may be among the wrong ones: what is made of the others is only looked at.
    const more = problemsOf(() => use(others as Static<S>))
    throw new ConfigError([...error.problems, ...more.filter(isOfOthers(wrong))])
  }
}

const jsonIn = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The field of the file itself, whose name may have dots in it, that a problem is in. */
const nameIn = (value: object, field: string): string =>
  Object.keys(value).find(
    (name) => field === name || (field.startsWith(name) && '.[/'.includes(field[name.length]!)),
  ) ?? field

/** What is left out for being wrong is not missing as well. */
const isOfOthers = (wrong: ReadonlySet<string>) => (problem: string) =>
  ![...wrong].some((name) => problem.includes(`${name} is missing`))

function problemsOf(work: () => unknown): readonly string[] {
  try {
    work()
    return []
  } catch (error) {
    // What lacks a field fails otherwise.
    return error instanceof ConfigError ? error.problems : []
  }
}

/** Says where a field of a JSON text stands. */
function placesIn(text: string): (field: string) => string {
  const { LineCounter, parseDocument } = yaml()
  const lineCounter = new LineCounter()
  // JSON is YAML as well.
  const document = parseDocument(text, { lineCounter })
  return (field) => {
    // The name of a field may have dots in it.
    const path = document.hasIn([field]) ? [field] : pathOfField(field)
    const place = placeIn(document, lineCounter, path)
    return place === undefined ? '' : `, line ${place.line}, column ${place.column}`
  }
}

/**
 * Several parts of the configuration, each as its function reads it.
 * @throws ConfigError with the problems of all of them, each once
 */
export function readAll<T extends object>(parts: { readonly [K in keyof T]: () => T[K] }): T {
  const problems = new Set<string>()
  const read: Partial<T> = {}
  for (const key of Object.keys(parts) as (keyof T)[]) {
    try {
      read[key] = parts[key]()
    } catch (error) {
      const ofFile = problemOfFile(error)
      if (ofFile === undefined && !(error instanceof ConfigError)) throw error
      for (const problem of error instanceof ConfigError ? error.problems : [ofFile!]) problems.add(problem)
    }
  }
  if (problems.size > 0) throw new ConfigError([...problems])
  // Each has been read.
  return read as T
}
