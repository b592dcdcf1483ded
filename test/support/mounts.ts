import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A small file system of the test's own, gone with the scope. */
export interface Mount extends Disposable {
  readonly path: string
  /** Lets nothing be written any more. */
  makeReadOnly(): void
  makeWritable(): void
  /** Makes it larger; what is in it stays. */
  grow(sizeBytes: number): void
}

/** Mounts a file system in memory. Throws when this process may not. */
export function mountMemory(sizeBytes: number): Mount {
  const path = mkdtempSync(join(tmpdir(), 'gantry-mount-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${sizeBytes}`, 'gantry', path], { stdio: 'pipe' })
  } catch (error) {
    rmdirSync(path)
    throw error
  }
  const remount = (option: string) =>
    execFileSync('mount', ['-o', `remount,${option}`, path], { stdio: 'pipe' })
  return {
    path,
    makeReadOnly: () => remount('ro'),
    makeWritable: () => remount('rw'),
    grow: (bytes) => remount(`size=${bytes}`),
    [Symbol.dispose]: () => {
      execFileSync('umount', ['--lazy', path], { stdio: 'pipe' })
      rmdirSync(path)
    },
  }
}

/** Shows a folder at another place as well (`mount --bind`), until the end of the scope. */
export function mountAgain(folder: string, at: string): Disposable {
  execFileSync('mount', ['--bind', folder, at], { stdio: 'pipe' })
  return { [Symbol.dispose]: () => void execFileSync('umount', ['--lazy', at], { stdio: 'pipe' }) }
}

/** Why this process cannot mount, or undefined when it can. */
export function whyNoMount(): string | undefined {
  if (process.platform !== 'linux') return 'only Linux has tmpfs'
  if (process.getuid?.() !== 0) return 'only root may mount'
  try {
    mountMemory(4096)[Symbol.dispose]()
    return undefined
  } catch {
    return 'this container may not mount'
  }
}
