import { chmod, mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Log } from '../common/log.ts'
import { type DebianOptions, unpackDebianPackage } from './debian.ts'
import { type ReleaseOptions, unpackRelease } from './release.ts'
import { ProgramError, type ProgramFailure, runProgram } from './run-program.ts'

/**
 * The oldest nats-server that will do. Debian 12's own 2.9 starts with our configuration and silently ignores
 * parts of it: auth callout came with 2.10, and what we need of JetStream with 2.12.
 */
export const minimumVersion = '2.12.0'

/** The executable's file name on this system. */
export const binaryName = process.platform === 'win32' ? 'nats-server.exe' : 'nats-server'

/** `--version` answers within 50 ms; a program that takes so much longer is something else. */
const probeMs = 5_000

/** Work folders older than this were left by a process that was killed; no installation takes that long. */
const leftoverMs = 3_600_000

const workPrefix = '.installing-'

/** `folder` gets one sub folder per version. */
export interface InstallOptions extends ReleaseOptions, DebianOptions {
  folder: string
  log: Pick<Log, 'info' | 'warn'>
}

/**
 * Installs nats-server into `folder/<version>/`: the official release archive or, when that fails, the package
 * of a newer Debian suite. The file appears there whole or not at all, also when several processes install at
 * the same time. Throws an Error that says why each way failed.
 */
export async function installNatsServer(options: InstallOptions): Promise<{ path: string; version: string }> {
  const { folder, log } = options
  await prepare(folder)
  const ways = [
    { name: 'release archive', unpack: unpackRelease },
    { name: 'Debian package', unpack: unpackDebianPackage },
  ]
  const failures: string[] = []
  for (const { name, unpack } of ways) {
    const work = await mkdtemp(join(folder, workPrefix))
    try {
      const installed = await keep(await unpack(work, options), folder)
      log.info(installed, `nats-server ${installed.version} is installed from the ${name}: ${installed.path}`)
      return installed
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      failures.push(`${name}: ${reason}`)
      log.warn({ way: name, reason }, `nats-server is not installed from the ${name}: ${reason}`)
    } finally {
      await rm(work, { recursive: true, force: true })
    }
  }
  throw new Error(failures.join('; '))
}

/** The version that the executable prints, without `v`. Throws an Error whose message goes on after a path. */
export async function probeVersion(path: string): Promise<string> {
  const output = await runProgram(path, ['--version'], { timeoutMs: probeMs }).catch((cause: unknown) => {
    throw new Error(whyNotRun(cause), { cause })
  })
  const version = /^nats-server: v?(\d+\.\d+\.\d+\S*)/m.exec(output)?.[1]
  if (version === undefined) throw new Error('is not nats-server: it does not print a version')
  return version
}

/** Compares the three numbers of two versions; what follows them (`-RC.1`) does not count. */
export function isAtLeast(version: string, minimum: string): boolean {
  const [a, b] = [version, minimum].map((text) => text.split('.').map((part) => Number.parseInt(part, 10)))
  for (const index of [0, 1, 2]) {
    const difference = (a?.[index] ?? 0) - (b?.[index] ?? 0)
    if (difference !== 0) return difference > 0
  }
  return true
}

function whyNotRun(error: unknown): string {
  if (!(error instanceof ProgramError)) return `cannot be run: ${String(error)}`
  const reasons: Record<ProgramFailure, string> = {
    missing: 'does not exist',
    forbidden: 'is not an executable file',
    late: `does not respond to --version within ${probeMs / 1000} s`,
    failed: `cannot be run on this host: ${error.message}`,
  }
  return reasons[error.failure]
}

async function prepare(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true })
    for (const name of await readdir(folder)) {
      if (name.startsWith(workPrefix)) await removeLeftover(join(folder, name))
    }
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new Error(`the cache folder cannot be used (${why}): set GANTRY_CACHE to another folder`, { cause })
  }
}

async function removeLeftover(work: string): Promise<void> {
  // Another process may finish and remove its folder between the listing and here.
  const modified = await stat(work).catch(() => undefined)
  if (modified && Date.now() - modified.mtimeMs > leftoverMs) await rm(work, { recursive: true, force: true })
}

async function keep(unpacked: string, folder: string): Promise<{ path: string; version: string }> {
  await chmod(unpacked, 0o755)
  const version = await probeVersion(unpacked).catch((cause: unknown) => {
    throw new Error(`its executable ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
  })
  if (!isAtLeast(version, minimumVersion)) throw new Error(`it is ${version}, older than ${minimumVersion}`)
  const path = join(folder, version, binaryName)
  await mkdir(join(folder, version), { recursive: true })
  await rename(unpacked, path).catch(async (error: unknown) => {
    // Windows doesn't replace a running executable: then another process was first, and its file is as good.
    if ((await probeVersion(path).catch(() => undefined)) !== version) throw error
  })
  return { path, version }
}
