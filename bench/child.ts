import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

export interface Child extends AsyncDisposable {
  readonly pid: number
  /** The first line that it printed. */
  readonly line: string
}

/** Runs a script of this folder in a process of its own, and waits for its first line. It ends when its input does. */
export async function startChild(script: string, args: string[] = []): Promise<Child> {
  const path = fileURLToPath(new URL(script, import.meta.url))
  const child = spawn(process.execPath, [path, ...args], { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface(child.stdout)
  const [line] = (await Promise.race([once(lines, 'line'), once(child, 'exit')])) as [unknown]
  if (typeof line !== 'string') throw new Error(`${script} ended before it was ready`)
  return {
    pid: child.pid!,
    line,
    [Symbol.asyncDispose]: async () => {
      const exited = once(child, 'exit')
      child.stdin.end()
      await exited
    },
  }
}
