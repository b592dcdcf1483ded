import { mkdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { readTextFile, writeSecretFile } from '../../broker/common/files.ts'
import { GantryError } from '../../subjects/kit/errors.ts'
import { product } from '../../subjects/kit/names.ts'

/**
 * Where `gantry login` keeps the session of the user of this machine, whatever the folder and the platform; undefined
 * for a user without a home.
 */
export function userSessionPath(env: NodeJS.ProcessEnv): string | undefined {
  const home = env['HOME'] || env['USERPROFILE']
  const folder = env['XDG_CONFIG_HOME'] || (home ? join(home, '.config') : undefined)
  return folder === undefined ? undefined : join(folder, product, 'session')
}

/** When to refresh the session of a path; the session file has the token alone, so that other programs can read it. */
const refreshPathOf = (path: string): string => `${path}.refresh-after`

/** @throws GantryError INVALID_INPUT when it cannot be kept */
export function writeUserSession(
  env: NodeJS.ProcessEnv,
  { token, refreshAfter }: { token: string; refreshAfter?: string | undefined },
): string {
  const path = userSessionPath(env)
  if (path === undefined)
    throw new GantryError(
      'INVALID_INPUT',
      'the session cannot be stored because HOME is not set: set HOME, or use GANTRY_TOKEN',
    )
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    writeSecretFile(path, `${token}\n`)
    writeRefreshAfter(path, refreshAfter)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new GantryError('INVALID_INPUT', `${path} cannot be written (${code})`, { cause })
  }
  return path
}

/** undefined: never. */
export function writeRefreshAfter(path: string, time: string | undefined): void {
  if (time === undefined) rmSync(refreshPathOf(path), { force: true })
  else writeSecretFile(refreshPathOf(path), `${time}\n`)
}

/** Whether the session is to be refreshed by now. */
export function isRefreshDue(path: string): boolean {
  const time = readTextFile(refreshPathOf(path))?.trim()
  return time !== undefined && Date.parse(time) <= Date.now()
}

export function removeUserSession(path: string): void {
  rmSync(path, { force: true })
  writeRefreshAfter(path, undefined)
}
