import { access, constants, readdir } from 'node:fs/promises'
import { homedir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { ConfigError } from '../../config/config-error.ts'
import {
  binaryName,
  type InstallOptions,
  installNatsServer,
  isAtLeast,
  minimumVersion,
  probeVersion,
} from './install.ts'

/** Where an executable came from. */
export type NatsServerSource = 'NATS_SERVER' | 'PATH' | 'cache' | 'installed'

/** An executable that was not taken, and why. */
export interface PassedOver {
  source: NatsServerSource
  path: string
  /** Goes on after the path: `is 2.9.10, older than 2.12.0`. */
  reason: string
}

/** The nats-server to run: `path` is absolute, `version` is what it prints itself, such as `2.15.1`. */
export interface NatsServer {
  path: string
  version: string
  source: NatsServerSource
  passedOver: PassedOver[]
}

/** `cacheDir` goes before what `env` names; the other settings are for the installation. */
export interface FindOptions extends Omit<InstallOptions, 'folder'> {
  env?: NodeJS.ProcessEnv
  cacheDir?: string
}

/**
 * Finds a nats-server that is new enough: `$NATS_SERVER`, PATH, the cache folder, in that order; otherwise
 * installs one into the cache folder. Logs one line for each executable that is taken or passed over.
 * @throws ConfigError when there is none: what was tried, and the fix
 */
export async function findNatsServer(options: FindOptions): Promise<NatsServer> {
  const { env = process.env, cacheDir = cacheFolder(env), log } = options
  const folder = join(cacheDir, 'nats-server')
  const passedOver: PassedOver[] = []
  for (const { source, path } of [...named(env), ...(await onPath(env)), ...(await cached(folder))]) {
    const judged = await judge(path)
    if ('version' in judged) {
      const { version } = judged
      log.info({ source, path, version }, `Using nats-server ${version} from ${labels[source]}: ${path}`)
      return { path, version, source, passedOver }
    }
    const { reason } = judged
    passedOver.push({ source, path, reason })
    log.warn({ source, path, reason }, `Skipping nats-server from ${labels[source]}: ${path} ${reason}`)
  }
  log.info({ folder }, `nats-server ${minimumVersion} or newer was not found; installing it into ${folder}`)
  try {
    const { path, version } = await installNatsServer({ ...options, folder })
    return { path, version, source: 'installed', passedOver }
  } catch (cause) {
    const found = passedOver.map(({ path, reason }) => `${path} ${reason}`)
    const tried = [...found, cause instanceof Error ? cause.message : String(cause)].join('; ')
    const fix = `install nats-server ${minimumVersion} or newer on PATH, or set NATS_SERVER to its path`
    throw new ConfigError(`no usable nats-server was found, and none could be installed (${tried}): ${fix}`, {
      cause,
    })
  }
}

/** The folder for what can be fetched again: `$GANTRY_CACHE`, `$XDG_CACHE_HOME/gantry` or `~/.cache/gantry`. */
export function cacheFolder(env: NodeJS.ProcessEnv): string {
  const { GANTRY_CACHE: own, XDG_CACHE_HOME: users } = env
  return resolve(own || join(users || join(homedir(), '.cache'), 'gantry'))
}

const labels: Record<NatsServerSource, string> = {
  NATS_SERVER: '$NATS_SERVER',
  PATH: 'PATH',
  cache: 'the cache folder',
  installed: 'the installation',
}

async function judge(path: string): Promise<{ version: string } | { reason: string }> {
  try {
    const version = await probeVersion(path)
    return isAtLeast(version, minimumVersion)
      ? { version }
      : { reason: `is ${version}, older than ${minimumVersion}` }
  } catch (error) {
    return { reason: error instanceof Error ? error.message : String(error) }
  }
}

type Candidate = Pick<PassedOver, 'source' | 'path'>

function named({ NATS_SERVER: path }: NodeJS.ProcessEnv): Candidate[] {
  return path ? [{ source: 'NATS_SERVER', path: resolve(path) }] : []
}

async function onPath({ PATH = '' }: NodeJS.ProcessEnv): Promise<Candidate[]> {
  const folders = PATH.split(delimiter).filter((folder) => folder !== '')
  const paths = [...new Set(folders.map((folder) => resolve(folder, binaryName)))]
  const executable = await Promise.all(paths.map(isExecutable))
  return paths.filter((_, index) => executable[index]).map((path) => ({ source: 'PATH', path }))
}

async function cached(folder: string): Promise<Candidate[]> {
  const versions = (await readdir(folder).catch(() => [])).filter((name) => /^\d/.test(name))
  versions.sort((a, b) => (isAtLeast(a, b) ? -1 : 1))
  return versions.map((version) => ({ source: 'cache', path: join(folder, version, binaryName) }))
}

function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  )
}
