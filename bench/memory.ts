/**
 * Resident memory of the platform's process (nats-server apart) at its highest, over a migration of 200,000 empty files
 * from a folder to a folder. The peer is the same process before the migration.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectWithToken } from '../broker/connection.ts'
import { startChild } from './child.ts'
import { print } from './figures.ts'
import { byGantry } from './migrate.ts'
import { residentMb } from './process.ts'
import { sources } from './sources.ts'

export async function benchMemory(): Promise<void> {
  const folder = mkdtempSync(join(process.env['GANTRY_BENCH_DIR'] ?? tmpdir(), 'gantry-bench-'))
  const source = join(folder, 'from')
  sources.empty.make(source)
  await using platform = await startChild('platform.mjs')
  const { tcpUrl, operatorToken } = JSON.parse(platform.line) as { tcpUrl: string; operatorToken: string }
  const connection = await connectWithToken(tcpUrl, operatorToken)
  const before = residentMb(platform.pid)
  const started = performance.now()
  await byGantry(connection).copy(source, join(folder, 'to'))
  const seconds = (performance.now() - started) / 1_000
  const after = residentMb(platform.pid)
  await connection.close()
  print('Memory', [
    {
      name: `highest resident memory over ${sources.empty.name} files`,
      value: `${after.highest.toFixed(0)} MB`,
      aim: '< 300 MB',
      details: `${before.now.toFixed(0)} MB before; ${seconds.toFixed(1)} s`,
    },
  ])
  rmSync(folder, { recursive: true, force: true })
}

if (import.meta.main) await benchMemory()
