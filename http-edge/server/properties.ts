import { mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { makePrivate, readTextFile, writeSecretFile } from '../../broker/common/files.ts'
import { parseProperties, type PropertyReader, wholeNumber } from '../../config/properties.ts'
import { type SecurityConfig, securityConfigOf, securityReaders } from '../../config/security.ts'
import {
  type HttpServerName,
  httpServers,
  loopback,
  serverAddressKey,
  serverPortKey,
} from '../../subjects/kit/names.ts'

export interface ListenOptions {
  readonly host: string
  readonly port: number
}

/** All interfaces, IPv6 and IPv4: what a server listens on when its address line is taken out. */
const everywhere = '::'

const address: PropertyReader<string> = {
  meaning: 'the name or number of an address',
  read: (text) => (/^[A-Za-z0-9._:-]+$/.test(text) ? text : undefined),
}

const listenReaders = {
  [serverAddressKey]: address,
  [serverPortKey]: wholeNumber('a port number', 1, 65_535),
}

/** Who may read the metrics in the text of Prometheus: keys that may, and with loopback programs on this host without one. */
export type MetricsAccess = 'key' | 'loopback'
const metricsAccessKey = 'metrics.access'

const metricsReaders = {
  [metricsAccessKey]: {
    meaning: 'key or loopback',
    read: (text) => (text === 'key' || text === 'loopback' ? text : undefined),
  } satisfies PropertyReader<MetricsAccess>,
}

const platformReaders = { ...listenReaders, ...metricsReaders }
const migratorReaders = { ...listenReaders, ...securityReaders }

/**
 * Where a server listens, from its `application.properties` in the configuration folder; the file is made when there is
 * none. Without its address line the server is open to the network.
 * @throws ConfigError that names the file, the line and the key
 */
export function loadListenOptions(home: string, server: HttpServerName): ListenOptions {
  const { path, text } = textOf(home, server)
  const readers = server === 'migrator' ? migratorReaders : platformReaders
  const { values } = parseProperties(path, text, readers)
  return {
    host: values[serverAddressKey] ?? everywhere,
    port: values[serverPortKey] ?? httpServers[server].port,
  }
}

/** Who may use the migrator, from the same file. @throws ConfigError that names the file, the line and the key */
export function loadSecurity(home: string): SecurityConfig {
  const { path, text } = textOf(home, 'migrator')
  const security = securityConfigOf(parseProperties(path, text, migratorReaders))
  if (security.type !== 'off') makePrivate(path)
  return security
}

/** Who may read the metrics of the platform, from its file. @throws ConfigError that names the file, the line and the key */
export function loadMetricsAccess(home: string): MetricsAccess {
  const { path, text } = textOf(home, 'platform')
  return parseProperties(path, text, platformReaders).values[metricsAccessKey] ?? 'key'
}

function textOf(home: string, server: HttpServerName): { path: string; text: string } {
  const path = join(home, httpServers[server].propertiesFile)
  const existing = readTextFile(path)
  if (existing !== undefined) return { path, text: existing }
  const text = defaultText(server)
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  writeSecretFile(path, text)
  return { path, text }
}

function defaultText(server: HttpServerName): string {
  const { title, port } = httpServers[server]
  return `# ${title}. Remove or comment out the next line to open it to the network; restart afterwards.
${serverAddressKey}=${loopback}
${serverPortKey}=${port}
${server === 'migrator' ? securityText : metricsText}`
}

const metricsText = `
# Who may read the metrics at /metrics: keys with a rule for it (key), or programs on this host without one (loopback).
${metricsAccessKey}=key
`

const securityText = `
# Who may use it. Without access control: programs on this host, and API tokens. To ask everybody for a password, take
# out the # of one of the two parts below; "gantry credential hash" makes the hash. All keys are in the README.
#security.type=basic
#security.basic.user=operator
#security.basic.password=<bcrypt hash>

#security.type=ldap
#security.ldap.url=ldaps://directory.example:636
#security.ldap.user-dn-pattern=uid={0},ou=people,dc=example,dc=org
#security.ldap.group-search-base=ou=groups,dc=example,dc=org
`
