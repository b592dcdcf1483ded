import type { HttpServerName } from '../subjects/kit/names.ts'
import { metadataProperties } from './metadata/properties.ts'
import { migratorProperties } from './migrator/properties.ts'
import { platformProperties } from './platform/properties.ts'
import { type ListenOptions, listenOptionsOf, type ServerProperties } from './server/properties.ts'

export { liveMetadataUser, loadMetadataAccess } from './metadata/properties.ts'
export { loadSecurity } from './migrator/properties.ts'
export { loadMetricsAccess } from './platform/properties.ts'
export type { ListenOptions } from './server/properties.ts'

const properties: Record<HttpServerName, ServerProperties> = {
  platform: platformProperties,
  migrator: migratorProperties,
  metadata: metadataProperties,
}

/** Where a server listens, by its properties file. @throws ConfigError that names the file, the line and the key */
export const loadListenOptions = (home: string, server: HttpServerName): ListenOptions =>
  listenOptionsOf(home, properties[server])
