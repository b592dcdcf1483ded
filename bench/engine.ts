/**
 * The engine without the broker, local to local: worker threads fed from queues in memory, digests on both sides, against
 * `cp -r` and `rclone copy` in the same run, in turns. Targets are always fresh folders and nothing is deleted until the
 * end: ext4 is slow for minutes where much was deleted. `node bench/engine.ts [part of a name …]`; GANTRY_BENCH_DIR is where.
 */
import { execFile } from 'node:child_process'
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Mover } from '../services/migrations/engine/mover.ts'
import { drive } from '../test/services/migrations/engine/drive.ts'
import { type Figure, median, print } from './figures.ts'
import { sameStart } from './same-start.ts'

const run = promisify(execFile)
const rounds = 3

interface Peer {
  readonly name: string
  readonly copy: (source: string, target: string) => Promise<void>
}

interface Job {
  readonly name: string
  /** Times as fast as these peers that the recipe's own trial reached. */
  readonly aims: Readonly<Record<string, string>>
  readonly make: (folder: string) => void
}

function makeFiles(folder: string, folders: number, filesInEach: number, sizeBytes: number): void {
  for (let i = 0; i < folders; i++) {
    mkdirSync(join(folder, `${i}`), { recursive: true })
    for (let j = 0; j < filesInEach; j++) {
      writeFileSync(join(folder, `${i}`, `file-${j}`), Buffer.alloc(sizeBytes, `${i} ${j} `))
    }
  }
}

function makeLarge(folder: string): void {
  mkdirSync(folder)
  const block = Buffer.alloc(2 ** 20)
  for (let at = 0; at < 2 ** 30; at += block.length) {
    appendFileSync(join(folder, 'large'), block.fill(`${at} `))
  }
}

const jobs: readonly Job[] = [
  {
    name: '10,000 × 4 KiB',
    aims: { rclone: '≥ 2.0', cp: '≥ 1.1' },
    make: (folder) => makeFiles(folder, 100, 100, 4_096),
  },
  {
    name: '200,000 empty',
    aims: { rclone: '≥ 3.1', cp: '≥ 1.5' },
    make: (folder) => makeFiles(folder, 200, 1_000, 0),
  },
  {
    name: '1 GiB',
    aims: { rclone: '≥ 2.0', cp: '≥ 0.4' },
    make: makeLarge,
  },
]

function byEngine(mover: Mover): Peer {
  const copy = async (source: string, target: string) => {
    mkdirSync(target)
    const { failures } = await drive(mover, {
      id: 'bench',
      generation: 1,
      root: new Uint8Array(0),
      source: { kind: 'local', options: { fsRoot: source } },
      target: { kind: 'local', options: { fsRoot: target } },
      policy: 'overwrite',
    })
    if (failures.length > 0)
      throw new Error(`${failures.length} paths failed, the first: ${failures[0]?.message}`)
  }
  return { name: 'engine', copy }
}

async function peersHere(): Promise<Peer[]> {
  const cp: Peer = {
    name: 'cp',
    copy: async (source, target) => void (await run('cp', ['-r', '--reflink=never', source, target])),
  }
  const rclone: Peer = {
    name: 'rclone',
    copy: async (source, target) =>
      void (await run('rclone', ['copy', '--config', '/dev/null', source, target])),
  }
  try {
    await run('rclone', ['version'])
    return [cp, rclone]
  } catch {
    process.stdout.write('rclone is not on PATH: its ratios are left out (Debian: apt-get install rclone).\n')
    return [cp]
  }
}

/** Seconds of all peers, round by round. */
async function measure(peers: readonly Peer[], source: string): Promise<Map<Peer, number[]>> {
  const seconds = new Map(peers.map((peer) => [peer, [] as number[]]))
  // The first round brings the source into the page cache and starts the threads; it does not count.
  for (let round = 0; round <= rounds; round++) {
    for (const peer of peers) {
      await sameStart(source)
      const started = performance.now()
      await peer.copy(source, `${source}-${peer.name}-${round}`)
      if (round > 0) seconds.get(peer)?.push((performance.now() - started) / 1_000)
    }
  }
  return seconds
}

/** @param wanted parts of the names of those to be measured; all without any */
export async function benchEngine(wanted: readonly string[] = []): Promise<void> {
  const folder = mkdtempSync(join(process.env['GANTRY_BENCH_DIR'] ?? tmpdir(), 'gantry-bench-'))
  const peers = await peersHere()
  await using mover = new Mover({ log: { error: (_, message) => process.stderr.write(`${message}\n`) } })
  const engine = byEngine(mover)
  const isWanted = ({ name }: Job) => wanted.length === 0 || wanted.some((part) => name.includes(part))
  for (const { name, aims, make } of jobs.filter(isWanted)) {
    const figures: Figure[] = []
    const source = join(folder, name.replaceAll(/\W+/g, '-'))
    make(source)
    const seconds = await measure([engine, ...peers], source)
    const details = [...seconds].map(([peer, list]) => `${peer.name} ${median(list).toFixed(2)} s`).join(', ')
    const engineSeconds = seconds.get(engine) ?? []
    for (const peer of peers) {
      const ratios = (seconds.get(peer) ?? []).map(
        (time, round) => time / (engineSeconds[round] ?? Number.NaN),
      )
      const aim = aims[peer.name] ?? '–'
      figures.push({
        name: `${name}: times as fast as ${peer.name}`,
        value: median(ratios).toFixed(2),
        aim,
        details,
      })
    }
    const peakMB = Math.round(process.resourceUsage().maxRSS / 1_000)
    figures.push({
      name: `${name}: memory`,
      value: `${peakMB} MB`,
      aim: '–',
      details: 'peak of this process so far, with all threads',
    })
    print(`The engine without the broker, local to local: ${name}`, figures)
  }
  rmSync(folder, { recursive: true, force: true })
}

if (import.meta.main) await benchEngine(process.argv.slice(2))
