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
# Access control. false: access for programs on this host and with API tokens. true: all users sign in, and this map
# controls access. The first entry with a matching pattern (? one character, * one path segment, ** any segments) and
# http-method applies: isAnonymous(), isAuthenticated() or role names. Requests that match no entry are refused.
fastify.security.enabled=false
${linesOf(usualMap)}
# A user with a password, in addition to API tokens. Create the hash with "gantry credential hash". No restart needed.
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
      log.warn(
        { err: error },
        'The user of the metadata service was not changed, because its properties are invalid.',
      )
    }
    return known
  }
}
