/**
 * Files to and from a cluster of HDFS (one process, one data node), through the whole platform, against a bare client of WebHDFS
 * that verifies nothing: `node bench/hdfs.ts`. Needs a JDK and Maven for the cluster.
 */
import { createReadStream, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { execFile } from 'node:child_process'
import { open } from 'node:fs/promises'
import { Agent, type IncomingMessage, request } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { call } from '../broker/rpc/client.ts'
import { connectWithToken, type NatsConnection } from '../broker/rpc/connection.ts'
import { settings } from '../subjects/access/settings.ts'
import { filesystems } from '../subjects/filesystems/filesystems.ts'
import { loopback } from '../subjects/kit/names.ts'
import { type HdfsCluster, startHdfs } from '../test/support/hdfs.ts'
import { hdfsClasses } from '../test/support/hdfs.setup.ts'
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

/** Requests of the bare client at once: as many as the platform has in a thread. */
const lanes = 16
const agent = new Agent({ keepAlive: true, maxSockets: lanes })

/** The answer to a request, redirections followed by hand: a body goes to the data node alone. */
async function ask(
  method: string,
  url: string,
  file?: { readonly path: string; readonly sizeBytes: number },
): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const headers = file && {
    'content-type': 'application/octet-stream',
    'content-length': file.sizeBytes,
  }
  const sent = request(url, { method, agent, ...(headers && { headers }) }, resolve).on('error', reject)
  if (file === undefined) sent.end()
  else await pipeline(createReadStream(file.path), sent)
  const answer = await promise
  if ((answer.statusCode ?? 0) >= 400) throw new Error(`${method} ${url}: ${answer.statusCode}`)
  return answer
}

const ended = async (answer: IncomingMessage): Promise<void> => {
  answer.resume()
  if (!answer.readableEnded) await new Promise((resolve) => answer.once('end', resolve))
}

async function inLanes<T>(items: Iterable<T>, work: (item: T) => Promise<void>): Promise<void> {
  const queue = items[Symbol.iterator]()
  const rest: Iterable<T> = { [Symbol.iterator]: () => queue }
  await Promise.all(
    Array.from({ length: lanes }, async () => {
      for (const item of rest) await work(item)
    }),
  )
}

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))

async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now()
  await work()
  return (performance.now() - started) / 1_000
}

interface Round {
  readonly cluster: HdfsCluster
  readonly connection: NatsConnection
  readonly folder: string
  readonly id: string
}

/** Seconds that somebody takes to `/from` of the cluster, and from it to another folder. */
type Mover = (round: Round) => Promise<{ readonly there: number; readonly back: number }>

const urlOf = ({ nameNodes }: HdfsCluster, path: string, query: string): string =>
  `http://${nameNodes[0]}/webhdfs/v1/from/${path}?user.name=root&${query}`

const byBareClient: Mover = async ({ cluster, folder, id }) => {
  const from = join(folder, 'from')
  const to = join(folder, id)
  const names = filesIn(from)
  return {
    there: await timed(() =>
      inLanes(names, async (name) => {
        const path = join(from, name)
        const first = await ask('PUT', urlOf(cluster, name, 'op=CREATE&overwrite=true&createparent=true'))
        await ended(first)
        const file = { path, sizeBytes: statSync(path).size }
        await ended(await ask('PUT', first.headers.location!, file))
      }),
    ),
    back: await timed(async () => {
      await inLanes(names, async (name) => {
        const first = await ask('GET', urlOf(cluster, name, 'op=OPEN'))
        await ended(first)
        mkdirSync(dirname(join(to, name)), { recursive: true })
        await using file = await open(join(to, name), 'w')
        await pipeline(
          await ask('GET', first.headers.location!),
          file.createWriteStream({ autoClose: false }),
        )
      })
      await run('sync', ['-f', to])
    }),
  }
}

const byGantry: Mover = async ({ connection, folder, id }) => {
  const back = join(folder, id)
  mkdirSync(back)
  await call(connection, filesystems['create-local'], {
    fileSystemId: `${id}-back`,
    role: 'target',
    fsRoot: back,
  })
  return {
    there: await timed(() => moved(connection, `${id}-1`, 'from', 'lake-target', '/from')),
    back: await timed(() => moved(connection, `${id}-2`, 'lake-source', `${id}-back`, '/from')),
  }
}

export async function benchHdfs(): Promise<void> {
  const classes = await hdfsClasses()
  const figures: Figure[] = []
  for (const { source, aim } of jobs) {
    const folder = mkdtempSync(join(process.env['GANTRY_BENCH_DIR'] ?? tmpdir(), 'gantry-bench-'))
    source.make(join(folder, 'from'))
    await using cluster = await startHdfs({ folder: join(folder, 'cluster') }, classes)
    await using platform = await startChild('platform.mjs')
    const { tcpUrl, operatorToken } = JSON.parse(platform.line) as { tcpUrl: string; operatorToken: string }
    const connection = await connectWithToken(tcpUrl, operatorToken)
    await call(connection, settings.put, { storeHosts: [loopback] })
    await call(connection, filesystems['create-local'], {
      fileSystemId: 'from',
      role: 'source',
      fsRoot: folder,
    })
    for (const role of ['source', 'target'] as const)
      await call(connection, filesystems['create-hdfs'], {
        fileSystemId: `lake-${role}`,
        role,
        ...cluster.options({ 'dfs.blocksize': String(128 * 2 ** 20) }),
      })
    const ratios: { readonly there: number; readonly back: number }[] = []
    const seconds: Record<'bare' | 'gantry', { there: number; back: number }[]> = { bare: [], gantry: [] }
    // The first round warms all up and does not count.
    for (let round = 0; round <= rounds; round++) {
      const took: Partial<Record<'bare' | 'gantry', { there: number; back: number }>> = {}
      for (const [name, mover] of [
        ['bare', byBareClient],
        ['gantry', byGantry],
      ] as const) {
        const id = `${name}-${round}`
        await sameStart(join(folder, 'from'))
        took[name] = await mover({ cluster, connection, folder, id })
        rmSync(join(folder, id), { recursive: true })
        await ended(await ask('DELETE', urlOf(cluster, '', 'op=DELETE&recursive=true')))
      }
      if (round === 0) continue
      const { bare, gantry } = took as Required<typeof took>
      seconds.bare.push(bare)
      seconds.gantry.push(gantry)
      ratios.push({ there: bare.there / gantry.there, back: bare.back / gantry.back })
    }
    await connection.close()
    rmSync(folder, { recursive: true, force: true })
    for (const [way, words] of [
      ['there', 'to HDFS'],
      ['back', 'from HDFS'],
    ] as const) {
      const took = (name: 'bare' | 'gantry') => median(seconds[name].map((one) => one[way])).toFixed(2)
      figures.push({
        name: `${source.name} ${words}, times as fast as a bare client that verifies nothing`,
        value: median(ratios.map((one) => one[way])).toFixed(2),
        aim,
        details: `${took('gantry')} s and ${took('bare')} s`,
      })
    }
  }
  print('HDFS', figures)
}

if (import.meta.main) await benchHdfs()
