import type { NatsConnection } from '../../../broker/rpc/connection.ts'
import { QueueReader } from '../../../broker/queue/reader.ts'
import { decodeItem } from '../../engine/items/item-decode.ts'
import { joinPath } from '../../engine/items/paths.ts'
import { ToldNames } from '../../engine/walk/plan-by.ts'
import { type MigrationRecord, workIdOf } from '../lifecycle/record.ts'

/** Names that a plan takes into account, some 100 bytes each in every thread. An item has up to some hundred. */
const maxTold = 100_000

/** Names in the queue of a live migration whose changes wait: while it is stopped, those of removals that are held. */
export async function toldNamesOf(connection: NatsConnection, record: MigrationRecord): Promise<ToldNames> {
  const told = new ToldNames()
  const queue = await QueueReader.open(connection, workIdOf(record))
  for await (const { data } of queue.items()) {
    const item = decodeItem(data)
    if (item.kind !== 'reconcile') continue
    for (const { folder, names, trees } of item.groups) {
      for (const name of names) told.add(joinPath(folder, name), 'name')
      for (const name of trees) told.add(joinPath(folder, name), 'tree')
    }
    if (told.size >= maxTold) break
  }
  return told
}
