/**
 * Small files from a folder to Azurite, through the whole platform, against the barest client that puts the same bytes:
 * how much of what Azurite can take arrives, and what a file costs the platform. `node bench/azurite.ts`.
 */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { call } from '../broker/rpc/client.ts'
import { connectWithToken, type NatsConnection } from '../broker/rpc/connection.ts'
import { filesystems } from '../subjects/filesystems/filesystems.ts'
import { loopback } from '../subjects/kit/names.ts'
import { settings } from '../subjects/access/settings.ts'
import { type Azurite, startAzurite } from '../test/support/azurite.ts'
import { startChild } from './child.ts'
import { median, print } from './figures.ts'
import { moved } from './migrate.ts'
import { processorSeconds } from './process.ts'
import { sources } from './sources.ts'

const rounds = 3
/** Of the bare client; two threads of the platform have 16 each, and more is no faster. */
const requestsAtOnce = 32
const { name, fileCount, make } = sources.objects

interface Cost {
  readonly seconds: number
  readonly processorSeconds: number
}

async function bare(azurite: Azurite, container: string): Promise<Cost> {
  const script = fileURLToPath(new URL('bare-puts.ts', import.meta.url))
  const { endpoint, account, key } = azurite
  const args = [script, 'azure', endpoint, account, key, container, `${fileCount}`, `${requestsAtOnce}`]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  return JSON.parse(stdout) as Cost
}

async function byPlatform(
  connection: NatsConnection,
  azurite: Azurite,
  pid: number,
  container: string,
): Promise<Cost> {
  await call(connection, settings.put, { storeHosts: [loopback] })
  await call(connection, filesystems['create-adls2-shared-key'], {
    fileSystemId: container,
    role: 'target',
    accountName: azurite.account,
    sharedKey: azurite.key,
    endpoint: azurite.endpoint,
    insecure: true,
    containerName: container,
  })
  const before = processorSeconds(pid)
  const started = performance.now()
  await moved(connection, container, 'from', container)
  return {
    seconds: (performance.now() - started) / 1_000,
    processorSeconds: processorSeconds(pid) - before,
  }
}

export async function benchAzurite(): Promise<void> {
  const folder = mkdtempSync(join(process.env['GANTRY_BENCH_DIR'] ?? tmpdir(), 'gantry-bench-'))
  make(join(folder, 'from'))
  await using azurite = await startAzurite()
  await using platform = await startChild('platform.mjs')
  const { tcpUrl, operatorToken } = JSON.parse(platform.line) as { tcpUrl: string; operatorToken: string }
  const connection = await connectWithToken(tcpUrl, operatorToken)
  await call(connection, filesystems['create-local'], {
    fileSystemId: 'from',
    role: 'source',
    fsRoot: join(folder, 'from'),
  })
  const bareCosts: Cost[] = []
  const costs: Cost[] = []
  // The first round warms all three programs up and does not count.
  for (let round = 0; round <= rounds; round++) {
    for (const kind of ['bare', 'gantry'] as const) {
      const container = `${kind}-${round}`
      await azurite.createContainer(container)
      const cost =
        kind === 'bare'
          ? await bare(azurite, container)
          : await byPlatform(connection, azurite, platform.pid, container)
      if (round > 0) (kind === 'bare' ? bareCosts : costs).push(cost)
    }
  }
  await connection.close()
  rmSync(folder, { recursive: true, force: true })
  const rate = ({ seconds }: Cost) => fileCount / seconds
  const msOf = (all: readonly Cost[]) =>
    median(all.map(({ processorSeconds: seconds }) => (seconds * 1_000) / fileCount))
  const share = median(costs.map((cost, round) => rate(cost) / rate(bareCosts[round]!)))
  const perSecond = (all: readonly Cost[]) => `${Math.round(median(all.map(rate)))}/s`
  print(`Small files to Azurite: ${name}`, [
    {
      name: 'files a second ÷ puts a second of the barest client',
      value: share.toFixed(2),
      aim: '≥ 0.95',
      details: `${perSecond(costs)} and ${perSecond(bareCosts)}`,
    },
    {
      name: 'processor time of the platform a file',
      value: `${msOf(costs).toFixed(2)} ms`,
      aim: '≤ 0.15 ms',
      details: `the barest client: ${msOf(bareCosts).toFixed(2)} ms`,
    },
  ])
}

if (import.meta.main) await benchAzurite()
