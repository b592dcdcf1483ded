import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { serverCredentials } from './account-jwts.ts'
import { ConfigError } from './config-error.ts'
import { readTextFile, writeSecretFile } from './files.ts'
import type { Identity } from './identity.ts'
import type { Log } from './log.ts'
import type { MessagingConfig } from './messaging-config.ts'

/** Long enough for a page of 1,000 records of some kB; the server's own advice is to stay at or below 8 MB. */
export const maxPayloadBytes = 8 * 2 ** 20
/** A callout answers in 2 ms; a start on a busy machine may take longer. */
const authTimeoutSeconds = 3
/** The server is ready 15 ms after its start; recovering large streams takes seconds. */
const startTimeoutMs = 30_000
/** The server stops in order within a second; after this it is killed, which loses nothing that was acknowledged. */
const stopTimeoutMs = 10_000
/** Between restarts of a server that dies, so that a broken one does not burn a core. */
const restartDelayMs = 200

/**
 * Runs the server and watches standard input: when the platform dies, even by kill -9, the pipe closes and the server
 * is stopped. `read` is a builtin, so nothing is left over when the server ends first.
 */
const watchdog =
  'exec 3<&0; "$@" & pid=$!; (read _ <&3; kill -TERM $pid) & guard=$!; wait $pid; code=$?; kill $guard 2>/dev/null; exit $code'

export interface BrokerServer {
  readonly tcpUrl: string
  readonly websocketUrl: string
  /** Process id of nats-server itself, which changes when it was restarted. */
  pid(): number | undefined
  stop(): Promise<void>
}

export interface BrokerOptions {
  /** Path of nats-server. */
  readonly binary: string
  /** Folder for the generated configuration, log and pid file. */
  readonly runDir: string
  readonly identity: Identity
  readonly messaging: MessagingConfig
  readonly log: Log
}

/**
 * Starts nats-server as a child process and keeps it running until `stop`.
 * @throws ConfigError when a port is taken or the server does not start, with its own last words.
 */
export async function startBroker(options: BrokerOptions): Promise<BrokerServer> {
  const { runDir, messaging, log } = options
  mkdirSync(runDir, { recursive: true, mode: 0o700 })
  const pidFile = join(runDir, 'nats-server.pid')
  await endPredecessor(pidFile, log)
  const port = await requirePort('port', messaging.host, messaging.port)
  const websocketPort = await requirePort('websocket_port', messaging.host, messaging.websocketPort)
  const configFile = join(runDir, 'nats-server.conf')
  const logFile = join(runDir, 'nats-server.log')
  const text = await serverConfig(options, { port, websocketPort, pidFile, logFile })
  writeSecretFile(configFile, text)
  writeFileSync(logFile, '', { flag: 'a', mode: 0o600 })
  chmodSync(logFile, 0o600)

  let stopping = false
  let child: ChildProcess
  const run = async (): Promise<void> => {
    child = spawn('/bin/sh', ['-c', watchdog, 'sh', options.binary, '-c', configFile], {
      stdio: ['pipe', 'ignore', 'ignore'],
      // Its own group: Ctrl-C in a terminal reaches us alone, and we stop the server last.
      detached: true,
    })
    child.once('exit', (code, signal) => {
      if (stopping) return
      log.error({ code, signal, logFile }, 'nats-server ended; starting it again.')
      setTimeout(() => void restart(), restartDelayMs)
    })
    await ready(child, messaging.host, port, logFile)
  }
  const restart = async (): Promise<void> => {
    if (stopping) return
    try {
      await run()
      log.info({}, 'nats-server is back.')
    } catch (error) {
      log.error({ err: error }, 'nats-server does not start again; trying on.')
    }
  }
  await run()
  const host = messaging.host === '0.0.0.0' || messaging.host === '::' ? '127.0.0.1' : messaging.host
  return {
    tcpUrl: `nats://${host}:${port}`,
    websocketUrl: `ws://${host}:${websocketPort}`,
    pid: () => readPid(pidFile),
    stop: async () => {
      stopping = true
      await stopChild(child, pidFile)
    },
  }
}

