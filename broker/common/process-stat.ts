import { readTextFile } from './files.ts'

/** Ticks of the kernel's clock in a second, whatever the machine (`USER_HZ`). */
const ticksPerSecond = 100

/**
 * Fields of `/proc/<pid>/stat` from the third one (state) on, which is the first here; none for a process that is gone, and
 * on systems without `/proc`.
 */
export function processStat(pid: number): string[] {
  try {
    const stat = readTextFile(`/proc/${pid}/stat`) ?? ''
    // The name of the program, in parentheses, may have spaces.
    return stat === '' ? [] : stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  } catch {
    return []
  }
}

/** Processor time that a process has used since its start, ms; undefined where nobody knows. */
export function processorMs(pid: number): number | undefined {
  const { 11: user, 12: system } = processStat(pid)
  return user === undefined ? undefined : ((Number(user) + Number(system)) * 1_000) / ticksPerSecond
}
