import { join, relative } from 'node:path'
import { version } from '../../broker/common/version.ts'
import {
  defaultHome,
  files,
  homeVariable,
  type HttpServerName,
  httpServers,
  product,
  title,
} from '../../subjects/kit/names.ts'
import type { Platform } from '../assembly/platform.ts'
import { pairsText } from '../output/table.ts'
import type { Terminal } from '../output/terminal.ts'

export interface ReadyOptions {
  readonly home: string
  readonly env: NodeJS.ProcessEnv
  /** How long the start took. */
  readonly seconds: number
}

/** What `up` says when all is ready: what runs where, how to sign in, what to try next. */
export function readyText(
  terminal: Terminal,
  { httpUrls, tcpUrl, websocketUrl, signInUrl, developmentPasswords }: Platform,
  { home, env, seconds }: ReadyOptions,
): string {
  const gantry = commandText(env)
  const servers = (Object.keys(httpServers) as HttpServerName[]).map((name): [string, string] => [
    `  ${httpServers[name].title}`,
    `${httpUrls[name]}${httpServers[name].docsPath}`,
  ])
  return [
    `${terminal.style('bold', `${title} ${version} is ready`)} (${seconds.toFixed(1)} s).\n\n`,
    pairsText(terminal, [...servers, ['  NATS, WebSocket', `${tcpUrl}, ${websocketUrl}`], ['  Data', home]]),
    '\n',
    ...signInLines(terminal, signInUrl, developmentPasswords),
    `Programs use the token in ${join(home, files.credentials)}; the command line finds it there.\n`,
    'Try in another terminal:\n',
    `  curl -H "Authorization: Bearer $(${gantry} credential token)" ${httpUrls.platform}/api/v1/apikey\n`,
    `  ${gantry} filesystems create-local here --role source --fs-root /usr/share\n`,
    'Ctrl-C stops it.\n',
  ].join('')
}

function signInLines(
  terminal: Terminal,
  url: Platform['signInUrl'],
  passwords: Platform['developmentPasswords'],
): string[] {
  if (url === undefined) return []
  if (passwords === undefined) return [`People sign in at ${url}.\n`]
  const rows = Object.entries(passwords).map(([name, password]): [string, string] => [`  ${name}`, password])
  return [
    `People sign in at ${url}; the passwords for development are shown this once:\n`,
    pairsText(terminal, rows),
  ]
}

/** How the command is typed here: through npx in a clone, and with the folder when that is not the default. */
function commandText(env: NodeJS.ProcessEnv): string {
  const command = env['npm_command'] === undefined ? product : `npx ${product}`
  const home = env[homeVariable]
  return !home || relative(defaultHome, home) === '' ? command : `${homeVariable}=${home} ${command}`
}
