/**
 * Files to and from stores behind HTTP, through the whole platform, against the tools that people use: `node bench/stores.ts`.
 * Needs rclone, and Go for the S3 server.
 */
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { call } from '../broker/rpc/client.ts'
import { connectWithToken, type NatsConnection } from '../broker/rpc/connection.ts'
import { settings } from '../subjects/access/settings.ts'
import { filesystems } from '../subjects/filesystems/filesystems.ts'
import { loopback } from '../subjects/kit/names.ts'
import { type S3Server, startS3Server, versitygwProgram } from '../test/support/s3-server.ts'
import { versitygw } from '../test/support/go-programs.setup.ts'
import { startChild } from './child.ts'
import { sameStart } from './copies.ts'
import { type Figure, median, print } from './figures.ts'
import { moved } from './migrate.ts'
import { sources } from './sources.ts'

const run = promisify(execFile)
const rounds = 3

const jobs = [
  { source: sources.objects, aim: '≥ 1.3' },
  { source: sources.large, aim: '≥ 1.0' },
]

/** As fast as it gets: many transfers, and no request beyond that which moves a file. */
const tuned = [
  '--config',
  '/dev/null',
  '--transfers=32',
  '--checkers=32',
  '--s3-no-check-bucket',
  '--s3-no-head',
  '--s3-no-head-object',
  '--s3-chunk-size=16M',
  '--s3-upload-concurrency=8',
  '--no-check-dest',
  '--no-traverse',
]

const remote = ({ endpoint, accessKey, secretKey }: S3Server, bucket: string) =>
  `:s3,provider=Other,access_key_id='${accessKey}',secret_access_key='${secretKey}',endpoint='${endpoint}',force_path_style=true:${bucket}`

/** Certificates of the host are nothing to a server without TLS, and rclone cannot load them so. */
const env = { ...process.env, AWS_CA_BUNDLE: '' }

async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now()
  await work()
  return (performance.now() - started) / 1_000
}

interface Round {
  readonly server: S3Server
  readonly connection: NatsConnection
  readonly folder: string
  /** Different in each round: of buckets, folders and filesystems. */
  readonly id: string
}

/** Seconds that somebody takes to a bucket, and from it to another folder. */
type Mover = (round: Round) => Promise<{ readonly there: number; readonly back: number }>

const byRclone: Mover = async ({ server, folder, id }) => {
  const bucket = remote(server, id)
  const from = join(folder, 'from')
  const to = join(folder, id)
  return {
    there: await timed(() => run('rclone', ['copy', ...tuned, from, bucket], { env })),
    back: await timed(async () => {
      await run('rclone', ['copy', ...tuned, bucket, to], { env })
      await run('sync', ['-f', to])
    }),
  }
}

const byGantry: Mover = async ({ server, connection, folder, id }) => {
  mkdirSync(join(folder, id))
  for (const role of ['source', 'target'] as const)
    await call(connection, filesystems['create-s3a'], {
      fileSystemId: `${id}-${role}`,
      role,
      ...server.options(id),
    })
  await call(connection, filesystems['create-local'], {
    fileSystemId: `${id}-back`,
    role: 'target',
    fsRoot: join(folder, id),
  })
  return {
    there: await timed(() => moved(connection, `${id}-1`, 'from', `${id}-target`)),
    back: await timed(() => moved(connection, `${id}-2`, `${id}-source`, `${id}-back`)),
  }
}

export async function benchStores(): Promise<void> {
  const program = await versitygw()
  const figures: Figure[] = []
  for (const { source, aim } of jobs) {
    const folder = mkdtempSync(join(process.env['GANTRY_BENCH_DIR'] ?? tmpdir(), 'gantry-bench-'))
    source.make(join(folder, 'from'))
    await using server = await startS3Server(program, versitygwProgram)
    await using platform = await startChild('platform.mjs')
    const { tcpUrl, operatorToken } = JSON.parse(platform.line) as { tcpUrl: string; operatorToken: string }
    const connection = await connectWithToken(tcpUrl, operatorToken)
    await call(connection, settings.put, { storeHosts: [loopback] })
    const fsRoot = join(folder, 'from')
    await call(connection, filesystems['create-local'], { fileSystemId: 'from', role: 'source', fsRoot })
    const ratios: { readonly there: number; readonly back: number }[] = []
    const seconds: Record<'rclone' | 'gantry', { there: number; back: number }[]> = { rclone: [], gantry: [] }
    // The first round warms all up and does not count.
    for (let round = 0; round <= rounds; round++) {
      const took: Partial<Record<'rclone' | 'gantry', { there: number; back: number }>> = {}
      for (const [name, mover] of [
        ['rclone', byRclone],
        ['gantry', byGantry],
      ] as const) {
        const id = `${name}-${round}`
        server.createBucket(id)
        await sameStart(fsRoot)
        took[name] = await mover({ server, connection, folder, id })
        rmSync(join(folder, id), { recursive: true })
        server.removeBucket(id)
      }
      if (round === 0) continue
      const { rclone, gantry } = took as Required<typeof took>
      seconds.rclone.push(rclone)
      seconds.gantry.push(gantry)
      ratios.push({ there: rclone.there / gantry.there, back: rclone.back / gantry.back })
    }
    await connection.close()
    rmSync(folder, { recursive: true, force: true })
    for (const [way, words] of [
      ['there', 'to S3'],
      ['back', 'from S3'],
    ] as const) {
      const took = (name: 'rclone' | 'gantry') => median(seconds[name].map((one) => one[way])).toFixed(2)
      figures.push({
        name: `${source.name} ${words}, times as fast as rclone tuned`,
        value: median(ratios.map((one) => one[way])).toFixed(2),
        aim,
        details: `${took('gantry')} s and ${took('rclone')} s`,
      })
    }
  }
  print('Stores behind HTTP', figures)
}

if (import.meta.main) await benchStores()
