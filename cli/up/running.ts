import { join } from 'node:path'
import { brokerError } from '../../broker/rpc/client.ts'
import type { NatsConnection } from '../../broker/rpc/connection.ts'
import { connectAs } from '../../broker/rpc/platform-connection.ts'
import { brokerUrl, lastBrokerUrl } from '../../broker/server/server.ts'
import { loadMessagingConfig } from '../../config/messaging.ts'
import { loadPlatformConfig } from '../../config/platform.ts'
import { createLog } from '../log.ts'

/** A connection to the platform that runs on this folder, with its own identity; undefined when none runs. */
export async function connectToRunning(home: string, name: string): Promise<NatsConnection | undefined> {
  const messaging = loadMessagingConfig(home)
  const { identity } = await loadPlatformConfig(home, messaging, await createLog('silent', { colour: false }))
  const url = lastBrokerUrl(join(home, 'run')) ?? brokerUrl(messaging)
  try {
    return await connectAs('PLATFORM', { url, identity, name, once: true })
  } catch (error) {
    const known = brokerError(error, url)
    if (known.code === 'UNAVAILABLE') return undefined
    throw known
  }
}
