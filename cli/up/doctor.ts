import { join } from 'node:path'
import { isGantryError } from '../../subjects/kit/errors.ts'
import { type Capabilities, type Key, keys } from '../../subjects/access/keys.ts'
import { files, product } from '../../subjects/kit/names.ts'
import { type Context, type Globals, withSession } from '../context.ts'
import { keyIdOf } from '../../broker/identity/token.ts'
import { exitCodeOf, exitCodes } from '../exit-codes.ts'
import { presentOwn } from '../output/present.ts'
import { pairsText, tableText } from '../output/table.ts'
import type { Session } from '../sign-in/session.ts'
import { asTyped } from '../as-typed.ts'
import { type Check, hostChecks, platformChecks } from './checks.ts'
import { findToken, type FoundToken, homeFolder } from '../sign-in/token.ts'

interface Finding {
  /** Unknown where the platform does not answer. */
  readonly valid?: boolean
  readonly source: string
  readonly platform: string
  readonly explanation: string
  /** What the key may publish and subscribe to, where that could be asked. */
  readonly may?: Capabilities
}

const signs = { ok: 'ok', warn: 'look', fail: 'wrong' } as const

/**
 * `gantry doctor`: whether the token in use opens the platform, and why not; what else is wrong with the platform and, where
 * its configuration is here, with this host. Resolves to the exit code.
 */
export async function doctor(context: Context, globals: Globals): Promise<number> {
  const { terminal, env } = context
  const { finding, status, isUp, checks: others } = await examined(context, globals)
  const { source, platform, valid, explanation, may } = finding
  const rows: (readonly [string, string])[] = [
    ['token', source],
    ['platform', platform],
    ['valid', valid === undefined ? 'unknown' : valid ? 'yes' : 'no'],
    ['explanation', explanation],
    ...(may === undefined
      ? []
      : ([
          ['may publish', rulesText(may.pub)],
          ['may subscribe', rulesText(may.sub)],
        ] as const)),
  ]
  const checks = [...(await hostChecks(homeFolder(context), env, isUp)), ...others]
  presentOwn(terminal, globals, { ...finding, checks }, () => {
    const lines = checks.map(({ check, result, detail, fix = '' }) => [
      signs[result],
      check,
      asTyped(terminal, detail),
      asTyped(terminal, fix),
    ])
    return `${pairsText(
      terminal,
      rows.map(([name, text]) => [name, asTyped(terminal, text)]),
    )}\n${tableText(terminal, ['result', 'check', 'detail', 'fix'], lines)}`
  })
  const isWrong = checks.some(({ result }) => result === 'fail')
  return status === exitCodes.ok.status && isWrong ? exitCodes.failed.status : status
}

/** What the platform says of the token, and of itself. */
interface Examined {
  readonly finding: Finding
  /** Exit code, unless something else is wrong too. */
  readonly status: number
  /** Whether the platform answers. */
  readonly isUp: boolean
  readonly checks: readonly Check[]
}

async function examined(context: Context, globals: Globals): Promise<Examined> {
  let found: FoundToken
  try {
    found = findToken({ ...context, tokenFile: globals.tokenFile })
  } catch (error) {
    if (!isGantryError(error, 'UNAUTHENTICATED')) throw error
    return withoutToken(context, globals, error.message)
  }
  const about = { source: found.source, platform: globals.server ?? found.location.nats }
  const checks: Check[] = []
  try {
    const key = await withSession(context, globals, async (session) => {
      checks.push(...(await platformChecks(session)))
      return session.call(keys.self, {})
    })
    return { finding: { ...about, ...rightToken(key) }, status: exitCodes.ok.status, isUp: true, checks }
  } catch (error) {
    // A key that may not ask for itself is let in nevertheless.
    if (isGantryError(error, 'DENIED')) {
      const finding = { ...about, ...(await narrowToken(context, globals, found)) }
      return { finding, status: exitCodes.ok.status, isUp: true, checks }
    }
    const status = exitCodeOf(error)
    const explanation = await reasonOf(context, globals, found, error)
    const isUp = status !== exitCodes.unreachable.status
    checks.unshift(failed(isUp ? 'token' : 'platform', explanation))
    const finding = { ...about, ...(isUp ? { valid: false } : {}), explanation }
    return { finding, status, isUp, checks }
  }
}

/** What failed, of an error that says its reason first and then its fix. */
function failed(check: string, text: string): Check {
  const [detail = text, ...fix] = text.split(/(?<=[;.]) |(?<=respond): /)
  return { check, result: 'fail', detail: detail.replace(/[;.]$/, ''), fix: fix.join(' ') }
}

/** Where no token can be used, the local operator may ask the platform, where there is one. */
async function withoutToken(context: Context, globals: Globals, reason: string): Promise<Examined> {
  const token = failed('token', reason)
  const finding = { valid: false, source: 'none', platform: globals.server ?? 'unknown', explanation: reason }
  const of = (isUp: boolean, checks: readonly Check[]) => ({
    finding,
    status: exitCodes.denied.status,
    isUp,
    checks: [token, ...checks],
  })
  try {
    return of(true, await asOperator(context, globals, platformChecks))
  } catch {
    const { runningAt } = await import('./running.ts')
    return of((await runningAt(homeFolder(context))) !== undefined, [])
  }
}

const rulesText = ({ allow }: Capabilities['pub']): string =>
  allow.length === 0 ? 'nothing' : allow.join(', ')

function rightToken({ id, name, expires, capabilities: may }: Key) {
  const end = expires === undefined ? 'it does not expire' : `it expires at ${expires}`
  return { valid: true, explanation: `the token belongs to key ${id} (${name}); ${end}`, may }
}

/** The local operator may look at the key, where there is one. */
async function narrowToken(context: Context, globals: Globals, { token }: FoundToken) {
  const id = keyIdOf(token) ?? ''
  try {
    return rightToken(await asOperator(context, globals, (session) => session.call(keys.get, { id })))
  } catch {
    return {
      valid: true,
      explanation: `the token is valid, but key ${id} may not read its own permissions: its owner can run "${product} keys get ${id}"; for the operator key of this host, run "${product} credential recover"`,
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
    const told = await asOperator(context, globals, (session) => session.call(keys.examine, { token }))
    return told.explanation
  } catch {
    return `${message}; an administrator of that platform can find the cause with "${product} keys examine --token -"`
  }
}

/** Asks with the token that the platform has left in its configuration folder. */
const asOperator = <T>(
  context: Context,
  globals: Globals,
  ask: (session: Session) => Promise<T>,
): Promise<T> =>
  withSession(context, { ...globals, tokenFile: join(homeFolder(context), files.credentials) }, ask)
