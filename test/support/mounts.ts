import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
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

/**
 * Mounts a disk of its own with an ext4 file system, gone with the scope. Throws when this process may not.
 * @param hasSeconds whether it keeps times in whole seconds, as ext3 does
 */
export function mountLoop(sizeBytes: number, hasSeconds = false): Pick<Mount, 'path'> & Disposable {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-disk-'))
  const [image, path] = [join(folder, 'image'), join(folder, 'mounted')]
  const remove = () => rmSync(folder, { recursive: true })
  try {
    mkdirSync(path)
    writeFileSync(image, '')
    truncateSync(image, sizeBytes)
    execFileSync('mkfs.ext4', ['-q', '-F', ...(hasSeconds ? ['-I', '128'] : []), image], { stdio: 'pipe' })
    execFileSync('mount', ['-o', 'loop', image, path], { stdio: 'pipe' })
  } catch (error) {
    remove()
    throw error
  }
  return {
    path,
    [Symbol.dispose]: () => {
      execFileSync('umount', ['--lazy', path], { stdio: 'pipe' })
      remove()
    },
  }
}

/** Why this process cannot mount a disk of its own, or undefined when it can. */
export function whyNoLoop(): string | undefined {
  const why = whyNoMount()
  if (why !== undefined) return why
  try {
    mountLoop(16 * 1024 * 1024)[Symbol.dispose]()
    return undefined
  } catch {
    return 'there are no loop devices, or no mkfs.ext4'
  }
}

/** Mounts a file system that takes names for one that differ only by case (exFAT, by FUSE), gone with the scope. Throws when this process may not. */
export function mountFolding(sizeBytes = 16 * 1024 * 1024): Pick<Mount, 'path'> & Disposable {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-disk-'))
  const [image, path] = [join(folder, 'image'), join(folder, 'mounted')]
  let device: string | undefined
  const remove = () => {
    if (device !== undefined) execFileSync('losetup', ['--detach', device], { stdio: 'pipe' })
    rmSync(folder, { recursive: true })
  }
  try {
    mkdirSync(path)
    writeFileSync(image, '')
    truncateSync(image, sizeBytes)
    execFileSync('mkfs.exfat', [image], { stdio: 'pipe' })
    device = execFileSync('losetup', ['--find', '--show', image], { encoding: 'utf8', stdio: 'pipe' }).trim()
    execFileSync('mount.exfat-fuse', [device, path], { stdio: 'pipe' })
  } catch (error) {
    remove()
    throw error
  }
  return {
    path,
    [Symbol.dispose]: () => {
      execFileSync('umount', ['--lazy', path], { stdio: 'pipe' })
      remove()
    },
  }
}

/** Why there is no such file system here, or undefined when there is. */
export function whyNoFolding(): string | undefined {
  if (process.getuid?.() !== 0) return 'only root may mount'
  try {
    mountFolding()[Symbol.dispose]()
    return undefined
  } catch {
    return "there is no FUSE, or no mkfs.exfat and mount.exfat-fuse (Debian's exfatprogs, exfat-fuse)"
  }
}
