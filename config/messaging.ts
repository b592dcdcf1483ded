import { existsSync, statfsSync } from 'node:fs'
import { totalmem } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { type Static, Type } from 'typebox'
import { brokerPort, files, loopback, websocketPort } from '../subjects/kit/names.ts'
import { strict } from '../subjects/kit/schemas.ts'
import { ConfigError, readConfig, readAll } from './config-error.ts'
import { readTextFile, writeSecretFile } from '../broker/common/files.ts'
import { type Setting, settingsOf, shownValue } from './settings.ts'
import { parseSize } from './sizes.ts'

const Size = (description: string) =>
  Type.Union([Type.String({ maxLength: 40 }), Type.Integer()], { description })
const Port = (description: string) => Type.Integer({ minimum: 0, maximum: 65_535, description })

const MessagingFile = strict({
  max_mem: Type.Optional(Size('Maximum memory for streams, such as 256MiB')),
  max_file: Type.Optional(
    Size('Maximum disk space for streams, such as 10GiB; by default at most half of the disk'),
  ),
  store_dir: Type.Optional(
    Type.String({ minLength: 1, description: 'Folder for streams, relative to this file' }),
  ),
  host: Type.Optional(
    Type.String({ pattern: '^[A-Za-z0-9.:_-]+$', description: 'Address to listen on; default: loopback' }),
  ),
  port: Type.Optional(Port('Port for NATS clients; 0: any free port')),
  websocket_port: Type.Optional(Port('Port for WebSocket clients; 0: any free port')),
  allowed_origins: Type.Optional(
    Type.Array(Type.String({ pattern: '^https?://[^/]+$' }), {
      description: 'Additional origins of web pages that may connect',
    }),
  ),
  sync_always: Type.Optional(
    Type.Boolean({
      description: 'fsync before each acknowledgement: survives power loss, but is much slower',
    }),
  ),
})

export interface MessagingConfig {
  maxMemBytes: number
  maxFileBytes: number
  storeDir: string
  host: string
  port: number
  websocketPort: number
  allowedOrigins: string[]
  syncAlways: boolean
}

/** Below these the platform's own buckets do not fit. */
const minMemBytes = 16 * 2 ** 20
const minFileBytes = 64 * 2 ** 20

/** A small disk has another `max_file`. */
const defaults = {
  max_mem: '256MiB',
  max_file: '10GiB',
  store_dir: 'jetstream',
  host: loopback,
  port: brokerPort,
  websocket_port: websocketPort,
  allowed_origins: [],
} satisfies Static<typeof MessagingFile>

/** Settings in `messaging.config`. */
export const messagingSettings: readonly Setting[] = settingsOf(files.messaging, MessagingFile).map(
  (setting) => {
    const byDefault = Object.entries(defaults).find(([name]) => name === setting.name)?.[1]
    return byDefault === undefined ? setting : { ...setting, default: shownValue(byDefault) }
  },
)

/**
 * Reads `messaging.config` in the configuration folder; writes it with the defaults when there is none. A file that leaves
 * some of them out is left as it is.
 * @throws ConfigError that names the field and the fix.
 */
export function loadMessagingConfig(home: string): MessagingConfig {
  const { config, made } = readMessaging(home)
  if (made !== undefined) writeSecretFile(join(home, files.messaging), `${JSON.stringify(made, null, 2)}\n`)
  return config
}

/** The same, without writing anything. @throws ConfigError */
export const readMessagingConfig = (home: string): MessagingConfig => readMessaging(home).config

/** @returns also what a file would have, where there is none */
function readMessaging(home: string): { config: MessagingConfig; made: object | undefined } {
  const text = readTextFile(join(home, files.messaging))
  const use = (given: Static<typeof MessagingFile>) => {
    const storeDir = resolve(home, given.store_dir ?? defaults.store_dir)
    const file = { ...defaults, max_file: defaultMaxFile(storeDir), ...given }
    const sizes = readAll({
      maxMemBytes: () => size('max_mem', file.max_mem, minMemBytes, totalmem(), 'memory'),
      maxFileBytes: () => size('max_file', file.max_file, minFileBytes, diskBytes(storeDir), 'disk'),
    })
    return { storeDir, file, sizes }
  }
  const { value: given, used } =
    text === undefined ? { value: {}, used: use({}) } : readConfig(MessagingFile, text, files.messaging, use)
  const { storeDir, file, sizes } = used
  const config = {
    ...sizes,
    storeDir,
    host: file.host,
    port: file.port,
    websocketPort: file.websocket_port,
    allowedOrigins: file.allowed_origins,
    syncAlways: given.sync_always ?? false,
  }
  return { config, made: text === undefined ? file : undefined }
}

function defaultMaxFile(storeDir: string): string | number {
  const half = Math.floor(diskBytes(storeDir) / 2)
  return parseSize(defaults.max_file)! <= half ? defaults.max_file : half
}

/** Size of the disk that holds a folder, or will hold it once it is made. */
function diskBytes(folder: string): number {
  if (!existsSync(folder)) return diskBytes(dirname(folder))
  const { bsize, blocks } = statfsSync(folder)
  return bsize * blocks
}

function size(field: string, value: string | number, min: number, max: number, of: string): number {
  const bytes = parseSize(value)
  if (bytes === undefined) {
    throw new ConfigError(
      `${files.messaging}: ${field} must be a size such as 256MiB or 10GB, not ${JSON.stringify(value)}`,
    )
  }
  if (bytes < min) throw new ConfigError(`${files.messaging}: ${field} must be at least ${min / 2 ** 20}MiB`)
  if (bytes > max) {
    throw new ConfigError(
      `${files.messaging}: ${field} exceeds the ${of} of this machine (${Math.floor(max / 2 ** 20)}MiB)`,
    )
  }
  return bytes
}
