import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { ConfigError, readAll } from '../../config/config-error.ts'
import { messagingSettings, readMessagingConfig } from '../../config/messaging.ts'
import { platformSettings, readPlatformOptions, requireIdentity } from '../../config/platform.ts'
import { portSettings } from '../../config/port-settings.ts'
import { configuredPorts, givenPorts, requirePorts } from '../../config/ports.ts'
import { reachOf } from '../../config/reach.ts'
import type { Setting } from '../../config/settings.ts'
import {
  loadListenOptions,
  loadMetadataAccess,
  loadMetricsAccess,
  loadSecurity,
  serverSettings,
} from '../../http-edge/properties.ts'
import { GantryError } from '../../subjects/kit/errors.ts'
import {
  files,
  type HttpServerName,
  httpServers,
  loopback,
  ofEachServer,
  product,
} from '../../subjects/kit/names.ts'

const servers = Object.keys(httpServers) as HttpServerName[]

/** All that can be set in files of the configuration folder. */
export const allSettings = (): readonly Setting[] => [
  ...platformSettings,
  ...messagingSettings,
  ...serverSettings(),
]

const isThere = (folder: string, file: string): boolean => existsSync(join(folder, file))

/** Where the streams of the broker are. @throws ConfigError */
export const storeFolderOf = (folder: string): string => readMessagingConfig(folder).storeDir

/** Certificates in PEM of the authorities that a configured directory is trusted by. @throws ConfigError */
export function authoritiesIn(folder: string): string | undefined {
  const isConfigured = isThere(folder, httpServers.migrator.propertiesFile)
  const security = isConfigured ? loadSecurity(folder) : undefined
  return security?.type === 'ldap' ? security.ca : undefined
}

/** Why ports of a platform that is not running cannot be used. @throws ConfigError */
export async function portProblems(folder: string, env: NodeJS.ProcessEnv): Promise<readonly string[]> {
  const { host, port, websocketPort } = readMessagingConfig(folder)
  const ports = configuredPorts(
    {
      ...ofEachServer((name) =>
        isThere(folder, httpServers[name].propertiesFile)
          ? loadListenOptions(folder, name)
          : { host: loopback, port: portSettings[name].usual },
      ),
      broker: { host, port },
      websocket: { host, port: websocketPort },
    },
    { ...readPlatformOptions(folder)?.givenPorts, ...givenPorts({}, env) },
    reachOf(env),
  )
  try {
    await requirePorts(Object.values(ports))
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
}

/**
 * All that is wrong with the files of a configuration folder; nothing is made or changed.
 * @throws GantryError NOT_FOUND where there is no configuration yet
 */
export function problemsIn(folder: string): readonly string[] {
  // Whoever loads a file that is missing makes it.
  const readersOf: Readonly<Record<string, readonly (() => unknown)[]>> = {
    [files.config]: [() => requireIdentity(folder), () => readPlatformOptions(folder)],
    [files.messaging]: [() => readMessagingConfig(folder)],
    [httpServers.platform.propertiesFile]: [() => loadMetricsAccess(folder)],
    [httpServers.migrator.propertiesFile]: [() => loadSecurity(folder)],
    [httpServers.metadata.propertiesFile]: [() => loadMetadataAccess(folder)],
  }
  const listen = servers
    .filter((name) => isThere(folder, httpServers[name].propertiesFile))
    .map((name) => () => loadListenOptions(folder, name))
  const there = Object.entries(readersOf).flatMap(([file, readers]) => (isThere(folder, file) ? readers : []))
  if (there.length === 0)
    throw new GantryError(
      'NOT_FOUND',
      `${folder} has no configuration yet: create it with "${product} up", or set GANTRY_HOME to another folder`,
    )
  try {
    const readers = [...there, ...listen].map((read, index) => [String(index), read] as const)
    readAll(Object.fromEntries(readers))
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
}
