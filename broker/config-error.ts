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
