import { join } from 'node:path'
import { isGantryError } from '../subjects/errors.ts'
import { keys } from '../subjects/keys.ts'
import { files, product } from '../subjects/names.ts'
import { type Context, type Globals, withSession } from './context.ts'
import { exitCodeOf, exitCodes } from './exit-codes.ts'
import { jsonText } from './present.ts'
import { pairsText } from './table.ts'
import { findToken, type FoundToken, homeFolder } from './token.ts'

interface Finding {
  readonly valid: boolean
  readonly source: string
  readonly platform: string
  readonly explanation: string
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
    const end = key.expires === undefined ? 'it does not expire' : `it expires at ${key.expires}`
    finding = { ...about, valid: true, explanation: `the token of key ${key.id} (${key.name}); ${end}` }
  } catch (error) {
    // A key that may not ask for itself is let in nevertheless.
    const isLetIn = isGantryError(error, 'DENIED')
    if (!isLetIn) status = exitCodeOf(error)
    const explanation = isLetIn
      ? 'the token is right; its key may do little'
      : await reasonOf(context, globals, found, error)
    finding = { ...about, valid: isLetIn, explanation }
  }
  const { source, platform, valid, explanation } = finding
  const rows: [string, string][] = [
    ['token', source],
    ['platform', platform],
    ['valid', valid ? 'yes' : 'no'],
    ['explanation', explanation],
  ]
  terminal.out(globals.json ? jsonText(terminal, finding) : pairsText(terminal, rows))
  return status
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
  const tokenFile = join(homeFolder(context), files.credentials)
  try {
    const examined = await withSession(context, { ...globals, tokenFile }, (session) =>
      session.call(keys.examine, { token }),
    )
    return examined.explanation
  } catch {
    return `${message}; an administrator of that platform learns why: ${product} keys examine --token -`
  }
}
