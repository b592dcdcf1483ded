import type { ListenAddress } from '../config/ports.ts'
import type { HttpServerName } from '../subjects/kit/names.ts'
import { metadataProperties } from './metadata/properties.ts'
import { migratorProperties } from './migrator/properties.ts'
import { platformProperties } from './platform/properties.ts'
import { listenOptionsOf, type ServerProperties, settingsOfServer } from './server/properties.ts'
import type { Setting } from '../config/settings.ts'

export { liveMetadataUser, loadMetadataAccess } from './metadata/properties.ts'
export { loadSecurity } from './migrator/properties.ts'
export { loadMetricsAccess } from './platform/properties.ts'

const properties: Record<HttpServerName, ServerProperties> = {
  platform: platformProperties,
  migrator: migratorProperties,
  metadata: metadataProperties,
}

/** Where a server listens, by its properties file. @throws ConfigError that names the file, the line and the key */
export const loadListenOptions = (home: string, server: HttpServerName): ListenAddress =>
  listenOptionsOf(home, properties[server])

/** What can be set in the properties files of all servers. */
export const serverSettings = (): Setting[] => Object.values(properties).flatMap(settingsOfServer)
