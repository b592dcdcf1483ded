import { jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '../../broker/rpc/connection.ts'
import { connectAs } from '../../broker/rpc/platform-connection.ts'
import { loadMessagingConfig } from '../../config/messaging.ts'
import { loadPlatformConfig } from '../../config/platform.ts'
import { type TestPlatform, testLog } from './platform.ts'

/** Connects as the platform itself, by the identity in its folder. */
export async function connectAsPlatform({
  home,
  tcpUrl,
}: Pick<TestPlatform, 'home' | 'tcpUrl'>): Promise<NatsConnection> {
  const { identity } = await loadPlatformConfig(home, loadMessagingConfig(home), testLog)
  return connectAs('PLATFORM', { url: tcpUrl, identity, name: 'test' })
}

/** What the platform keeps for a migration, by stream: the number of messages in each that has any. */
export async function keptFor(
  connection: NatsConnection,
  internalId: string,
): Promise<Record<string, number>> {
  const manager = await jetstreamManager(connection)
  const kept: Record<string, number> = {}
  for await (const { config } of manager.streams.list()) {
    const { state } = await manager.streams.info(config.name, { subjects_filter: `*.>` })
    const mine = Object.entries(state.subjects ?? {}).filter(([subject]) => subject.includes(internalId))
    const count = mine.reduce((sum, [, one]) => sum + one, 0)
    if (count > 0 || config.name.includes(internalId)) kept[config.name] = count
  }
  return kept
}
