import { mkdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { writeSecretFile } from '../broker/files.ts'
import { GantryError } from '../subjects/errors.ts'
import { product } from '../subjects/names.ts'

/**
 * Where `gantry login` keeps the session of the user of this machine, whatever the folder and the platform; undefined
 * for a user without a home.
 */
export function userSessionPath(env: NodeJS.ProcessEnv): string | undefined {
  const home = env['HOME'] || env['USERPROFILE']
  const folder = env['XDG_CONFIG_HOME'] || (home ? join(home, '.config') : undefined)
  return folder === undefined ? undefined : join(folder, product, 'session')
}

/** @throws GantryError INVALID_INPUT when it cannot be kept */
export function writeUserSession(env: NodeJS.ProcessEnv, token: string): string {
  const path = userSessionPath(env)
  if (path === undefined) throw new GantryError('INVALID_INPUT', 'HOME is not set, where the session is kept')
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    writeSecretFile(path, `${token}\n`)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new GantryError('INVALID_INPUT', `${path} cannot be written (${code})`, { cause })
  }
  return path
}

export const removeUserSession = (path: string): void => rmSync(path, { force: true })
