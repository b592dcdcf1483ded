import { makePrivate } from '../../broker/common/files.ts'
import { type SecurityConfig, securityConfigOf, securityReaders } from '../../config/security.ts'
import { readProperties, type ServerProperties } from '../server/properties.ts'

export const migratorProperties = {
  name: 'migrator',
  readers: securityReaders,
  text: `
# Access control. By default, programs on this host and with API tokens have access. To require passwords, uncomment one
# of the two sections below. Create the hash with "gantry credential hash". docs/ACCESS.md lists all keys.
#security.type=basic
#security.basic.user=operator
#security.basic.password=<bcrypt hash>

#security.type=ldap
#security.ldap.url=ldaps://directory.example:636
#security.ldap.user-dn-pattern=uid={0},ou=people,dc=example,dc=org
#security.ldap.group-search-base=ou=groups,dc=example,dc=org
`,
} as const satisfies ServerProperties

/** Who may use the migrator. @throws ConfigError that names the file, the line and the key */
export function loadSecurity(home: string): SecurityConfig {
  const properties = readProperties(home, migratorProperties)
  const security = securityConfigOf(properties)
  if (security.type !== 'off') makePrivate(properties.path)
  return security
}
