import { maxPayloadBytes } from '../common/message-limits.ts'
import { serverCredentials } from '../identity/account-jwts.ts'
import { product } from '../../subjects/kit/names.ts'
import type { Identity } from '../identity/identity.ts'
import type { MessagingConfig } from '../../config/messaging.ts'

/**
 * What the server holds for a connection before it closes it. A flood brings some 200 MB to a service before it is noticed
 * (`broker/callout/pending.ts`), and the service must not lose the requests of others with its connection. What it holds for
 * connections of keys is bounded there.
 */
const maxPendingBytes = 256 * 2 ** 20
/** A callout answers in 2 ms; a start on a busy machine may take longer. */
export const authTimeoutSeconds = 3

/** As in URLs: an IPv6 address is put in brackets. */
export const hostAndPort = (host: string, port: number): string =>
  `${host.includes(':') ? `[${host}]` : host}:${port}`

/** How the server introduces itself to clients. */
export const serverName = ({ instance }: Pick<Identity, 'instance'>): string => `${product}-${instance}`

/** The text of nats-server's configuration file: what the operator chose, and what the platform needs. */
export async function serverConfig(
  { identity, messaging }: { identity: Identity; messaging: MessagingConfig },
  run: { port: number; websocketPort: number; pidFile: string; logFile: string },
): Promise<string> {
  const { operator, sentinel, jwts, systemAccount } = await serverCredentials(identity)
  const quote = JSON.stringify
  const preload = Object.entries(jwts).map(
    ([name, jwt]) => `  ${identity[name as keyof typeof jwts].account.getPublicKey()}: ${jwt}`,
  )
  return `# Made by Gantry at each start; changes here are lost. See messaging.config.
server_name: ${quote(serverName(identity))}
listen: ${quote(hostAndPort(messaging.host, run.port))}
max_payload: ${maxPayloadBytes}
max_pending: ${maxPendingBytes}
pid_file: ${quote(run.pidFile)}
log_file: ${quote(run.logFile)}
logfile_size_limit: 10MB
logfile_max_num: 3
operator: ${operator}
system_account: ${systemAccount}
default_sentinel: ${sentinel}
authorization { timeout: ${authTimeoutSeconds} }
jetstream {
  store_dir: ${quote(messaging.storeDir)}
  max_mem: ${messaging.maxMemBytes}
  max_file: ${messaging.maxFileBytes}
  ${messaging.syncAlways ? 'sync_interval: always' : ''}
}
websocket {
  listen: ${quote(hostAndPort(messaging.host, run.websocketPort))}
  no_tls: true
  compression: true
  ${messaging.allowedOrigins.length > 0 ? `allowed_origins: ${quote(messaging.allowedOrigins)}` : 'same_origin: true'}
}
resolver: MEMORY
resolver_preload {
${preload.join('\n')}
}
`
}
