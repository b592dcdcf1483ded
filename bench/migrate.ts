/**
 * Local to local through the whole platform (REST or NATS call to completion, digests on both sides) against `cp -r` and
 * `rclone copy` in the same run, in turns. Targets are always fresh folders: ext4 is slow for minutes where much was
 * deleted, so nothing is deleted until the end.
 */
import { execFile } from 'node:child_process'
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { call } from '../broker/client.ts'
import { connectWithToken, type NatsConnection } from '../broker/connection.ts'
import { filesystems } from '../subjects/filesystems.ts'
import { migrations } from '../subjects/migrations.ts'
import { subjectToken } from '../subjects/names.ts'
import { startChild } from './child.ts'
import { type Figure, median, print } from './figures.ts'
import { sameStart } from './same-start.ts'

const run = promisify(execFile)
const rounds = 3
const smallFiles = 10_000
const smallBytes = 4_096
const smallFolders = 100
const largeBytes = 2 ** 30

type Copier = (source: string, target: string) => Promise<void>

async function timed(copy: Copier, source: string, target: string): Promise<number> {
  await sameStart(source)
  const started = performance.now()
  await copy(source, target)
  return (performance.now() - started) / 1_000
}

function makeSmall(folder: string): void {
  for (let index = 0; index < smallFolders; index++) mkdirSync(join(folder, `${index}`), { recursive: true })
  for (let index = 0; index < smallFiles; index++) {
    writeFileSync(
      join(folder, `${index % smallFolders}`, `file-${index}`),
      Buffer.alloc(smallBytes, `${index} `),
    )
  }
}

function makeLarge(folder: string): void {
  mkdirSync(folder, { recursive: true })
  const block = Buffer.alloc(2 ** 20)
  const file = openSync(join(folder, 'large'), 'w')
  for (let at = 0; at < largeBytes; at += block.length) {
    block.fill(`${at} `)
    writeSync(file, block)
  }
  closeSync(file)
}

/** A migration from its definition to the event that it is completed. */
export function byGantry(connection: NatsConnection): Copier {
  let count = 0
  return async (source, target) => {
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
    const completed = Promise.withResolvers<void>()
    const subject = `gantry.events.v1.migrations.completed.${subjectToken(id)}`
    const subscription = connection.subscribe(subject, { callback: () => completed.resolve() })
    await call(connection, migrations.create, {
      migrationId: id,
      path: '/',
      source: `${id}-from`,
      target: `${id}-to`,
      autoStart: true,
    })
    await completed.promise
    subscription.unsubscribe()
    const { failedPathCount } = await call(connection, migrations.get, { migrationId: id })
    if (failedPathCount > 0) throw new Error(`${failedPathCount} paths failed`)
  }
}

const byCp: Copier = async (source, target) => {
  await run('cp', ['-r', '--reflink=never', source, target])
}
const byRclone: Copier = async (source, target) => {
  await run('rclone', ['copy', '--config', '/dev/null', source, target])
}

async function hasRclone(): Promise<boolean> {
  try {
    await run('rclone', ['version'])
    return true
  } catch {
    process.stdout.write('rclone is not on PATH: its ratios are left out (Debian: apt-get install rclone).\n')
    return false
  }
}

export async function benchMigrate(): Promise<void> {
  const folder = mkdtempSync(join(process.env['GANTRY_BENCH_DIR'] ?? tmpdir(), 'gantry-bench-'))
  const rclone = await hasRclone()
  await using platform = await startChild('platform.ts')
  const { tcpUrl, operatorToken } = JSON.parse(platform.line) as { tcpUrl: string; operatorToken: string }
  const connection = await connectWithToken(tcpUrl, operatorToken)
  const gantry = byGantry(connection)
  const jobs = [
    {
      name: `${smallFiles.toLocaleString('en')} × 4 KiB`,
      source: join(folder, 'small'),
      aim: '≥ 1.75',
      make: makeSmall,
    },
    { name: '1 GiB', source: join(folder, 'large'), aim: '≥ 1.5', make: makeLarge },
  ]
  const figures: Figure[] = []
  for (const { name, source, aim, make } of jobs) {
    make(source)
    const seconds: { gantry: number; cp: number; rclone: number }[] = []
    // The first round warms the page cache and the threads, and is not counted.
    for (let round = 0; round <= rounds; round++) {
      const target = (peer: string) => `${source}-${peer}-${round}`
      const times = {
        gantry: await timed(gantry, source, target('gantry')),
        cp: await timed(byCp, source, target('cp')),
        rclone: rclone ? await timed(byRclone, source, target('rclone')) : Number.NaN,
      }
      if (round > 0) seconds.push(times)
    }
    const middle = (pick: (one: (typeof seconds)[number]) => number) => median(seconds.map(pick)).toFixed(2)
    const details = `gantry ${middle((one) => one.gantry)} s, cp ${middle((one) => one.cp)} s, rclone ${middle((one) => one.rclone)} s`
    if (rclone) {
      figures.push({
        name: `${name}: times as fast as rclone`,
        value: middle((one) => one.rclone / one.gantry),
        aim,
        details,
      })
    }
    figures.push({
      name: `${name}: times as fast as cp -r`,
      value: middle((one) => one.cp / one.gantry),
      aim: '–',
      details,
    })
  }
  await connection.close()
  print('Local to local, through the whole platform', figures)
  rmSync(folder, { recursive: true, force: true })
}

if (import.meta.main) await benchMigrate()
