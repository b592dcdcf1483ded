import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { Output } from '../../subjects/kit/contract.ts'
import { GantryError, isGantryError } from '../../subjects/kit/errors.ts'
import { httpServers, loopback } from '../../subjects/kit/names.ts'
import { signIn } from '../../subjects/access/sign-in.ts'
import { type Context, type Globals, withSession } from '../context.ts'
import { listenForCallback } from './loopback-callback.ts'
import { presentOwn } from '../output/present.ts'
import { callPublic } from '../commands/public-call.ts'
import { printable, type Terminal } from '../output/terminal.ts'
import { findToken } from './token.ts'
import { removeUserSession, userSessionPath, writeUserSession } from './user-session.ts'

export interface LoginOptions {
  /** Address of the platform's REST server. */
  readonly url: string | undefined
  /** Whether a browser is opened; its address is printed in any case. */
  readonly browser: boolean
  /** Whether the browser is on another machine. */
  readonly device: boolean
}

type SignedIn = Output<(typeof signIn)['complete']>

/** `gantry login`: signs in with a browser, and keeps the session for the commands that follow. */
export async function login(
  context: Context,
  globals: Globals,
  { url, browser, device }: LoginOptions,
): Promise<void> {
  const { terminal, env } = context
  const platformUrl = requireUrl(url ?? presentUrl(context, globals))
  const session = await (device ? byDevice(terminal, platformUrl) : byBrowser(terminal, platformUrl, browser))
  const path = writeUserSession(env, session)
  const { token: _secret, ...shown } = session
  const { name, subject, roles } = session.user
  const who = `${printable(name ?? subject)} (${roles.length === 0 ? 'no roles' : roles.join(', ')})`
  presentOwn(
    terminal,
    globals,
    shown,
    () => `Signed in as ${who} until ${session.expires}; the session is in ${path}.\n`,
  )
}

/** The browser on this machine comes back with what the platform then exchanges. */
async function byBrowser(terminal: Terminal, platformUrl: string, browser: boolean): Promise<SignedIn> {
  await using callback = await listenForCallback()
  const { redirectUri } = callback
  const begun = await callPublic(platformUrl, signIn.begin, { client: 'cli', redirectUri })
  const { authorizationUrl, flow, expires } = begun
  terminal.err(`Sign in with a browser on this machine:\n  ${printable(authorizationUrl)}\n`)
  if (browser) openBrowser(authorizationUrl)
  const state = new URL(authorizationUrl).searchParams.get('state') ?? ''
  const query = await beforeEnd(callback.wait(state), Date.parse(expires))
  return callPublic(platformUrl, signIn.complete, { flow, callback: query })
}

/** Somebody enters the code with a browser anywhere, while we ask whether that has happened. */
async function byDevice(terminal: Terminal, platformUrl: string): Promise<SignedIn> {
  const begun = await callPublic(platformUrl, signIn['device-begin'], {})
  const { verificationUri, userCode, flow, expires } = begun
  terminal.err(
    `Sign in with a browser on any machine:\n  ${printable(verificationUri)}\n  code ${printable(userCode)}\n`,
  )
  let { waitSeconds } = begun
  while (Date.now() < Date.parse(expires)) {
    await delay(waitSeconds * 1_000)
    const answer = await callPublic(platformUrl, signIn['device-poll'], { flow })
    if (answer.session !== undefined) return answer.session
    waitSeconds = Math.max(waitSeconds, answer.waitSeconds ?? 0)
  }
  throw nobodyCame()
}

/** `gantry logout`: ends the session and forgets it, also when it is over already or the platform is away. */
export async function logout(context: Context, globals: Globals): Promise<void> {
  const { terminal, env } = context
  const path = userSessionPath(env)
  if (path === undefined || !existsSync(path)) {
    terminal.err('Not signed in.\n')
    return
  }
  try {
    const own = { ...globals, tokenFile: path }
    const { endSessionUrl } = await withSession(context, own, (session) => session.call(signIn.out, {}))
    terminal.out('Signed out.\n')
    if (endSessionUrl !== undefined)
      terminal.err(`To sign out at the identity provider as well:\n  ${printable(endSessionUrl)}\n`)
  } catch (error) {
    if (!isGantryError(error, 'UNAUTHENTICATED')) throw error
    terminal.out('Signed out; the session had already ended.\n')
  } finally {
    removeUserSession(path)
  }
}

/** The platform of the token in use; without one, a platform on this host. */
function presentUrl({ env, cwd }: Context, { tokenFile }: Globals): string {
  try {
    return findToken({ env, cwd, tokenFile }).location.http
  } catch {
    return `http://${loopback}:${httpServers.platform.port}`
  }
}

function requireUrl(text: string): string {
  const url = URL.parse(text)
  if (url !== null && /^https?:$/.test(url.protocol)) return url.origin
  throw new GantryError(
    'INVALID_INPUT',
    `${text} is not the address of a platform: use an address such as https://gantry.example`,
  )
}

async function beforeEnd<T>(result: Promise<T>, endMs: number): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(nobodyCame()), endMs - Date.now())
  return Promise.race([result, promise]).finally(() => clearTimeout(timer))
}

const nobodyCame = () => new GantryError('TIMEOUT', 'the sign-in has timed out: run the command again')

/** How systems open an address; where there is no browser, the printed one has to do. */
const openers: Partial<Record<NodeJS.Platform, [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}

function openBrowser(url: string): void {
  const [program, ...args] = openers[process.platform] ?? ['xdg-open']
  const child = spawn(program, [...args, url], { stdio: 'ignore', detached: true })
  child.on('error', () => undefined)
  child.unref()
}