async function stopChild(child: ChildProcess, pidFile: string): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.stdin?.end()
  const timer = setTimeout(() => {
    const pid = readPid(pidFile)
    if (pid !== undefined) process.kill(pid, 'SIGKILL')
  }, stopTimeoutMs)
  await exited
  clearTimeout(timer)
}

function readPid(pidFile: string): number | undefined {
  const pid = Number(readTextFile(pidFile))
  return Number.isInteger(pid) && pid > 0 && isAlive(pid) ? pid : undefined
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** After a kill -9 of the platform its server needs a moment to stop; ours must not find the ports taken. */
async function endPredecessor(pidFile: string, log: Log): Promise<void> {
  const pid = readPid(pidFile)
  if (pid === undefined || !isNatsServer(pid)) return
  log.info({ pid }, 'Waiting for the nats-server of the run before to stop.')
  const deadline = Date.now() + stopTimeoutMs
  while (isAlive(pid)) {
    if (Date.now() > deadline) process.kill(pid, 'SIGKILL')
    await delay(20)
  }
}

/** A pid may have been given to another program since; on systems without /proc we cannot tell and wait for nobody. */
function isNatsServer(pid: number): boolean {
  return readTextFile(`/proc/${pid}/cmdline`)?.includes('nats-server') ?? false
}

/** The port itself, or a free one for 0. @throws ConfigError when it is taken. */
async function requirePort(field: string, host: string, port: number): Promise<number> {
  const probe = createServer()
  try {
    probe.listen(port, host)
    await once(probe, 'listening')
    const address = probe.address()
    return typeof address === 'object' && address !== null ? address.port : port
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    const reason = code === 'EADDRINUSE' ? 'is taken by another program' : `cannot be used (${code})`
    throw new ConfigError(
      `messaging.config: port ${port} on ${host} ${reason}: stop what uses it, or change "${field}"`,
      { cause },
    )
  } finally {
    probe.close()
  }
}

async function ready(child: ChildProcess, host: string, port: number, logFile: string): Promise<void> {
  const deadline = Date.now() + startTimeoutMs
  const { connect } = await import('node:net')
  const connectHost = host === '0.0.0.0' ? '127.0.0.1' : host
  for (;;) {
    if (child.exitCode !== null || child.signalCode !== null || Date.now() > deadline) {
      const lastWords = (readTextFile(logFile) ?? '').trimEnd().split('\n').slice(-3).join(' | ')
      throw new ConfigError(`nats-server did not start (log: ${logFile}): ${lastWords}`)
    }
    const socket = connect(port, connectHost)
    // The server greets each client with INFO once it serves.
    const greeted = await Promise.race([
      once(socket, 'data').then(() => true),
      once(socket, 'error').then(() => false),
      once(socket, 'close').then(() => false),
    ]).catch(() => false)
    socket.destroy()
    if (greeted) return
    await delay(5)
  }
}

async function serverConfig(
  { identity, messaging }: BrokerOptions,
  run: { port: number; websocketPort: number; pidFile: string; logFile: string },
): Promise<string> {
  const { operator, sentinel, jwts, systemAccount } = await serverCredentials(identity)
  const quote = JSON.stringify
  const preload = Object.entries(jwts).map(
    ([name, jwt]) => `  ${identity[name as keyof typeof jwts].account.getPublicKey()}: ${jwt}`,
  )
  return `# Made by Gantry at each start; changes here are lost. See messaging.config.
server_name: ${quote(`gantry-${identity.instance}`)}
listen: ${quote(`${messaging.host}:${run.port}`)}
max_payload: ${maxPayloadBytes}
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
  listen: ${quote(`${messaging.host}:${run.websocketPort}`)}
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
