/**
 * The engine without the broker, local to local: worker threads fed from queues in memory, digests on both sides.
 * `node bench/engine.ts [part of a name …]`. The aims are what the recipe's own trial reached.
 */
import { mkdirSync } from 'node:fs'
import { Mover } from '../services/engine/mover.ts'
import { drive } from '../test/services/engine/drive.ts'
import { localSpec } from '../test/services/engine/local-spec.ts'
import { compareCopies, type Copier } from './copies.ts'
import { sources } from './sources.ts'

const jobs = [
  { source: sources.small, aims: { rclone: '≥ 2.0', 'cp -a': '≥ 1.1' } },
  { source: sources.empty, aims: { rclone: '≥ 3.1', 'cp -a': '≥ 1.5' } },
  { source: sources.large, aims: { rclone: '≥ 2.0', 'cp -a': '≥ 0.4' } },
]

function byEngine(mover: Mover): Copier {
  const copy = async (source: string, target: string) => {
    mkdirSync(target)
    const { failures } = await drive(mover, localSpec({ from: source, to: target }, { id: 'bench' }))
    if (failures.length > 0)
      throw new Error(`${failures.length} paths failed, the first: ${failures[0]?.message}`)
  }
  const processorSeconds = () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
  }
  return { name: 'engine', copy, processorSeconds }
}

/** @param wanted parts of the names of the sources to be measured; all without any */
export async function benchEngine(wanted: readonly string[] = []): Promise<void> {
  await using mover = new Mover({ log: { error: (_, message) => process.stderr.write(`${message}\n`) } })
  await compareCopies('The engine without the broker, local to local', byEngine(mover), jobs, wanted)
  const peakMB = Math.round(process.resourceUsage().maxRSS / 1_000)
  process.stdout.write(`\nPeak memory of this process with all threads: ${peakMB} MB\n`)
}

if (import.meta.main) await benchEngine(process.argv.slice(2))
