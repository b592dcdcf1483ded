import { setTimeout as delay } from 'node:timers/promises'
import { ConfigError } from '../../config/config-error.ts'
import { readTextFile } from '../common/files.ts'
import type { Log } from '../common/log.ts'

const pollMs = 20

/** The process of a pid file, if it runs. */
export function readPid(pidFile: string): number | undefined {
  const pid = Number(readTextFile(pidFile))
  return Number.isInteger(pid) && pid > 0 && isAlive(pid) ? pid : undefined
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    // Somebody else's process runs too.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
  // A process that has ended and was not waited for by its parent still has a number.
  return !/^State:\s+Z/m.test(readProc(pid, 'status'))
}

/** Empty where there is no such process any more, and on systems without /proc. */
function readProc(pid: number, file: string): string {
  try {
    return readTextFile(`/proc/${pid}/${file}`) ?? ''
  } catch {
    return ''
  }
}

/** What an earlier run left in the folder. */
export interface RunFiles {
  /** Process id of nats-server. */
  readonly pidFile: string
  /** Process id of the platform that started it. */
  readonly ownerFile: string
  /** nats-server's configuration, which its command line names. */
  readonly configFile: string
}

/**
 * After a kill -9 of the platform its server needs a moment to stop; ours must not find the ports taken, nor two servers
 * the same store. A number may have been given to another program since, which is left alone; on systems without /proc
 * we cannot tell, and wait for nobody.
 * @throws ConfigError when the platform that owns it is still running
 */
export async function awaitPredecessor(
  { pidFile, ownerFile, configFile }: RunFiles,
  { log, patienceMs }: { log: Log; patienceMs: number },
): Promise<void> {
  const pid = readPid(pidFile)
  if (pid === undefined || !readProc(pid, 'cmdline').includes(configFile)) return
  const owner = readPid(ownerFile)
  if (owner !== undefined) {
    throw new ConfigError(
      `another Gantry uses this folder (process ${owner}, configuration ${configFile}): stop it first, or set GANTRY_HOME to another folder`,
    )
  }
  log.info({ pid }, 'Waiting for nats-server of the previous run to stop.')
  const deadline = Date.now() + patienceMs
  while (isAlive(pid)) {
    if (Date.now() > deadline) process.kill(pid, 'SIGKILL')
    await delay(pollMs)
  }
}
