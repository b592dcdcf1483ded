import { ConfigError } from '../../config/config-error.ts'
import { problemOfFile } from '../../config/file-problem.ts'
import { type GivenPorts, givenPorts, PortsError } from '../../config/ports.ts'
import { flagOf, offsetKey, type PortKey, portKeys } from '../../config/port-settings.ts'
import { reachOf } from '../../config/reach.ts'
import type { Log } from '../../broker/common/log.ts'
import { defaultLeaseMs } from '../../broker/lease/lease.ts'
import { findNatsServer } from '../../broker/server/nats-server.ts'
import { isGantryError } from '../../subjects/kit/errors.ts'
import { defaultLogLevel } from '../../subjects/observability/logging.ts'
import type { Context } from '../context.ts'
import { exitCodes } from '../exit-codes.ts'
import { oneLine } from '../failure.ts'
import { requireHome } from '../home.ts'
import { createLog } from '../log.ts'
import { startPlatform } from '../assembly/platform.ts'
import { stopSignals } from '../signals.ts'
import { homeFolder } from '../sign-in/token.ts'
import { buildUi } from '../../ui/build/build.ts'
import { composeVariable } from '../typed-command.ts'
import { lastStart, noteStart } from './last-start.ts'
import { movedText, readyText, startText } from './text.ts'

export interface UpOptions {
  readonly logLevel: string
  /** As they are typed. */
  readonly ports: Readonly<Partial<Record<PortKey, string>>>
}

/** `gantry up`: runs the platform until Ctrl-C. Resolves to the exit code; throws what nobody expected. */
export async function up(context: Context, options: UpOptions): Promise<number> {
  const { logLevel, ports } = options
  const { terminal, env } = context
  const home = homeFolder(context)
  const signals = stopSignals(() => process.exit(exitCodes.interrupted.status))
  const log = await createLog(logLevel, { colour: terminal.errColours })
  let stopping = false
  void signals.first.then(() => {
    stopping = true
    terminal.out('\nStopping gracefully; press Ctrl-C again to stop immediately.\n')
  })
  try {
    const given = givenPorts(ports, env)
    const reach = reachOf(env)
    requireHome(home)
    const { path: natsServer } = await findNatsServer({ log, env })
    const uiFolder = await interfaceFolder(log)
    if (stopping) return exitCodes.ok.status
    const platform = await startPlatform({
      home,
      natsServer,
      ports: given,
      reach,
      ...(uiFolder !== undefined && { uiFolder }),
      ...(isAnybodys(terminal.command.here) && { command: terminal.command.here }),
      leaseMs: leaseMsOf(env),
      // An orderly stop would write: work in progress is left as after a kill.
      onLeaseLost: (reason) => {
        terminal.err(
          `${terminal.errStyle('red', 'error:')} Gantry has stopped because its lease on the store ended: ${reason}.\nStart it again: ${startText(terminal, env, flagsOf(options, ports))}\n`,
        )
        process.exit(exitCodes.failed.status)
      },
      log,
    })
    const last = lastStart(home)
    noteStart(home, { broker: platform.tcpUrl, flags: lastingFlags(options, given, env) })
    if (!stopping) {
      if (last !== undefined && last.broker !== platform.tcpUrl)
        terminal.out(movedText(terminal, env, last, platform.tcpUrl))
      terminal.out(readyText(terminal, platform, { home, env, seconds: process.uptime() }))
      platform.markPasswordsSeen()
    }
    await signals.first
    await platform.stop()
    terminal.out('Stopped.\n')
    return exitCodes.ok.status
  } catch (error) {
    const text = configurationText(error)
    if (text === undefined) throw error
    terminal.err(`${terminal.errStyle('red', 'error:')} ${text}\n`)
    if (error instanceof PortsError && error.freeOffset !== undefined)
      terminal.err(
        `Start on free ports: ${startText(terminal, env, flagsOf(options, { ...ports, [offsetKey]: String(error.freeOffset) }))}\n`,
      )
    return exitCodes.failed.status
  } finally {
    signals.dispose()
  }
}

/** The folder of the web interface; undefined where it cannot be built, as by who may not write to the program's folder. */
async function interfaceFolder(log: Log): Promise<string | undefined> {
  try {
    return await buildUi((text) => log.info({}, text))
  } catch (err) {
    log.warn({ err }, 'The web interface cannot be built; Gantry starts without it.')
    return undefined
  }
}

/** Whether pages that everybody may read can have it: where something is on this host is nobody's business. */
const isAnybodys = (command: string): boolean => !/^'?\//.test(command)

/** The time of a lease, if `GANTRY_LEASE_SECONDS` sets another. @throws ConfigError */
function leaseMsOf(env: NodeJS.ProcessEnv): number {
  const text = env['GANTRY_LEASE_SECONDS']
  if (text === undefined || text === '') return defaultLeaseMs
  const seconds = Number(text)
  if (!(seconds >= minLeaseSeconds && seconds <= maxLeaseSeconds))
    throw new ConfigError(
      `GANTRY_LEASE_SECONDS must be a number from ${minLeaseSeconds} to ${maxLeaseSeconds}, not ${JSON.stringify(text)}`,
    )
  return seconds * 1_000
}
/** Less would end a platform whenever its machine is busy. */
const minLeaseSeconds = 2
/** Whoever restarts on another host waits for so long. */
const maxLeaseSeconds = 600

/** The flags of a start as they are typed, with these ports. */
const flagsOf = ({ logLevel }: UpOptions, ports: UpOptions['ports']): string[] => [
  ...portKeys.flatMap((key) => (ports[key] === undefined ? [] : [flagOf(key), ports[key]])),
  ...(logLevel === defaultLogLevel ? [] : ['--log-level', logLevel]),
]

/** The same with the ports of the environment, which the next shell may not have; a container has them again by itself. */
function lastingFlags(options: UpOptions, ports: GivenPorts, env: NodeJS.ProcessEnv): string[] {
  if (env[composeVariable]) return []
  const values = portKeys.map((key) => [key, ports[key]?.value.toString()] as const)
  return flagsOf(options, Object.fromEntries(values))
}

/** What is to be mended, a line for each, for faults of the configuration and the machine; undefined for our own. */
function configurationText(error: unknown): string | undefined {
  if (error instanceof ConfigError && error.problems.length > 1)
    return [
      `${error.problems.length} settings cannot be used:`,
      ...error.problems.map((problem) => `  ${oneLine(problem)}`),
    ].join('\n')
  if (error instanceof ConfigError || isGantryError(error, 'INVALID_INPUT')) return oneLine(error.message)
  const problem = problemOfFile(error)
  return problem === undefined ? undefined : oneLine(problem)
}
