import { mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { readTextFile, writeSecretFile } from '../../broker/common/files.ts'
import {
  parseProperties,
  type Properties,
  type PropertyReader,
  wholeNumber,
} from '../../config/properties.ts'
import type { ListenAddress } from '../../config/ports.ts'
import { propertySettings, type Setting } from '../../config/settings.ts'
import { type HttpServerName, httpServers, loopback } from '../../subjects/kit/names.ts'

/** All interfaces, IPv6 and IPv4: what a server listens on when its address line is taken out. */
const everywhere = '::'

const address: PropertyReader<string> = {
  meaning: 'a host name or IP address',
  read: (text) => (/^[A-Za-z0-9._:-]+$/.test(text) ? text : undefined),
}

const port = wholeNumber('a port number', 1, 65_535)

/** Keys that the file of every server has, by the names that it has for them. */
const listenReaders = (name: HttpServerName) => ({
  [httpServers[name].addressKey]: address,
  [httpServers[name].portKey]: port,
})

/** What the `application.properties` of a server may have beside its address and port. */
export interface ServerProperties<
  R extends Readonly<Record<string, PropertyReader<unknown>>> = Readonly<
    Record<string, PropertyReader<unknown>>
  >,
> {
  readonly name: HttpServerName
  readonly readers: R
  /** What a new file says of these keys. */
  readonly text: string
}

/**
 * The properties of a server, from the configuration folder; the file is made when there is none.
 * @throws ConfigError that names the file, the line and the key
 */
export function readProperties<R extends Readonly<Record<string, PropertyReader<unknown>>>>(
  home: string,
  properties: ServerProperties<R>,
): Properties<R> & { readonly path: string } {
  const { path, text } = textOf(home, properties)
  return {
    path,
    ...parseProperties(path, text, { ...listenReaders(properties.name), ...properties.readers }),
  }
}

/**
 * Where a server listens, by its properties. Without its address line it is open to the network.
 * @throws ConfigError that names the file, the line and the key
 */
export function listenOptionsOf(home: string, properties: ServerProperties): ListenAddress {
  const { addressKey, portKey, port: usual } = httpServers[properties.name]
  const { path, text } = textOf(home, properties)
  const { values } = parseProperties(path, text, { ...properties.readers, ...listenReaders(properties.name) })
  const [host, own] = [values[addressKey], values[portKey]]
  return {
    host: typeof host === 'string' ? host : everywhere,
    port: typeof own === 'number' ? own : usual,
  }
}

/** What can be set in the properties file of a server. */
export function settingsOfServer({ name, readers }: ServerProperties): Setting[] {
  const { propertiesFile, addressKey, portKey, port: usual } = httpServers[name]
  const all = { ...listenReaders(name), ...readers }
  return propertySettings(propertiesFile, all, { [addressKey]: loopback, [portKey]: String(usual) })
}

/** Where a server's properties are. */
export const propertiesPath = (home: string, name: HttpServerName): string =>
  join(home, httpServers[name].propertiesFile)

function textOf(home: string, { name, text: own }: ServerProperties): { path: string; text: string } {
  const { title, port: usual, addressKey, portKey } = httpServers[name]
  const path = propertiesPath(home, name)
  const existing = readTextFile(path)
  if (existing !== undefined) return { path, text: existing }
  const text = `# ${title}. Remove or comment out the next line to open it to the network; restart afterwards.
${addressKey}=${loopback}
${portKey}=${usual}
${own}`
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  writeSecretFile(path, text)
  return { path, text }
}
