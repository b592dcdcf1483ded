import {
  brokerPort,
  files,
  type HttpServerName,
  httpServers,
  ofEachServer,
  websocketPort,
} from '../subjects/kit/names.ts'

/** What sets a port when nothing else is said of it, and what it is for. */
export interface PortSetting {
  readonly title: string
  readonly usual: number
  /** In the configuration folder; with the keys of its address and port. */
  readonly file: string
  readonly addressKey: string
  readonly portKey: string
}

type BrokerPortName = 'broker' | 'websocket'
export type PortName = HttpServerName | BrokerPortName

/** All ports that Gantry listens on. Their flags, variables and keys follow from their names. */
export const portSettings: Readonly<Record<PortName, PortSetting>> = {
  ...ofEachServer((name) => {
    const { title, port, propertiesFile, addressKey, portKey } = httpServers[name]
    return { title, usual: port, file: propertiesFile, addressKey, portKey }
  }),
  broker: {
    title: 'NATS clients',
    usual: brokerPort,
    file: files.messaging,
    addressKey: 'host',
    portKey: 'port',
  },
  websocket: {
    title: 'NATS clients over WebSocket',
    usual: websocketPort,
    file: files.messaging,
    addressKey: 'host',
    portKey: 'websocket_port',
  },
}
export const portNames = Object.keys(portSettings) as PortName[]

export const offsetKey = 'port.offset'
/** A setting of one start: in `gantry.config` as it is, as a flag, and as a variable. */
export type PortKey = `${PortName}.port` | typeof offsetKey
export const portKeyOf = (name: PortName): PortKey => `${name}.port`
export const portKeys: readonly PortKey[] = [offsetKey, ...portNames.map(portKeyOf)]

export const flagOf = (key: PortKey): string => `--${key.replaceAll('.', '-')}`
export const variableOf = (key: PortKey): string => `GANTRY_${key.replaceAll('.', '_').toUpperCase()}`

export const maxPort = 65_535

export const portKeyDescription = (key: PortKey): string => {
  if (key === offsetKey) return 'Offset that is added to all configured and default ports'
  const { title, usual } = portSettings[key.slice(0, key.lastIndexOf('.')) as PortName]
  return `Port of ${title}; default ${usual}`
}

/** As it follows "must be". */
export const portMeaning = (key: PortKey): string =>
  key === offsetKey ? `a whole number from 0 to ${maxPort}` : `a port number from 1 to ${maxPort}`

/** The value of a setting in a flag or variable; undefined for what is none. */
export function portValue(key: PortKey, text: string): number | undefined {
  const value = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN
  return value >= (key === offsetKey ? 0 : 1) && value <= maxPort ? value : undefined
}
