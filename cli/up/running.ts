import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { brokerError } from '../../broker/rpc/client.ts'
import type { NatsConnection } from '../../broker/rpc/connection.ts'
import { connectAs } from '../../broker/rpc/platform-connection.ts'
import { brokerUrl, lastBrokerUrl } from '../../broker/server/server.ts'
import { loadMessagingConfig } from '../../config/messaging.ts'
import { loadPlatformConfig } from '../../config/platform.ts'
import { files } from '../../subjects/kit/names.ts'
import { createLog } from '../log.ts'

const urlOf = (home: string): string =>
  lastBrokerUrl(join(home, 'run')) ?? brokerUrl(loadMessagingConfig(home))

/** Where the platform of a configuration folder listens, whoever may call it; undefined when none runs, or nobody can tell. */
export async function runningAt(home: string): Promise<string | undefined> {
  if (!existsSync(join(home, files.config))) return undefined
  try {
    const connection = await connectToRunning(home, 'look')
    await connection?.close()
    return connection && urlOf(home)
  } catch {
    // What is wrong with its configuration, its checks say.
    return undefined
  }
}

/** A connection to the platform that runs on this folder, with its own identity; undefined when none runs. */
export async function connectToRunning(home: string, name: string): Promise<NatsConnection | undefined> {
  const messaging = loadMessagingConfig(home)
  const { identity } = await loadPlatformConfig(home, messaging, await createLog('silent', { colour: false }))
  const url = urlOf(home)
  try {
    return await connectAs('PLATFORM', { url, identity, name, once: true })
  } catch (error) {
    const known = brokerError(error, url)
    if (known.code === 'UNAVAILABLE') return undefined
    throw known
  }
}
