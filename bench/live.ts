/**
 * How fast changes of a live migration arrive, whether any is lost in a storm, and what it costs when nothing changes.
 * `node bench/live.ts`. There is no peer that does the same: the figures are those of this machine.
 */
import { appendFileSync, lstatSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { call } from '../broker/rpc/client.ts'
import { connectWithToken, type NatsConnection } from '../broker/rpc/connection.ts'
import { filesystems } from '../subjects/filesystems/filesystems.ts'
import { migrations } from '../subjects/migrations/migrations.ts'
import { compareTrees } from '../test/support/compare-trees.ts'
import { startChild } from './child.ts'
import { median, print, quantile } from './figures.ts'
import { processorShare } from './process.ts'

const folders = 2_000
const steady = { perSecond: 500, seconds: 20 }
const storm = { perSecond: 12_000, seconds: 5 }
/** Writers begin a little each time: a timer is good for no more. */
const tickMs = 10
const idleMs = 60_000
/** V8 collects what the start and the storm have left behind. */
const restMs = 60_000
const migrationId = 'live'

const pathOf = (root: string, folder: number, name: string) =>
  join(root, `${folder % 50}`, `folder ${folder}`, name)

/** Calls `change` at a steady rate, and says how fast it was in truth. */
async function changeSteadily(
  { perSecond, seconds }: { perSecond: number; seconds: number },
  change: (count: number) => void,
): Promise<number> {
  const startedMs = performance.now()
  let done = 0
  while (done < perSecond * seconds) {
    const due = Math.min(
      perSecond * seconds,
      Math.ceil(((performance.now() - startedMs) / 1_000) * perSecond),
    )
    while (done < due) change(done++)
    await delay(tickMs)
  }
  return done / ((performance.now() - startedMs) / 1_000)
}

/** Until the target is behind by nothing. */
export async function untilApplied(connection: NatsConnection, migrationId: string): Promise<number> {
  const startedMs = performance.now()
  for (;;) {
    await delay(100)
    const { changeLagSeconds, state } = await call(connection, migrations.get, { migrationId })
    if (state === 'LIVE' && changeLagSeconds === 0) return (performance.now() - startedMs) / 1_000
  }
}

/** Milliseconds from each write to the renaming at the target; the kernel's clock for that has steps of 4 ms. */
async function measureLatency(connection: NatsConnection, source: string, target: string): Promise<number[]> {
  const written: { path: string; atMs: number }[] = []
  await changeSteadily(steady, (count) => {
    const [folder, name] = [(count * 7) % folders, `steady ${count}`]
    written.push({ path: pathOf(target, folder, name), atMs: Date.now() })
    writeFileSync(pathOf(source, folder, name), `change ${count}`)
  })
  await untilApplied(connection, migrationId)
  return written.map(({ path, atMs }) => lstatSync(path).ctimeMs - atMs)
}

export async function benchLive(): Promise<void> {
  const root = mkdtempSync(join(process.env['GANTRY_BENCH_DIR'] ?? tmpdir(), 'gantry-bench-'))
  const [source, target] = [join(root, 'source'), join(root, 'target')]
  for (let folder = 0; folder < folders; folder++) mkdirSync(pathOf(source, folder, ''), { recursive: true })
  mkdirSync(target)
  await using platform = await startChild('platform.mjs')
  const { tcpUrl, operatorToken } = JSON.parse(platform.line) as { tcpUrl: string; operatorToken: string }
  const connection = await connectWithToken(tcpUrl, operatorToken)
  const place = { source: ['source', source], target: ['target', target] } as const
  for (const [role, [fileSystemId, fsRoot]] of Object.entries(place)) {
    const input = { fileSystemId, role: role as 'source' | 'target', fsRoot }
    await call(connection, filesystems['create-local'], input)
  }
  await delay(restMs)
  const shareWithout = await processorShare(platform.pid, idleMs)
  const options = { path: '/', source: 'source', target: 'target', scanOnlyMigration: false, autoStart: true }
  await call(connection, migrations.create, { migrationId, ...options })
  await untilApplied(connection, migrationId)

  const latencies = await measureLatency(connection, source, target)
  const rate = await changeSteadily(storm, (count) => {
    const path = pathOf(source, (count * 13) % folders, `storm ${count % 20_000}`)
    if (count % 3 === 0) appendFileSync(path, `change ${count}`)
    else writeFileSync(path, `change ${count}`)
  })
  const seconds = await untilApplied(connection, migrationId)
  const differences = compareTrees(source, target)
  await delay(restMs)
  const share = await processorShare(platform.pid, idleMs)
  await connection.close()
  rmSync(root, { recursive: true, force: true })
  const ms = (value: number) => `${value.toFixed(1)} ms`
  const changes = `${storm.perSecond * storm.seconds} changes in ${folders} folders`
  print(`Live: ${folders} folders`, [
    {
      name: `from a write to the target at ${steady.perSecond}/s, p99 (p50)`,
      value: `${ms(quantile(latencies, 0.99))} (${ms(median(latencies))})`,
      aim: '≤ 20 ms',
      details: `p90 ${ms(quantile(latencies, 0.9))}, ${latencies.length} changes`,
    },
    {
      name: `differences after ${Math.round(rate)}/s`,
      value: String(differences.length),
      aim: '0',
      details: `${changes}, all there ${seconds.toFixed(1)} s after the last; ${differences.slice(0, 3).join(', ')}`,
    },
    {
      name: 'of a processor when nothing changes',
      value: `${(share * 100).toFixed(2)} %`,
      aim: '≤ 2 %',
      details: `platform and broker together, over ${idleMs / 1_000} s; ${(shareWithout * 100).toFixed(2)} % before the migration`,
    },
  ])
}

if (import.meta.main) await benchLive()
