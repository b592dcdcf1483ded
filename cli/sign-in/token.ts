import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { readTextFile } from '../../broker/common/files.ts'
import { parseToken, type TokenLocation } from '../../subjects/access/token.ts'
import { GantryError } from '../../subjects/kit/errors.ts'
import { defaultHome, files, homeVariable, product, tokenVariable } from '../../subjects/kit/names.ts'
import { userSessionPath } from './user-session.ts'

/** The token that a command presents, and where it was found. */
export interface FoundToken {
  readonly token: string
  /** `--token-file x`, `GANTRY_TOKEN` or the path of the file that it was in. */
  readonly source: string
  readonly location: TokenLocation
  /** Whether it is the session that `login` keeps. */
  readonly isUserSession?: true
}

export interface TokenPlaces {
  readonly env: NodeJS.ProcessEnv
  readonly cwd: string
  /** Folder of the program. */
  readonly folder?: string
  readonly tokenFile?: string | undefined
}

/**
 * The configuration folder, absolute: that of the environment, that in the working folder, or that beside the program, in that
 * order. Where there is none yet, that in the working folder will be it.
 */
export function homeFolder({ env, cwd, folder }: Pick<TokenPlaces, 'env' | 'cwd' | 'folder'>): string {
  const home = resolve(cwd, env[homeVariable] || defaultHome)
  if (env[homeVariable] || folder === undefined || existsSync(home)) return home
  const beside = join(folder, defaultHome)
  return existsSync(beside) ? beside : home
}

/**
 * The token of `--token-file`, of the environment, of `gantry login`, or of the configuration folder, in that order.
 * @throws GantryError UNAUTHENTICATED that says how to get one
 */
export function findToken({ env, cwd, folder, tokenFile }: TokenPlaces): FoundToken {
  if (tokenFile !== undefined) {
    const source = `--token-file ${tokenFile}`
    return parsed(requireText(resolve(cwd, tokenFile), source), source)
  }
  const fromEnvironment = env[tokenVariable]?.trim()
  if (fromEnvironment) return parsed(fromEnvironment, tokenVariable)
  const sessionPath = userSessionPath(env)
  const session = sessionPath === undefined ? undefined : read(sessionPath)?.trim()
  if (session) return { ...parsed(session, `${sessionPath} (of "${product} login")`), isUserSession: true }
  const path = join(homeFolder({ env, cwd, ...(folder !== undefined && { folder }) }), files.credentials)
  const stored = read(path)?.trim()
  if (stored) return parsed(stored, path)
  throw new GantryError(
    'UNAUTHENTICATED',
    `no API token found: ${path} does not exist. Start the platform with "${product} up", sign in with "${product} login", or set ${tokenVariable} or --token-file`,
  )
}

function parsed(text: string, source: string): FoundToken {
  const token = tokenIn(text)
  const { location } = parseToken(token) ?? {}
  if (location !== undefined) return { token, source, location }
  throw new GantryError(
    'UNAUTHENTICATED',
    `${source} does not contain a valid API token for this platform; use a complete token, as "${product} keys create" prints it, or leave it out to use that of the configuration folder`,
  )
}

/** Of a reply that was kept as it came, such as that of `agents register --json`, the token in it. */
function tokenIn(text: string): string {
  if (!text.startsWith('{')) return text
  try {
    const { token } = JSON.parse(text) as { token?: unknown }
    return typeof token === 'string' ? token : text
  } catch {
    // It is said to be no token.
    return text
  }
}

function requireText(path: string, source: string): string {
  const text = read(path)?.trim()
  if (text) return text
  const reason = text === undefined ? 'does not exist' : 'is empty'
  throw new GantryError('UNAUTHENTICATED', `${source} ${reason}; give a file with an API token`)
}

function read(path: string): string | undefined {
  try {
    return readTextFile(path)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new GantryError(
      'UNAUTHENTICATED',
      `${path} cannot be read (${code}); run the command as its owner`,
      {
        cause,
      },
    )
  }
}
