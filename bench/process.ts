import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

/** Clock ticks of the system in a second, in which it counts the time of processes. */
const ticksPerSecond = 100

/** Seconds of processor that a process has used, on Linux. */
function processorSeconds(pid: number): number {
  const [, after = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')
  const fields = after.split(' ')
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
}

/** The same with the processes that it began, and theirs. */
export function processorSecondsOfAll(pid: number): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean)
  return children.reduce((sum, child) => sum + processorSecondsOfAll(Number(child)), processorSeconds(pid))
}

/** The share of a processor that a process uses over some time, with the processes that it began: 0.01 is a hundredth. */
export async function processorShare(pid: number, ms: number): Promise<number> {
  const before = processorSecondsOfAll(pid)
  await delay(ms)
  return (processorSecondsOfAll(pid) - before) / (ms / 1_000)
}

/** Highest and present resident memory of a process in MB, as Linux keeps it. */
export function residentMb(pid: number): { highest: number; now: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const read = (name: string) => (Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1024) / 1e6
  return { highest: read('VmHWM'), now: read('VmRSS') }
}
