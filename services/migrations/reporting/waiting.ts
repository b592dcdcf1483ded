import type { NatsConnection } from '../../../broker/rpc/connection.ts'
import { QueueReader } from '../../../broker/queue/reader.ts'
import type { Output } from '../../../subjects/kit/contract.ts'
import type { migrations } from '../../../subjects/migrations/migrations.ts'
import { pathFromText, textFromPath } from '../../drivers/paths/path-text.ts'
import type { StorePath } from '../../drivers/contract/driver.ts'
import { decodeItem } from '../../engine/items/item-decode.ts'
import type { Item } from '../../engine/items/items.ts'
import { isWithin, joinPath, relativePath } from '../../engine/items/paths.ts'
import { type MigrationRecord, workIdOf } from '../lifecycle/record.ts'

/** Items that are looked at for one path: each is a question to the broker, of which it answers some thousand a second. */
const maxLookedAt = 1_000

/** Work for a path, or for what is in it, among the first items of a migration's queue. */
export async function countActions(
  connection: NatsConnection,
  record: MigrationRecord,
  path: StorePath,
): Promise<number> {
  const wanted = relativePath(pathFromText(record.path), path)
  const queue = await QueueReader.open(connection, workIdOf(record))
  let count = 0
  let looked = 0
  for await (const { data } of queue.items()) {
    if (concerns(decodeItem(data), wanted)) count += 1
    if (++looked >= maxLookedAt) break
  }
  return count
}

/** A folder that is to be listed concerns all that is in it. */
function concerns(item: Item, wanted: StorePath): boolean {
  return pathsOf(item).some(
    (path) => isWithin(wanted, path) || (item.kind === 'region' && isWithin(path, wanted)),
  )
}

/** All paths of an item, relative to the migration's. */
function pathsOf(item: Item): StorePath[] {
  switch (item.kind) {
    case 'region':
    case 'folders':
      return [
        ...(item.start === undefined ? [] : [item.start]),
        ...item.groups.flatMap(({ parent, names }) => names.map((name) => joinPath(parent, name))),
      ]
    case 'transfer':
      return item.groups.flatMap(({ folder, files, others }) =>
        [...files, ...others].map((name) => joinPath(folder, name)),
      )
    case 'reconcile':
      return item.groups.flatMap(({ folder, names, trees, scope }) => [
        ...(scope === 'names' ? [] : [folder]),
        ...[...names, ...trees].map((name) => joinPath(folder, name)),
      ])
    case 'large':
    case 'parts':
      break
  }
  return [item.path]
}

/** What has waited longest in a migration's queue. */
export async function oldestWork(
  connection: NatsConnection,
  record: MigrationRecord,
): Promise<Output<(typeof migrations)['oldest-work']>> {
  const { migrationId } = record
  const queue = await QueueReader.open(connection, workIdOf(record))
  for await (const { data, since } of queue.items()) {
    const item = decodeItem(data)
    const [first] = pathsOf(item)
    const isRegion = item.kind === 'region'
    return {
      migrationId,
      itemType: isRegion ? 'RESCAN_REGION' : 'SCHEDULED_EVENT',
      operation: isRegion ? 'RESCAN' : 'MIGRATION',
      ...(first === undefined ? {} : { path: textFromPath(joinPath(pathFromText(record.path), first)) }),
      queuedTimeStamp: since.getTime(),
      queuedDate: since.toISOString(),
    }
  }
  return { migrationId, itemType: 'NONE' }
}
