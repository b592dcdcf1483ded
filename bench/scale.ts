/**
 * A million files through the whole platform: cost a file against 200,000 and against rclone, the memory of the platform,
 * and what following them costs while nothing changes. `node bench/scale.ts [part of a name …]`; GANTRY_BENCH_DIR needs four million free inodes, nothing of which is
 * deleted before the end.
 */
import { globSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { call } from '../broker/rpc/client.ts'
import { connectWithToken, type NatsConnection } from '../broker/rpc/connection.ts'
import { migrations } from '../subjects/migrations/migrations.ts'
import { startChild } from './child.ts'
import { rclone, sameStart } from './copies.ts'
import { type Figure, print } from './figures.ts'
import { untilApplied } from './live.ts'
import { byGantry } from './migrate.ts'
import { processorShare, residentMb } from './process.ts'
import { type Source, sources } from './sources.ts'

const idleMs = 30_000

/** Follows a source whose copy is there, and nothing changes. Resolves to the share of a processor, broker and all. */
async function follow(connection: NatsConnection, pid: number, copied: string): Promise<number> {
  const migrationId = 'live'
  const { source, target } = await call(connection, migrations.get, { migrationId: copied })
  await call(connection, migrations.delete, { migrationId: copied })
  const options = { path: '/', source, target, scanOnlyMigration: false }
  await call(connection, migrations.create, { migrationId, ...options, autoStart: true })
  await untilApplied(connection, migrationId)
  return processorShare(pid, idleMs)
}

/** Looks at the size of the work queues on the disk until it is stopped; tells the largest. */
function watchQueues(home: string) {
  let mostBytes = 0
  const look = () => {
    const sizes = globSync(join(home, '**/streams/WORK_*/msgs/*.blk')).map(
      (path) => statSync(path, { throwIfNoEntry: false })?.size ?? 0,
    )
    mostBytes = Math.max(
      mostBytes,
      sizes.reduce((sum, size) => sum + size, 0),
    )
  }
  const timer = setInterval(look, 200)
  return () => {
    clearInterval(timer)
    return mostBytes / 1e6
  }
}

/** One round each: a million files take longer than what varies between rounds. */
async function measure(source: Source, folder: string, withPeer: boolean) {
  const from = join(folder, source.name)
  source.make(from)
  await using platform = await startChild('platform.mjs')
  const { home, tcpUrl, operatorToken } = JSON.parse(platform.line) as Record<string, string>
  const shareBefore = withPeer ? await processorShare(platform.pid, idleMs) : 0
  const connection = await connectWithToken(tcpUrl!, operatorToken!)
  const largestQueueMb = watchQueues(home!)
  const seconds: number[] = []
  for (const { name, copy } of [byGantry(connection, platform.pid), ...(withPeer ? [rclone] : [])]) {
    await sameStart(from)
    const started = performance.now()
    await copy(from, `${from}-${name}`)
    seconds.push((performance.now() - started) / 1_000)
  }
  const rssMb = residentMb(platform.pid).highest
  const queueMb = largestQueueMb()
  const idleShare = withPeer ? await follow(connection, platform.pid, 'bench-0') : 0
  const liveMb = residentMb(platform.pid).now
  await connection.close()
  const [own = 0, peer = 0] = seconds
  return {
    own,
    peer,
    perFileUs: (own * 1e6) / source.fileCount,
    rssMb,
    queueMb,
    shareBefore,
    idleShare,
    liveMb,
  }
}

/** @param wanted parts of the names of the sources to be measured; all without any */
export async function benchScale(wanted: readonly string[] = []): Promise<void> {
  const folder = mkdtempSync(join(process.env['GANTRY_BENCH_DIR'] ?? tmpdir(), 'gantry-bench-'))
  const base = await measure(sources.empty, folder, false)
  const isWanted = ({ name }: Source) => wanted.length === 0 || wanted.some((part) => name.includes(part))
  for (const source of [sources.million, sources.millionInOne].filter(isWanted)) {
    const { own, peer, perFileUs, rssMb, queueMb, ...idle } = await measure(source, folder, true)
    print(`Scale: ${source.name}`, [
      {
        name: 'times as fast as rclone',
        value: (peer / own).toFixed(2),
        aim: '≥ 2.2',
        details: `gantry ${own.toFixed(1)} s, rclone ${peer.toFixed(1)} s`,
      },
      {
        name: `cost of a file ÷ that of ${sources.empty.name}`,
        value: (perFileUs / base.perFileUs).toFixed(2),
        aim: '≤ 1.1',
        details: `${perFileUs.toFixed(1)} and ${base.perFileUs.toFixed(1)} µs`,
      },
      {
        name: 'highest resident memory of the platform',
        value: `${rssMb.toFixed(0)} MB`,
        aim: '< 200 MB',
        details: 'nats-server apart',
      },
      largestQueue(queueMb),
      {
        name: 'of a processor by following them, when nothing changes',
        value: `${(idle.idleShare * 100).toFixed(2)} %`,
        aim: '≤ 2 %',
        details: `platform and broker together, over ${idleMs / 1_000} s; ${(idle.shareBefore * 100).toFixed(2)} % before anything was moved; resident ${idle.liveMb.toFixed(0)} MB`,
      },
    ])
  }
  if (isWanted(sources.folders)) {
    const { own, perFileUs, rssMb, queueMb } = await measure(sources.folders, folder, false)
    print(`Scale: ${sources.folders.name}`, [
      { name: 'a folder', value: `${perFileUs.toFixed(0)} µs`, aim: '', details: `${own.toFixed(1)} s` },
      largestQueue(queueMb),
      {
        name: 'highest resident memory of the platform',
        value: `${rssMb.toFixed(0)} MB`,
        aim: '',
        details: '',
      },
    ])
  }
  rmSync(folder, { recursive: true, force: true })
}

const largestQueue = (mb: number): Figure => ({
  name: 'work queue at its largest',
  value: `${mb.toFixed(1)} MB`,
  aim: 'bounded',
  details: 'on the disk',
})

if (import.meta.main) await benchScale(process.argv.slice(2))
