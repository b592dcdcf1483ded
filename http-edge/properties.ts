import { mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ConfigError } from '../broker/config-error.ts'
import { readTextFile, writeSecretFile } from '../broker/files.ts'
import {
  type HttpServerName,
  httpServers,
  loopback,
  serverAddressKey,
  serverPortKey,
} from '../subjects/names.ts'

export interface ListenOptions {
  readonly host: string
  readonly port: number
}

/** All interfaces, IPv6 and IPv4: what a server listens on when its address line is taken out. */
const everywhere = '::'

/**
 * Where a server listens, from its `application.properties` in the configuration folder; the file is made when there is
 * none. Lines are `key=value`; `#` and `!` begin comments. Without its address line the server is open to the network.
 * @throws ConfigError that names the file and the key
 */
export function loadListenOptions(home: string, server: HttpServerName): ListenOptions {
  const { title, port, propertiesFile } = httpServers[server]
  const path = join(home, propertiesFile)
  let text = readTextFile(path)
  if (text === undefined) {
    text = `# ${title}. Remove or comment out the next line to open it to the network; restart afterwards.
${serverAddressKey}=${loopback}
${serverPortKey}=${port}
`
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    writeSecretFile(path, text)
  }
  const properties = parse(path, text)
  const portText = properties.get(serverPortKey) ?? String(port)
  const portNumber = Number(portText)
  if (!/^\d+$/.test(portText) || portNumber < 1 || portNumber > 65_535) {
    throw new ConfigError(`${path}: ${serverPortKey} must be a port number from 1 to 65535, not ${portText}`)
  }
  return { host: properties.get(serverAddressKey) ?? everywhere, port: portNumber }
}

const knownKeys = [serverAddressKey, serverPortKey]

function parse(path: string, text: string): Map<string, string> {
  const properties = new Map<string, string>()
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const content = line.trim()
    if (content === '' || content.startsWith('#') || content.startsWith('!')) continue
    const match = /^([^=:\s]+)\s*[=:]\s*(.*)$/.exec(content)
    if (match === null) throw new ConfigError(`${path}, line ${index + 1}: write key=value`)
    const key = match[1]!
    if (!knownKeys.includes(key)) {
      throw new ConfigError(
        `${path}, line ${index + 1}: ${key} is not known here; the keys are ${knownKeys.join(', ')}`,
      )
    }
    properties.set(key, match[2]!)
  }
  return properties
}
