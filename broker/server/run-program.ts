import { execFile } from 'node:child_process'

/** Why a program did not do its work: it is not there, may not be run, took too long, or ended with an error. */
export type ProgramFailure = 'missing' | 'forbidden' | 'late' | 'failed'

/** `message` is the program's own last word where it said one, otherwise its exit code or signal. */
export class ProgramError extends Error {
  readonly failure: ProgramFailure
  readonly stderr: string
  constructor(failure: ProgramFailure, message: string, stderr: string, cause: Error) {
    super(message, { cause })
    this.name = 'ProgramError'
    this.failure = failure
    this.stderr = stderr
  }
}

/** Runs a program to its end and returns what it wrote to standard output. @throws ProgramError */
export function runProgram(
  file: string,
  args: string[],
  { timeoutMs, cwd, env: more }: { timeoutMs: number; cwd?: string; env?: Record<string, string> },
): Promise<string> {
  // Messages are read by us (`stderr`) and must not depend on the user's language.
  const env = { ...process.env, ...more, LC_ALL: 'C' }
  return new Promise((resolve, reject) => {
    execFile(file, args, { env, cwd, timeout: timeoutMs, killSignal: 'SIGKILL' }, (error, stdout, stderr) => {
      if (error === null) return resolve(stdout)
      const failure = failureOf(error)
      const lastWords = stderr.trim().split('\n').at(-1)
      const message = failure === 'late' ? `not finished after ${timeoutMs / 1000} s` : lastWords
      const exit = `it exited with ${error.code ?? error.signal ?? error.message}`
      reject(new ProgramError(failure, message || exit, stderr, error))
    })
  })
}

function failureOf({ code, killed }: { code?: unknown; killed?: boolean }): ProgramFailure {
  if (killed) return 'late'
  if (code === 'ENOENT') return 'missing'
  return code === 'EACCES' || code === 'EPERM' ? 'forbidden' : 'failed'
}
