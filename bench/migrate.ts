/**
 * Local to local through the whole platform, from the call to the event of its end, digests on both sides.
 * `node bench/migrate.ts [part of a name …]`.
 */
import { mkdirSync } from 'node:fs'
import { call } from '../broker/rpc/client.ts'
import { connectWithToken, type NatsConnection } from '../broker/rpc/connection.ts'
import { filesystems } from '../subjects/filesystems/filesystems.ts'
import { migrations } from '../subjects/migrations/migrations.ts'
import { subjectToken } from '../subjects/kit/names.ts'
import { startChild } from './child.ts'
import { compareCopies, type Copier } from './copies.ts'
import { processorSecondsOfAll } from './process.ts'
import { sources } from './sources.ts'

const jobs = [
  { source: sources.small, aims: { 'cp -a': '≥ 1.0', rclone: '≥ 1.75' } },
  { source: sources.crowded, aims: {} },
  { source: sources.empty, aims: { 'cp -a': '≥ 1.25' } },
  { source: sources.large, aims: { rclone: '≥ 2.0' } },
]

/** Migrates between two filesystems; resolves with the event that it is completed. */
export async function moved(
  connection: NatsConnection,
  migrationId: string,
  source: string,
  target: string,
): Promise<void> {
  const completed = Promise.withResolvers<void>()
  const subject = `gantry.events.v1.migrations.completed.${subjectToken(migrationId)}`
  const subscription = connection.subscribe(subject, { callback: () => completed.resolve() })
  await call(connection, migrations.create, { migrationId, path: '/', source, target, autoStart: true })
  await completed.promise
  subscription.unsubscribe()
  const { failedPathCount } = await call(connection, migrations.get, { migrationId })
  if (failedPathCount > 0) throw new Error(`${failedPathCount} paths failed`)
}

/**
 * A migration from its definition to the event that it is completed.
 * @param pid of the platform
 */
export function byGantry(connection: NatsConnection, pid: number): Copier {
  let count = 0
  const copy = async (source: string, target: string) => {
    const id = `bench-${count++}`
    mkdirSync(target)
    await call(connection, filesystems['create-local'], {
      fileSystemId: `${id}-from`,
      role: 'source',
      fsRoot: source,
    })
    await call(connection, filesystems['create-local'], {
      fileSystemId: `${id}-to`,
      role: 'target',
      fsRoot: target,
    })
    await moved(connection, id, `${id}-from`, `${id}-to`)
  }
  return { name: 'gantry', copy, processorSeconds: () => processorSecondsOfAll(pid) }
}

/** @param wanted parts of the names of the sources to be measured; all without any */
export async function benchMigrate(wanted: readonly string[] = []): Promise<void> {
  await using platform = await startChild('platform.mjs')
  const { tcpUrl, operatorToken } = JSON.parse(platform.line) as { tcpUrl: string; operatorToken: string }
  const connection = await connectWithToken(tcpUrl, operatorToken)
  await compareCopies(
    'Local to local, through the whole platform',
    byGantry(connection, platform.pid),
    jobs,
    wanted,
  )
  await connection.close()
}

if (import.meta.main) await benchMigrate(process.argv.slice(2))
