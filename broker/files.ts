import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs'

/** Mode of every file with a secret in it: its owner reads and writes, nobody else does anything. */
const secretMode = 0o600

/** Writes a file whole or not at all, durably, readable by its owner only. */
export function writeSecretFile(path: string, text: string): void {
  const temporary = `${path}.${process.pid}.tmp`
  rmSync(temporary, { force: true })
  const file = openSync(temporary, 'wx', secretMode)
  try {
    writeSync(file, text)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  renameSync(temporary, path)
}

/** The text of a file, or undefined when there is none. */
export function readTextFile(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
