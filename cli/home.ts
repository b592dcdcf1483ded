import { accessSync, constants, mkdirSync } from 'node:fs'
import { ConfigError } from '../config/config-error.ts'
import { homeVariable } from '../subjects/kit/names.ts'

/** Makes the configuration folder where there is none. @throws ConfigError when it cannot be made or written */
export function requireHome(home: string): void {
  try {
    mkdirSync(home, { recursive: true, mode: 0o700 })
    accessSync(home, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch (cause) {
    const reason = reasonOf((cause as NodeJS.ErrnoException).code)
    throw new ConfigError(
      `the configuration folder ${home} ${reason}: set ${homeVariable} to a writable folder`,
      { cause },
    )
  }
}

function reasonOf(code: string | undefined): string {
  switch (code) {
    case 'EEXIST':
    case 'ENOTDIR':
      return 'is a file or below a file'
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return `cannot be written (${code})`
    default:
      return `cannot be created (${code})`
  }
}
