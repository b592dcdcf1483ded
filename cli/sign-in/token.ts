import { join, resolve } from 'node:path'
import { readTextFile } from '../../broker/common/files.ts'
import { parseToken, type TokenLocation } from '../../broker/identity/token.ts'
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
  readonly tokenFile?: string | undefined
}

/** The configuration folder, absolute. */
export const homeFolder = ({ env, cwd }: Pick<TokenPlaces, 'env' | 'cwd'>): string =>
  resolve(cwd, env[homeVariable] || defaultHome)

/**
 * The token of `--token-file`, of the environment, of `gantry login`, or of the configuration folder, in that order.
 * @throws GantryError UNAUTHENTICATED that says how to get one
 */
export function findToken({ env, cwd, tokenFile }: TokenPlaces): FoundToken {
  if (tokenFile !== undefined) {
    const source = `--token-file ${tokenFile}`
    return parsed(requireText(resolve(cwd, tokenFile), source), source)
  }
  const fromEnvironment = env[tokenVariable]?.trim()
  if (fromEnvironment) return parsed(fromEnvironment, tokenVariable)
  const sessionPath = userSessionPath(env)
  const session = sessionPath === undefined ? undefined : read(sessionPath)?.trim()
  if (session) return { ...parsed(session, `${sessionPath} (of "${product} login")`), isUserSession: true }
  const path = join(homeFolder({ env, cwd }), files.credentials)
  const stored = read(path)?.trim()
  if (stored) return parsed(stored, path)
  throw new GantryError(
    'UNAUTHENTICATED',
    `no token: ${path} is not there; "npm start" makes it; sign in with "${product} login", or give the token of a platform elsewhere in ${tokenVariable} or --token-file`,
  )
}

function parsed(token: string, source: string): FoundToken {
  const { location } = parseToken(token) ?? {}
  if (location !== undefined) return { token, source, location }
  throw new GantryError('UNAUTHENTICATED', `what is in ${source} is no API token of this platform`)
}

function requireText(path: string, source: string): string {
  const text = read(path)?.trim()
  if (text) return text
  const reason = text === undefined ? 'is not there' : 'is empty'
  throw new GantryError('UNAUTHENTICATED', `${source} ${reason}`)
}

function read(path: string): string | undefined {
  try {
    return readTextFile(path)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new GantryError('UNAUTHENTICATED', `${path} cannot be read (${code})`, { cause })
  }
}
