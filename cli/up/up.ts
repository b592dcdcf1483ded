import { ConfigError } from '../../config/config-error.ts'
import { defaultLeaseMs } from '../../broker/lease/lease.ts'
import { findNatsServer } from '../../broker/server/nats-server.ts'
import { isGantryError } from '../../subjects/kit/errors.ts'
import type { Context } from '../context.ts'
import { exitCodes } from '../exit-codes.ts'
import { oneLine } from '../failure.ts'
import { requireHome } from '../home.ts'
import { createLog } from '../log.ts'
import { startPlatform } from '../assembly/platform.ts'
import { stopSignals } from '../signals.ts'
import { homeFolder } from '../sign-in/token.ts'
import { readyText } from './text.ts'

/** `gantry up`: runs the platform until Ctrl-C. Resolves to the exit code; throws what nobody expected. */
export async function up(context: Context, { logLevel }: { logLevel: string }): Promise<number> {
  const { terminal, env } = context
  const home = homeFolder(context)
  const signals = stopSignals(() => process.exit(exitCodes.interrupted.status))
  const log = await createLog(logLevel, { colour: terminal.errColours })
  let stopping = false
  void signals.first.then(() => {
    stopping = true
    terminal.out('\nStopping in order; Ctrl-C again ends at once.\n')
  })
  try {
    requireHome(home)
    const { path: natsServer } = await findNatsServer({ log, env })
    if (stopping) return exitCodes.ok.status
    const platform = await startPlatform({
      home,
      natsServer,
      leaseMs: leaseMsOf(env),
      // An orderly stop would write: work in progress is left as after a kill.
      onLeaseLost: (reason) => {
        terminal.err(
          `${terminal.errStyle('red', 'error:')} Gantry has ended, as its lease on the store is over: ${reason}. Start it again.\n`,
        )
        process.exit(exitCodes.failed.status)
      },
      log,
    })
    if (!stopping) terminal.out(readyText(terminal, platform, { home, env, seconds: process.uptime() }))
    await signals.first
    await platform.stop()
    terminal.out('Stopped.\n')
    return exitCodes.ok.status
  } catch (error) {
    const line = configurationLine(error)
    if (line === undefined) throw error
    terminal.err(`${terminal.errStyle('red', 'error:')} ${line}\n`)
    return exitCodes.failed.status
  } finally {
    signals.dispose()
  }
}

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

/** The one line that says what to mend, for faults of the configuration and the machine; undefined for our own. */
function configurationLine(error: unknown): string | undefined {
  if (error instanceof ConfigError || isGantryError(error, 'INVALID_INPUT')) return oneLine(error.message)
  const { code, path, syscall } = error as NodeJS.ErrnoException
  if (path === undefined || syscall === undefined) return undefined
  return oneLine(`${path} cannot be used (${syscall}: ${code}): is it yours, and is there space on its disk?`)
}
