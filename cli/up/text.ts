import { join, relative } from 'node:path'
import { version } from '../../broker/common/version.ts'
import {
  defaultHome,
  files,
  homeVariable,
  type HttpServerName,
  httpServers,
  title,
} from '../../subjects/kit/names.ts'
import type { Platform } from '../assembly/platform.ts'
import { pairsText } from '../output/table.ts'
import type { Terminal } from '../output/terminal.ts'
import { composeVariable } from '../typed-command.ts'
import type { LastStart } from './last-start.ts'

/** Of what `gantry up` prints when everything is there. */
export const lastLine = 'Press Ctrl-C to stop.'

export interface ReadyOptions {
  readonly home: string
  readonly env: NodeJS.ProcessEnv
  /** How long the start took. */
  readonly seconds: number
}

/** What `up` says when all is ready: what runs where, how to sign in, what to try next. */
export function readyText(
  terminal: Terminal,
  platform: Platform,
  { home, env, seconds }: ReadyOptions,
): string {
  const { httpUrls, tcpUrl, websocketUrl } = platform
  const gantry = commandText(terminal, env)
  const servers = (Object.keys(httpServers) as HttpServerName[]).map((name): [string, string] => [
    `  ${httpServers[name].title}`,
    `${httpUrls[name]}${httpServers[name].docsPath}`,
  ])
  return [
    `${terminal.style('bold', `${title} ${version} is ready`)} (${seconds.toFixed(1)} s).\n\n`,
    pairsText(terminal, [...servers, ['  NATS, WebSocket', `${tcpUrl}, ${websocketUrl}`], ['  Data', home]]),
    '\n',
    ...signInLines(terminal, platform, gantry),
    `The API token for programs and the command line is in ${join(home, files.credentials)}.\n`,
    'Try in another terminal:\n',
    `  curl -H "Authorization: Bearer $(${gantry} credential token)" ${httpUrls.platform}/api/v1/apikey\n`,
    `  ${gantry} filesystems create-local here --role source --fs-root /usr/share\n`,
    `${lastLine}\n`,
  ].join('')
}

/** That the ports are others than those of the last start: tokens have the addresses of the time when they were created. */
export function movedText(
  terminal: Terminal,
  env: NodeJS.ProcessEnv,
  { broker, flags }: LastStart,
  tcpUrl: string,
): string {
  const same = flags.length === 0 ? 'the same ports' : `"${startText(terminal, env, flags)}"`
  return `The last start listened at ${broker}: tokens created then contain its addresses. Use them with --server ${tcpUrl}, or start with ${same}.\n`
}

function signInLines(
  terminal: Terminal,
  { signInUrl: url, isDevelopmentSignIn, developmentPasswords: passwords }: Platform,
  gantry: string,
): string[] {
  if (url === undefined) return []
  if (passwords === undefined) {
    const forgotten = `New password: ${gantry} credential reset-password administrator\n`
    return [`Sign in at ${url}.\n`, ...(isDevelopmentSignIn ? [forgotten] : [])]
  }
  const rows = Object.entries(passwords).map(([name, password]): [string, string] => [`  ${name}`, password])
  return [`Sign in at ${url}. The development passwords are shown only once:\n`, pairsText(terminal, rows)]
}

/** How a start with these flags is typed here. */
export const startText = (terminal: Terminal, env: NodeJS.ProcessEnv, flags: readonly string[]): string =>
  [
    ...(env['npm_command'] === 'start'
      ? [`${homeText(env)}npm start`, ...(flags.length > 0 ? ['--'] : [])]
      : [`${commandText(terminal, env)} up`]),
    ...flags,
  ].join(' ')

/** How the command is typed here, with the folder when that is not the default. */
const commandText = ({ command }: Terminal, env: NodeJS.ProcessEnv): string =>
  `${homeText(env)}${command.here}`

/** What stands before a command for a folder that is not the default, unless the container has the variable too. */
function homeText(env: NodeJS.ProcessEnv): string {
  const home = env[homeVariable]
  return !home || env[composeVariable] || relative(defaultHome, home) === '' ? '' : `${homeVariable}=${home} `
}
