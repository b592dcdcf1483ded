import { Pair, parseLines } from 'dot-properties'
import { nearest } from '../subjects/kit/nearest.ts'
import { ConfigError } from './config-error.ts'

/** What may stand in a properties file: what a value must be, and what it is read as. */
export interface PropertyReader<T> {
  /** As it follows "must be". */
  readonly meaning: string
  /** undefined when the text is no such value. */
  readonly read: (text: string) => T | undefined
  /** The value is shown nowhere. */
  readonly secret?: true
}

type Readers = Readonly<Record<string, PropertyReader<unknown>>>
export type Values<R extends Readers> = {
  readonly [K in keyof R]?: R[K] extends PropertyReader<infer T> ? T : never
}

/** The values of a properties file, and where each stands. */
export interface Properties<R extends Readers> {
  readonly values: Values<R>
  /** The error to throw about a key that is there, or about the file when it is not. */
  readonly refuse: (key: keyof R & string, problem: string) => ConfigError
  /** The values of a key with lists in it, such as `list[n].name`, in the order of the file. */
  readonly each: <K extends keyof R & string>(key: K) => readonly Listed<NonNullable<Values<R>[K]>>[]
}

/** A value in a list. */
export interface Listed<T> {
  /** Its places in the lists, from 0. */
  readonly at: readonly number[]
  readonly value: T
  readonly refuse: (problem: string) => ConfigError
}

/**
 * Reads a properties file as Java does: escapes, lines that go on after a backslash, comments after `#` and `!`. Blanks at
 * the end of a value do not count, unlike there. Each key is known, there once, and has a value that fits. The reader of a key
 * with lists in it has `[n]` for the place in each.
 * @throws ConfigError that names the file, the line and the key of all that is wrong
 */
export function parseProperties<R extends Readers>(path: string, text: string, readers: R): Properties<R> {
  const values = new Map<string, unknown>()
  const lines = new Map<string, number>()
  const problems: string[] = []
  const lineProblem = (number: number, problem: string) => `${path}, line ${number}: ${problem}`
  const source = text.replace(/^\uFEFF/, '')
  for (const node of parseLines(source, true)) {
    if (!(node instanceof Pair)) continue
    const { key } = node
    const value = node.value.trimEnd()
    const [start, , , end] = node.range
    const number = source.slice(0, start).split(lineEnd).length
    const refuse = (problem: string) => void problems.push(lineProblem(number, problem))
    if (key === '' || node.separator(source) === '') {
      refuse('the line must be key=value')
      continue
    }
    if (hasStrayBackslash(source.slice(start, end))) {
      refuse(String.raw`a backslash must be written as \\`)
      continue
    }
    const name = key.replaceAll(place, '[n]')
    const reader = Object.hasOwn(readers, name) ? readers[name] : undefined
    if (reader === undefined) {
      const near = nearest(name, Object.keys(readers))
      const hint =
        near === undefined ? `the keys are ${Object.keys(readers).join(', ')}` : `did you mean ${near}?`
      refuse(`unknown key ${key}; ${hint}`)
      continue
    }
    if (lines.has(key)) {
      refuse(`${key} is set twice: remove one of the lines`)
      continue
    }
    lines.set(key, number)
    const option = reader.read(value)
    if (option === undefined)
      refuse(`${key} must be ${reader.meaning}${reader.secret ? '' : `, not ${JSON.stringify(value)}`}`)
    else values.set(key, option)
  }
  if (problems.length > 0) throw new ConfigError(problems)
  const refuse = (key: string, problem: string): ConfigError => {
    const number = lines.get(key)
    return number === undefined
      ? new ConfigError(`${path}: ${key} ${problem}`)
      : new ConfigError(lineProblem(number, `${key} ${problem}`))
  }
  return {
    // Each value comes from the reader of its own key.
    values: Object.fromEntries(values) as Values<R>,
    refuse,
    each: <K extends keyof R & string>(name: K) =>
      [...values]
        .filter(([key]) => key.replaceAll(place, '[n]') === name)
        .map(([key, value]) => ({
          at: Array.from(key.matchAll(place), ([, index]) => Number(index)),
          value: value as NonNullable<Values<R>[K]>,
          refuse: (problem: string) => refuse(key, problem),
        })),
  }
}

/** A place in a list, which has a thousand at most. */
const place = /\[(0|[1-9]\d{0,2})\]/g

const lineEnd = /\r\n|\r|\n/

/** Whether a backslash is before a letter or digit that it does not go with: it was meant, and would be lost. */
const hasStrayBackslash = (text: string): boolean =>
  Array.from(text.matchAll(/\\(u[\dA-Fa-f]{4}|[^])/g)).some(([, escaped]) => /^[^\W_tnrf]$/.test(escaped!))

/** Any text that is not empty. */
export const anyText = (meaning: string): PropertyReader<string> => ({
  meaning,
  read: (text) => (text === '' ? undefined : text),
})

export const trueOrFalse: PropertyReader<boolean> = {
  meaning: 'true or false',
  read: (text) => (text === 'true' ? true : text === 'false' ? false : undefined),
}

/** A whole number within bounds, both included. */
export const wholeNumber = (meaning: string, first: number, last: number): PropertyReader<number> => ({
  meaning: `${meaning} from ${first} to ${last}`,
  read: (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
    return value >= first && value <= last ? value : undefined
  },
})
