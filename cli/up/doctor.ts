import { join } from 'node:path'
import { isGantryError } from '../../subjects/kit/errors.ts'
import { type Capabilities, type Key, keys } from '../../subjects/access/keys.ts'
import { files, product } from '../../subjects/kit/names.ts'
import { type Context, type Globals, withSession } from '../context.ts'
import { keyIdOf } from '../../broker/identity/token.ts'
import { exitCodeOf, exitCodes } from '../exit-codes.ts'
import { jsonText } from '../output/present.ts'
import { pairsText } from '../output/table.ts'
import type { Session } from '../sign-in/session.ts'
import { findToken, type FoundToken, homeFolder } from '../sign-in/token.ts'

interface Finding {
  readonly valid: boolean
  readonly source: string
  readonly platform: string
  readonly explanation: string
  /** What the key may publish and subscribe to, where that could be asked. */
  readonly may?: Capabilities
}

/** `gantry doctor`: whether the token in use opens the platform, and why not. Resolves to the exit code. */
export async function doctor(context: Context, globals: Globals): Promise<number> {
  const { terminal, env, cwd } = context
  const found = findToken({ env, cwd, tokenFile: globals.tokenFile })
  const about = { source: found.source, platform: globals.server ?? found.location.nats }
  let finding: Finding
  let status: number = exitCodes.ok.status
  try {
    const key = await withSession(context, globals, (session) => session.call(keys.self, {}))
    finding = { ...about, ...rightToken(key) }
  } catch (error) {
    // A key that may not ask for itself is let in nevertheless.
    if (isGantryError(error, 'DENIED')) {
      finding = { ...about, ...(await narrowToken(context, globals, found)) }
    } else {
      status = exitCodeOf(error)
      finding = { ...about, valid: false, explanation: await reasonOf(context, globals, found, error) }
    }
  }
  const { source, platform, valid, explanation, may } = finding
  const rows: (readonly [string, string])[] = [
    ['token', source],
    ['platform', platform],
    ['valid', valid ? 'yes' : 'no'],
    ['explanation', explanation],
    ...(may === undefined
      ? []
      : ([
          ['may publish', rulesText(may.pub)],
          ['may subscribe', rulesText(may.sub)],
        ] as const)),
  ]
  terminal.out(globals.json ? jsonText(terminal, finding) : pairsText(terminal, rows))
  return status
}

const rulesText = ({ allow }: Capabilities['pub']): string =>
  allow.length === 0 ? 'nothing' : allow.join(', ')

function rightToken({ id, name, expires, capabilities: may }: Key) {
  const end = expires === undefined ? 'it does not expire' : `it expires at ${expires}`
  return { valid: true, explanation: `the token of key ${id} (${name}); ${end}`, may }
}

/** The local operator may look at the key, where there is one. */
async function narrowToken(context: Context, globals: Globals, { token }: FoundToken) {
  const id = keyIdOf(token) ?? ''
  try {
    return rightToken(await asOperator(context, globals, (session) => session.call(keys.get, { id })))
  } catch {
    return {
      valid: true,
      explanation: `the token is right; key ${id} may not ask what it may do: its owner sees it with ${product} keys get ${id}; if it is the operator key of this host, make it an administrator again with ${product} credential recover`,
    }
  }
}

/** What the local operator is told of the token, where there is one; else what anybody is. */
async function reasonOf(
  context: Context,
  globals: Globals,
  { token }: FoundToken,
  error: unknown,
): Promise<string> {
  const message = error instanceof Error ? error.message : String(error)
  if (!isGantryError(error, 'UNAUTHENTICATED')) return message
  try {
    const examined = await asOperator(context, globals, (session) => session.call(keys.examine, { token }))
    return examined.explanation
  } catch {
    return `${message}; an administrator of that platform learns why: ${product} keys examine --token -`
  }
}

/** Asks with the token that the platform has left in its configuration folder. */
const asOperator = <T>(
  context: Context,
  globals: Globals,
  ask: (session: Session) => Promise<T>,
): Promise<T> =>
  withSession(context, { ...globals, tokenFile: join(homeFolder(context), files.credentials) }, ask)
