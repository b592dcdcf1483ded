import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Figure, median, print } from './figures.ts'
import type { Source } from './sources.ts'

const run = promisify(execFile)
const rounds = 3

/** Something that copies a folder to one that is not there yet. */
export interface Copier {
  readonly name: string
  readonly copy: (source: string, target: string) => Promise<void>
  /** Seconds of processor that it has used so far; other work on the machine changes them less than the time of a copy. */
  readonly processorSeconds?: () => number
}

export interface CopyJob {
  readonly source: Source
  /** Times as fast as the peer of this name that we want to be. */
  readonly aims: Readonly<Record<string, string>>
}

/**
 * A migration is COMPLETED when the file system of its target is flushed to disk (`sync -f`). Whoever is compared with it
 * flushes too.
 */
const flushed =
  (command: string, ...args: readonly string[]): Copier['copy'] =>
  async (source, target) => {
    await run(command, [...args, source, target])
    await run('sync', ['-f', target])
  }

const cp: Copier = { name: 'cp -a', copy: flushed('cp', '-a', '--reflink=never') }
export const rclone: Copier = { name: 'rclone', copy: flushed('rclone', 'copy', '--config', '/dev/null') }

async function peersHere(): Promise<Copier[]> {
  try {
    await run('rclone', ['version'])
    return [cp, rclone]
  } catch {
    process.stdout.write('rclone is not on PATH: its ratios are left out (Debian: apt-get install rclone).\n')
    return [cp]
  }
}

/**
 * Puts every peer at the same start: what the one before left to be written is on the disk, and the source is in the page
 * cache. rclone tells the system to forget what it has read, so that whoever comes after it would read from the disk.
 */
export async function sameStart(source: string): Promise<void> {
  await run('sync')
  await run('sh', ['-c', 'find "$1" -type f -exec cat {} + > /dev/null', 'sh', source])
}

/**
 * Leaves as much memory free as a copy of the source takes. A virtual machine gives free memory back to its host within
 * seconds, and gets it again at a quarter of the speed of a copy: whoever comes after one whose copy was removed would be the
 * quickest, whatever he does.
 */
async function freeMemory(source: string): Promise<void> {
  await run('cp', ['-r', '--reflink=never', source, `${source}-memory`])
  rmSync(`${source}-memory`, { recursive: true })
}

/** What the copies of a copier took, round by round. */
interface Taken {
  readonly seconds: number[]
  readonly processorSeconds: number[]
}

async function measure(
  copiers: readonly Copier[],
  source: string,
  isLarge: boolean,
): Promise<Map<Copier, Taken>> {
  const all = new Map(
    copiers.map((copier): [Copier, Taken] => [copier, { seconds: [], processorSeconds: [] }]),
  )
  // The first round brings the source into the page cache and starts the threads; it does not count.
  for (let round = 0; round <= rounds; round++) {
    for (const copier of copiers) {
      await sameStart(source)
      if (isLarge) await freeMemory(source)
      const processorBefore = copier.processorSeconds?.()
      const started = performance.now()
      const target = `${source}-${copier.name.replaceAll(/\W/g, '')}-${round}`
      await copier.copy(source, target)
      const taken = all.get(copier)
      if (round > 0) taken?.seconds.push((performance.now() - started) / 1_000)
      if (round > 0 && processorBefore !== undefined)
        taken?.processorSeconds.push(copier.processorSeconds!() - processorBefore)
      if (isLarge) rmSync(target, { recursive: true })
    }
  }
  return all
}

/**
 * Measures a copier of ours against `cp -a` and `rclone copy` in the same run, in turns, and prints the ratios. Targets are
 * always fresh folders, and of many files nothing is deleted before the job's end: ext4 is slow for minutes where much was
 * deleted. GANTRY_BENCH_DIR is where.
 * @param wanted parts of the names of the sources to be measured; all without any
 */
export async function compareCopies(
  title: string,
  ours: Copier,
  jobs: readonly CopyJob[],
  wanted: readonly string[],
): Promise<void> {
  const peers = await peersHere()
  const isWanted = ({ source }: CopyJob) =>
    wanted.length === 0 || wanted.some((part) => source.name.includes(part))
  for (const { source, aims } of jobs.filter(isWanted)) {
    const folder = mkdtempSync(join(process.env['GANTRY_BENCH_DIR'] ?? tmpdir(), 'gantry-bench-'))
    source.make(join(folder, 'source'))
    const taken = await measure([ours, ...peers], join(folder, 'source'), source.isLarge ?? false)
    rmSync(folder, { recursive: true, force: true })
    print(`${title}: ${source.name}`, [...ratios(ours, taken, aims), ...processorTime(ours, taken)])
  }
}

function ratios(ours: Copier, taken: Map<Copier, Taken>, aims: CopyJob['aims']): Figure[] {
  const details = [...taken]
    .map(([{ name }, { seconds }]) => `${name} ${median(seconds).toFixed(2)} s`)
    .join(', ')
  const own = taken.get(ours)?.seconds ?? []
  return [...taken].flatMap(([peer, { seconds: list }]) => {
    if (peer === ours) return []
    const value = median(list.map((time, round) => time / (own[round] ?? Number.NaN))).toFixed(2)
    return [{ name: `times as fast as ${peer.name}`, value, aim: aims[peer.name] ?? '–', details }]
  })
}

function processorTime(ours: Copier, taken: Map<Copier, Taken>): Figure[] {
  const { processorSeconds = [] } = taken.get(ours) ?? {}
  if (processorSeconds.length === 0) return []
  const details = `${processorSeconds.map((one) => one.toFixed(2)).join(', ')} s`
  return [{ name: 'processor seconds a copy', value: median(processorSeconds).toFixed(2), aim: '–', details }]
}
