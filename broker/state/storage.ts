import { jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/transport-node'

/** What the streams of the platform take, and may take, in bytes. */
export interface StorageUse {
  readonly fileBytes: number
  readonly maxFileBytes: number
  readonly memBytes: number
  readonly maxMemBytes: number
}

/** Looks up the storage that is in use. @throws when JetStream does not answer */
export async function storageUse(connection: NatsConnection): Promise<StorageUse> {
  const manager = await jetstreamManager(connection, { checkAPI: false })
  const { storage, memory, limits } = await manager.getAccountInfo()
  return {
    fileBytes: storage,
    maxFileBytes: limits.max_storage ?? 0,
    memBytes: memory,
    maxMemBytes: limits.max_memory ?? 0,
  }
}
