import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, chmodSync, constants, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { ConfigError } from '../../config/config-error.ts'
import { type ConfiguredPort, requirePorts } from '../../config/ports.ts'
import { portSettings } from '../../config/port-settings.ts'
import { readTextFile, writeSecretFile } from '../common/files.ts'
import type { Identity } from '../identity/identity.ts'
import { loopback } from '../../subjects/kit/names.ts'
import type { Log } from '../common/log.ts'
import { processorMs } from '../common/process-stat.ts'
import type { MessagingConfig } from '../../config/messaging.ts'
import { awaitPredecessor, readPid } from './predecessor.ts'
import { hostAndPort, serverConfig, serverName } from './configuration.ts'

/** Where native clients on this host reach the broker. */
export const brokerUrl = ({ host, port }: Pick<MessagingConfig, 'host' | 'port'>): string =>
  `nats://${hostAndPort(host, port)}`

/** The server is ready 15 ms after its start; recovering large streams takes seconds. */
const startTimeoutMs = 30_000
/** The server stops in order within a second; after this it is killed, which loses nothing that was acknowledged. */
const stopTimeoutMs = 10_000
/** The server greets each client at once. */
const greetingTimeoutMs = 1_000
const readyPollMs = 5
/**
 * What the server may use besides its memory streams before Go collects garbage more often than it does by itself. Left
 * alone, it keeps twice what is in use, and a flood that it holds for a moment stays on the machine.
 */
const workingBytes = 256 * 2 ** 20
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
  /** Path of nats-server's own log. */
  readonly logFile: string
  /** Process id of nats-server itself, which changes when it was restarted. */
  pid(): number | undefined
  /** Processor time that it has used since its start, ms; undefined while it is down, and where nobody knows. */
  processorMs(): number | undefined
  /**
   * The platform is stopping, and still needs it: should it end now, by a signal that was for all processes at once, it is
   * not started again, and `onEnd` is called.
   */
  expectEnd(onEnd: () => void): void
  stop(): Promise<void>
}

export interface BrokerOptions {
  /** Path of nats-server. */
  readonly binary: string
  /** Folder for the generated configuration, log and pid file. */
  readonly runDir: string
  readonly identity: Identity
  readonly messaging: MessagingConfig
  /** Its own two ports, then those of servers that start after it: what is wrong with any is told at once. */
  readonly ports?: readonly ConfiguredPort[]
  readonly log: Log
}

/** Its ports by its own file. */
const portsOf = ({ host, port, websocketPort }: MessagingConfig): ConfiguredPort[] =>
  (
    [
      ['broker', port],
      ['websocket', websocketPort],
    ] as const
  ).map(([name, one]) => {
    const { file, portKey, addressKey } = portSettings[name]
    return { source: file, portKey, addressKey, host, port: one }
  })

/**
 * Starts nats-server as a child process and keeps it running until `stop`.
 * @throws ConfigError when ports are taken or the server does not start, with its own last words.
 */
