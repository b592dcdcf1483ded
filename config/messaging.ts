import { existsSync, statfsSync } from 'node:fs'
import { totalmem } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { type Static, Type } from 'typebox'
import { brokerPort, files, loopback, websocketPort } from '../subjects/kit/names.ts'
import { strict } from '../subjects/kit/schemas.ts'
import { checkConfig, ConfigError, parseConfig } from './config-error.ts'
import { readTextFile, writeSecretFile } from '../broker/common/files.ts'
import { parseSize } from './sizes.ts'

const Size = (description: string) =>
  Type.Union([Type.String({ maxLength: 40 }), Type.Integer()], { description })
const Port = (description: string) => Type.Integer({ minimum: 0, maximum: 65_535, description })

const MessagingFile = strict({
  max_mem: Type.Optional(Size('Memory for streams, such as 256MiB')),
  max_file: Type.Optional(Size('Disk space for streams, such as 10GiB; half of a smaller disk by default')),
  store_dir: Type.Optional(
    Type.String({ minLength: 1, description: 'Folder of the streams, relative to this file' }),
  ),
  host: Type.Optional(
    Type.String({ pattern: '^[A-Za-z0-9.:_-]+$', description: 'Address to listen on; default loopback' }),
  ),
  port: Type.Optional(Port('Port of NATS clients; 0 takes a free one')),
  websocket_port: Type.Optional(Port('Port of WebSocket clients; 0 takes a free one')),
  allowed_origins: Type.Optional(
    Type.Array(Type.String({ pattern: '^https?://[^/]+$' }), {
      description: 'Origins of web pages that may connect, beside the platform’s own',
    }),
  ),
  sync_always: Type.Optional(
    Type.Boolean({
      description: 'fsync before each acknowledgement: survives a power cut, costs most of the speed',
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

/**
 * Reads `messaging.config` in the configuration folder; writes it with the defaults when there is none. A file that leaves
 * some of them out is left as it is.
 * @throws ConfigError that names the field and the fix.
 */
export function loadMessagingConfig(home: string): MessagingConfig {
  const path = join(home, files.messaging)
  const text = readTextFile(path)
  const given = text === undefined ? {} : checkConfig(MessagingFile, parseConfig(path, text), files.messaging)
  const storeDir = resolve(home, given.store_dir ?? defaults.store_dir)
  const file = { ...defaults, max_file: defaultMaxFile(storeDir), ...given }
  if (text === undefined) writeSecretFile(path, `${JSON.stringify(file, null, 2)}\n`)
  const { port, websocket_port } = file
  if (port === websocket_port && port !== 0) {
    throw new ConfigError(`${files.messaging}: websocket_port must be another port than port (${port})`)
  }
  return {
    maxMemBytes: size('max_mem', file.max_mem, minMemBytes, totalmem(), 'memory'),
    maxFileBytes: size('max_file', file.max_file, minFileBytes, diskBytes(storeDir), 'disk'),
    storeDir,
    host: file.host,
    port,
    websocketPort: websocket_port,
    allowedOrigins: file.allowed_origins,
    syncAlways: given.sync_always ?? false,
  }
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
      `${files.messaging}: ${field} is no size: ${JSON.stringify(value)}; write it like 256MiB or 10GB`,
    )
  }
  if (bytes < min) throw new ConfigError(`${files.messaging}: ${field} must be at least ${min / 2 ** 20}MiB`)
  if (bytes > max) {
    throw new ConfigError(
      `${files.messaging}: ${field} is more than the ${of} of this machine (${Math.floor(max / 2 ** 20)}MiB)`,
    )
  }
  return bytes
}
