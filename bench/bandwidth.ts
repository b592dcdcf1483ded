/**
 * How well a limit on bandwidth is kept: bytes at the target over ten seconds, through the whole platform from folder to
 * folder, and over ten more after the limit was changed. Run by itself: `node bench/bandwidth.ts`.
 */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { call } from '../broker/rpc/client.ts'
import { connectWithToken, type NatsConnection } from '../broker/rpc/connection.ts'
import { bandwidth } from '../subjects/migrations/bandwidth.ts'
import { filesystems } from '../subjects/filesystems/filesystems.ts'
import { migrations } from '../subjects/migrations/migrations.ts'
import { startChild } from './child.ts'
import { type Figure, print } from './figures.ts'

const KiB = 1024
const MiB = 1024 * KiB
const measuredMs = 10_000
/** Parts and files are charged before they are moved: what is under way when the measurement begins evens out. */
const settleMs = 2_000

const trees = {
  'small files': { bytes: 64 * KiB, count: 8_000, limits: [8 * MiB, 3 * MiB] },
  'large files': { bytes: 64 * MiB, count: 8, limits: [8 * MiB, 1 * MiB] },
} as const

/** Bytes below a folder, those of temporary files too: blocks that are written, as a large file has its size at once. */
function bytesIn(folder: string): number {
  let bytes = 0
  for (const name of readdirSync(folder)) bytes += statSync(join(folder, name)).blocks * 512
  return bytes
}

/** Bytes a second that arrive. */
async function rateInto(folder: string): Promise<number> {
  await delay(settleMs)
  const begun = performance.now()
  const before = bytesIn(folder)
  await delay(measuredMs)
  return ((bytesIn(folder) - before) / (performance.now() - begun)) * 1_000
}

async function measure(
  connection: NatsConnection,
  root: string,
  [name, { bytes, count, limits }]: [string, (typeof trees)[keyof typeof trees]],
): Promise<Figure[]> {
  const id = name.replace(' ', '-')
  const [source, target] = [join(root, `${id}-from`), join(root, `${id}-to`)]
  for (const folder of [source, target]) mkdirSync(folder)
  for (let index = 0; index < count; index++)
    writeFileSync(join(source, `${index}`), Buffer.alloc(bytes, index))
  for (const [fileSystemId, role, fsRoot] of [
    [`${id}-from`, 'source', source],
    [`${id}-to`, 'target', target],
  ] as const)
    await call(connection, filesystems['create-local'], { fileSystemId, role, fsRoot })
  const figures: Figure[] = []
  for (const [index, limit] of limits.entries()) {
    await call(connection, bandwidth.set, { scope: 'global', limit })
    if (index === 0)
      await call(connection, migrations.create, {
        migrationId: id,
        path: '/',
        source: `${id}-from`,
        target: `${id}-to`,
        autoStart: true,
      })
    const rate = await rateInto(target)
    figures.push({
      name: `${name}, ${limit / MiB} MiB/s${index === 0 ? '' : ', changed while it ran'}`,
      value: (rate / limit).toFixed(3),
      aim: '0.9–1.1',
      details: `${(rate / MiB).toFixed(2)} MiB/s over ${measuredMs / 1_000} s`,
    })
  }
  await call(connection, migrations.stop, { migrationId: id })
  return figures
}

export async function benchBandwidth(): Promise<void> {
  const root = mkdtempSync(join(tmpdir(), 'gantry-bench-'))
  try {
    await using platform = await startChild('platform.mjs')
    const { tcpUrl, operatorToken } = JSON.parse(platform.line) as { tcpUrl: string; operatorToken: string }
    const connection = await connectWithToken(tcpUrl, operatorToken)
    const figures: Figure[] = []
    for (const tree of Object.entries(trees)) figures.push(...(await measure(connection, root, tree)))
    print('Bandwidth: arrived against the limit', figures)
    await connection.close()
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

if (import.meta.main) await benchBandwidth()