export async function startBroker(options: BrokerOptions): Promise<BrokerServer> {
  const { runDir, messaging, log } = options
  requireProgram(options.binary)
  mkdirSync(runDir, { recursive: true, mode: 0o700 })
  const pidFile = join(runDir, 'nats-server.pid')
  const ownerFile = join(runDir, 'owner.pid')
  const configFile = join(runDir, 'nats-server.conf')
  const logFile = join(runDir, 'nats-server.log')
  await awaitPredecessor({ pidFile, ownerFile, configFile }, { log, patienceMs: stopTimeoutMs })
  writeFileSync(ownerFile, `${process.pid}\n`)
  const [port = 0, websocketPort = 0] = await requirePorts(options.ports ?? portsOf(messaging))
  writeSecretFile(configFile, await serverConfig(options, { port, websocketPort, pidFile, logFile }))
  writeFileSync(logFile, '', { flag: 'a', mode: 0o600 })
  chmodSync(logFile, 0o600)
  const host = connectableHost(messaging.host)

  let started = false
  let stopping = false
  let ended = false
  let whenEnded: (() => void) | undefined
  let child: ChildProcess
  /** Of nats-server itself, while it runs. */
  let serverPid: number | undefined
  const run = async (): Promise<void> => {
    child = spawn('/bin/sh', ['-c', watchdog, 'sh', options.binary, '-c', configFile], {
      stdio: ['pipe', 'ignore', 'ignore'],
      env: { GOMEMLIMIT: String(messaging.maxMemBytes + workingBytes), ...process.env },
      // Its own group: Ctrl-C in a terminal reaches us alone, and we stop the server last.
      detached: true,
    })
    child.once('error', (err) => log.error({ err }, 'nats-server could not be started.'))
    child.once('exit', (code, signal) => {
      serverPid = undefined
      // The first start is reported to whoever asked for it, and not repeated.
      if (stopping || !started) return
      ended = true
      whenEnded?.()
      setTimeout(() => void restart({ code, signal }), restartDelayMs)
    })
    await ready(child, { host, port, name: serverName(options.identity), logFile })
    serverPid = readPid(pidFile)
  }
  const restart = async (end: { code: number | null; signal: NodeJS.Signals | null }): Promise<void> => {
    if (stopping || whenEnded !== undefined) return
    log.error({ ...end, logFile }, 'nats-server stopped; restarting it.')
    try {
      ended = false
      await run()
      log.info({}, 'nats-server is running again.')
    } catch (error) {
      log.error({ err: error }, 'nats-server could not be restarted; retrying.')
    }
  }
  const stop = async (): Promise<void> => {
    stopping = true
    await stopChild(child, pidFile)
  }
  try {
    await run()
    started = true
    writeFileSync(addressPath(runDir), `${brokerUrl({ host, port })}\n`, { mode: 0o600 })
  } catch (error) {
    await stop()
    throw error
  }
  return {
    tcpUrl: brokerUrl({ host, port }),
    websocketUrl: `ws://${hostAndPort(host, websocketPort)}`,
    logFile,
    pid: () => readPid(pidFile),
    processorMs: () => (serverPid === undefined ? undefined : processorMs(serverPid)),
    expectEnd: (onEnd) => {
      whenEnded = onEnd
      if (ended) onEnd()
    },
    stop: async () => {
      rmSync(addressPath(runDir), { force: true })
      await stop()
    },
  }
}

const addressPath = (runDir: string): string => join(runDir, 'broker.url')

/** Where the broker of a folder was started last, which its configuration alone does not say; undefined after an orderly end. */
export const lastBrokerUrl = (runDir: string): string | undefined => readTextFile(addressPath(runDir))?.trim()

/** Where clients on this machine reach a server that listens on all addresses. */
const connectableHost = (host: string): string => (host === '0.0.0.0' || host === '::' ? loopback : host)

function requireProgram(binary: string): void {
  try {
    accessSync(binary, constants.X_OK)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new ConfigError(`nats-server cannot be run from ${binary} (${code})`, { cause })
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

interface Expected {
  host: string
  port: number
  /** The server's own name, as it introduces itself. */
  name: string
  logFile: string
}

/** Resolves when the server serves. @throws ConfigError with its last words when it ends, or takes too long */
async function ready(child: ChildProcess, { host, port, name, logFile }: Expected): Promise<void> {
  const deadline = Date.now() + startTimeoutMs
  for (;;) {
    if (child.exitCode !== null || child.signalCode !== null || Date.now() > deadline) {
      const lastWords = (readTextFile(logFile) ?? '').trimEnd().split('\n').slice(-3).join(' | ')
      throw new ConfigError(`nats-server did not start (log: ${logFile}): ${lastWords}`)
    }
    if (await greets(host, port, name)) return
    await delay(readyPollMs)
  }
}

/** Whether our server is there: it greets each client. Another program may have taken the port, and may be silent. */
async function greets(host: string, port: number, name: string): Promise<boolean> {
  const socket = connect(port, host).setTimeout(greetingTimeoutMs)
  socket.once('timeout', () => socket.destroy())
  try {
    let greeting = ''
    for await (const chunk of socket) {
      greeting += String(chunk)
      if (greeting.includes('\n')) break
    }
    return greeting.includes(JSON.stringify(name))
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
