import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { ConfigError } from '../broker/config-error.ts'
import { readTextFile } from '../broker/files.ts'

/** Keeps a second platform from the same configuration folder: it would end the first one's nats-server. */
export interface InstanceLock {
  release(): void
}

/** @throws ConfigError when another platform runs in this folder */
export function lockHome(home: string): InstanceLock {
  const folder = join(home, 'run')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const path = join(folder, 'gantry.pid')
  const text = `${process.pid} ${startOf(process.pid) ?? ''}\n`
  if (!tryWrite(path, text)) {
    const [pid = 0, started] = (readTextFile(path) ?? '').trim().split(' ').map(Number)
    if (isAlive(pid) && pid !== process.pid && (!started || startOf(pid) === started)) {
      throw new ConfigError(
        `a platform runs in ${home} already (process ${pid}): stop it first, or set GANTRY_HOME`,
      )
    }
    // Left over by one that was killed.
    rmSync(path, { force: true })
    if (!tryWrite(path, text)) throw new ConfigError(`another platform is starting in ${home}`)
  }
  return { release: () => rmSync(path, { force: true }) }
}

function tryWrite(path: string, text: string): boolean {
  try {
    const file = openSync(path, 'wx', 0o600)
    writeSync(file, text)
    closeSync(file)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

function isAlive(pid: number): boolean {
  try {
    return pid > 0 && process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** When a process was started, in clock ticks since boot: tells it from a later one with its id. Linux only. */
function startOf(pid: number): number | undefined {
  try {
    // After the program's name in parentheses, which may hold anything, field 22 of proc(5) is the 20th.
    const fields = readTextFile(`/proc/${pid}/stat`)?.split(') ').at(-1)?.split(' ')
    return fields === undefined ? undefined : Number(fields[19])
  } catch {
    return undefined
  }
}
