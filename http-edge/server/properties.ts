import { mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { readTextFile, writeSecretFile } from '../../broker/common/files.ts'
import {
  parseProperties,
  type Properties,
  type PropertyReader,
  wholeNumber,
} from '../../config/properties.ts'
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

/** Keys that the file of every server has. */
const listenReaders = {
  [serverAddressKey]: address,
  [serverPortKey]: wholeNumber('a port number', 1, 65_535),
}

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
): Properties<R & typeof listenReaders> & { readonly path: string } {
  const { path, text } = textOf(home, properties)
  return { path, ...parseProperties(path, text, { ...listenReaders, ...properties.readers }) }
}

/**
 * Where a server listens, by its properties. Without its address line it is open to the network.
 * @throws ConfigError that names the file, the line and the key
 */
export function listenOptionsOf(home: string, properties: ServerProperties): ListenOptions {
  const { values } = readProperties(home, properties) as Properties<typeof listenReaders>
  return {
    host: values[serverAddressKey] ?? everywhere,
    port: values[serverPortKey] ?? httpServers[properties.name].port,
  }
}

function textOf(home: string, { name, text: own }: ServerProperties): { path: string; text: string } {
  const { title, port, propertiesFile } = httpServers[name]
  const path = join(home, propertiesFile)
  const existing = readTextFile(path)
  if (existing !== undefined) return { path, text: existing }
  const text = `# ${title}. Remove or comment out the next line to open it to the network; restart afterwards.
${serverAddressKey}=${loopback}
${serverPortKey}=${port}
${own}`
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  writeSecretFile(path, text)
  return { path, text }
}
