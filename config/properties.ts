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
}

/**
 * Reads `key=value` lines; `#` and `!` begin comments. Each key is known, there once, and has a value that fits.
 * @throws ConfigError that names the file, the line and the key
 */
export function parseProperties<R extends Readers>(path: string, text: string, readers: R): Properties<R> {
  const values = new Map<string, unknown>()
  const lines = new Map<string, number>()
  const lineError = (number: number, problem: string) =>
    new ConfigError(`${path}, line ${number}: ${problem}`)
  for (const [index, line] of text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .entries()) {
    const number = index + 1
    const content = line.trim()
    if (content === '' || content.startsWith('#') || content.startsWith('!')) continue
    const [, key = '', value = ''] = /^([^=:\s]+)\s*[=:]\s*(.*)$/.exec(content) ?? []
    if (key === '') throw lineError(number, 'write key=value')
    const reader = Object.hasOwn(readers, key) ? readers[key] : undefined
    if (reader === undefined) {
      throw lineError(number, `${key} is not known here; the keys are ${Object.keys(readers).join(', ')}`)
    }
    if (lines.has(key)) throw lineError(number, `${key} is there already`)
    lines.set(key, number)
    const option = reader.read(value)
    if (option === undefined) {
      const shown = reader.secret ? 'what it is' : JSON.stringify(value)
      throw lineError(number, `${key} must be ${reader.meaning}, not ${shown}`)
    }
    values.set(key, option)
  }
  return {
    // Each value comes from the reader of its own key.
    values: Object.fromEntries(values) as Values<R>,
    refuse: (key, problem) => {
      const number = lines.get(key)
      return number === undefined
        ? new ConfigError(`${path}: ${key} ${problem}`)
        : lineError(number, `${key} ${problem}`)
    },
  }
}

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
