import type { NatsConnection } from '../../broker/connection.ts'
import type { Events } from '../../broker/events.ts'
import type { Log } from '../../broker/log.ts'
import type { Sealer } from '../../broker/seal.ts'
import type { Handlers } from '../../subjects/contract.ts'
import type { migrations, migrationsInternal } from '../../subjects/migrations.ts'

export async function startMigrations(_: {
  connection: NatsConnection
  sealer: Sealer
  events: Events
  log: Log
}) {
  await Promise.resolve()
  return {
    handlers: {} as Handlers<typeof migrations>,
    internalHandlers: {} as Handlers<typeof migrationsInternal>,
    stop: () => Promise.resolve(),
  }
}
