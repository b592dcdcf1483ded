import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'

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

/** Takes away what anybody but the owner may do with a file; whether there was anything. */
export function makePrivate(path: string): boolean {
  if ((statSync(path).mode & 0o777 & ~secretMode) === 0) return false
  chmodSync(path, secretMode)
  return true
}

/** Renames a file that is in the way to `<path>.<suffix>` (with a number when there is one already); its new name. */
export function quarantine(path: string, suffix: string): string | undefined {
  if (!existsSync(path)) return undefined
  let aside = `${path}.${suffix}`
  for (let count = 2; existsSync(aside); count++) aside = `${path}.${suffix}-${count}`
  renameSync(path, aside)
  return aside
}
