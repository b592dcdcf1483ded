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
 * @throws ConfigError that names the file, the line and the key
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
  return { host: everywhere, port, ...parse(path, text) }
}

/** What a value must be: the option that it makes, or undefined when it is none. */
const readers: Record<
  string,
  { meaning: string; read: (value: string) => Partial<ListenOptions> | undefined }
> = {
  [serverAddressKey]: {
    meaning: 'the name or number of an address',
    read: (value) => (/^[A-Za-z0-9._:-]+$/.test(value) ? { host: value } : undefined),
  },
  [serverPortKey]: {
    meaning: 'a port number from 1 to 65535',
    read: (value) =>
      /^\d{1,5}$/.test(value) && Number(value) > 0 && Number(value) < 65_536
        ? { port: Number(value) }
        : undefined,
  },
}

function parse(path: string, text: string): Partial<ListenOptions> {
  const options: Partial<ListenOptions>[] = []
  const seen = new Set<string>()
  for (const [index, line] of text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .entries()) {
    const refuse = (problem: string) => new ConfigError(`${path}, line ${index + 1}: ${problem}`)
    const content = line.trim()
    if (content === '' || content.startsWith('#') || content.startsWith('!')) continue
    const [, key = '', value = ''] = /^([^=:\s]+)\s*[=:]\s*(.*)$/.exec(content) ?? []
    if (key === '') throw refuse('write key=value')
    const reader = Object.hasOwn(readers, key) ? readers[key] : undefined
    if (reader === undefined) {
      throw refuse(`${key} is not known here; the keys are ${Object.keys(readers).join(', ')}`)
    }
    if (seen.has(key)) throw refuse(`${key} is there already`)
    seen.add(key)
    const option = reader.read(value)
    if (option === undefined) throw refuse(`${key} must be ${reader.meaning}, not ${JSON.stringify(value)}`)
    options.push(option)
  }
  return Object.assign({}, ...options) as Partial<ListenOptions>
}
