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
