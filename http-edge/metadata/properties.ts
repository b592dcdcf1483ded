import { existsSync } from 'node:fs'
import { makePrivate } from '../../broker/common/files.ts'
import type { Log } from '../../broker/common/log.ts'
import {
  linesOf,
  type MetadataAccessConfig,
  metadataAccessOf,
  metadataAccessReaders,
  usualMap,
} from '../../config/metadata-access.ts'
import type { BasicConfig } from '../../config/security.ts'
import { propertiesPath, readProperties, type ServerProperties } from '../server/properties.ts'

export const metadataProperties = {
  name: 'metadata',
  readers: metadataAccessReaders,
  text: `
# Who may use it. Without access control (false): programs on this host, and API tokens. With it (true) everybody signs in,
# and this map says who reaches what: the first entry whose pattern (? one character, * a part of a path, ** parts) and
# http-method fit decides, by isAnonymous(), isAuthenticated() or names of roles; what none fits is refused.
fastify.security.enabled=false
${linesOf(usualMap)}
# A user with a password, beside API tokens; "gantry credential hash" makes the hash. A change needs no restart.
#fastify.security.basic.user=operator
#fastify.security.basic.password=<bcrypt hash>
#fastify.security.basic.role=admin
`,
} as const satisfies ServerProperties

/** Who may use the metadata service. @throws ConfigError that names the file, the line and the key */
export function loadMetadataAccess(home: string): MetadataAccessConfig {
  const properties = readProperties(home, metadataProperties)
  const config = metadataAccessOf(properties)
  if (config.user !== undefined) makePrivate(properties.path)
  return config
}

/**
 * Tells who comes in with a password, as the file has it at the moment. While it cannot be read, because somebody is about
 * to change it, it is as it was.
 */
export function liveMetadataUser(
  home: string,
  first: BasicConfig | undefined,
  log: Log,
): () => BasicConfig | undefined {
  let known = first
  return () => {
    try {
      if (existsSync(propertiesPath(home, metadataProperties.name))) known = loadMetadataAccess(home).user
    } catch (error) {
      log.warn({ err: error }, 'The user of the metadata service stays as it was: its properties are wrong.')
    }
    return known
  }
}
