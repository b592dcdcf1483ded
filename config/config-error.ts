import type { Static, TSchema } from 'typebox'
import { GantryError } from '../subjects/kit/errors.ts'
import { check } from '../subjects/kit/validate.ts'

/** The configuration cannot be used as it is. The message names the file, the field and the fix, in one line. */
export class ConfigError extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.name = 'ConfigError'
  }
}

/** The JSON of a configuration file. @throws ConfigError */
export function parseConfig(path: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new ConfigError(`${path} is not valid JSON: ${(cause as Error).message}`, { cause })
  }
}

/** The content of a configuration file, checked. @throws ConfigError that names each field which is wrong */
export function checkConfig<S extends TSchema>(schema: S, value: unknown, file: string): Static<S> {
  try {
    return check(schema, value, file)
  } catch (cause) {
    if (cause instanceof GantryError) throw new ConfigError(cause.message, { cause })
    throw cause
  }
}
