/**
 * Partitions of one table from a metastore to another one, through the whole platform, against the barest client of the same
 * protocol: `node bench/metadata.ts [number of partitions]`. Needs a JDK with Maven. A metastore takes most of it: it
 * writes some hundred partitions a second, and each is written three times.
 */
import { call } from '../broker/rpc/client.ts'
import { connectWithToken } from '../broker/rpc/connection.ts'
import { HiveCatalog } from '../services/metadata/catalogs/hive/hive.ts'
import { methods } from '../services/metadata/catalogs/hive/idl.ts'
import { partitionsAtOnce } from '../services/metadata/catalogs/contract/catalog.ts'
import { ThriftConnection } from '../services/metadata/thrift/connection.ts'
import { settings } from '../subjects/access/settings.ts'
import { loopback } from '../subjects/kit/names.ts'
import { metadataCatalogs } from '../subjects/metadata/catalogs.ts'
import { metadataMigrations } from '../subjects/metadata/migrations.ts'
import { metadataRules } from '../subjects/metadata/rules.ts'
import type { Table } from '../subjects/metadata/objects.ts'
import { plainStorage } from '../test/support/catalog-conformance.ts'
import { metastoreVariable, startMetastore } from '../test/support/hive-metastore.ts'
import { metastoreFolder } from '../test/support/hive-metastore.setup.ts'
import { until } from '../test/support/until.ts'
import { startChild } from './child.ts'
import { type Figure, median, print } from './figures.ts'
import { residentMb } from './process.ts'

const rounds = 3
const connectionCounts = [1, 2, 4]
/** Rounds of reading are short; that of all partitions is part of the migration. */
const maxReadPartitions = 20_000
const [from, to] = ['3.1.3', '4.0.1'] as const
const never = new AbortController().signal
/** A metastore takes its time for many partitions. */
const limits = { connectTimeoutMs: 5_000, callTimeoutMs: 600_000, maxReplyBytes: 2 ** 30 }
/** A migration of so many takes hours where the machine is shared. */
const patienceMs = 6 * 60 * 60_000
const database = 'bench'
const [migrated, copied] = ['migrated', 'copied'] as const

const tableOf = (root: string, name: string): Table => ({
  database,
  name,
  type: 'EXTERNAL_TABLE',
  columns: Array.from({ length: 10 }, (_, index) => ({ name: `column${index}`, type: 'string' })),
  partitionKeys: [{ name: 'day', type: 'string' }],
  storage: plainStorage(`${root}/${name}`),
  parameters: {},
})

function open(address: string): Promise<ThriftConnection> {
  const [host = '', port] = address.split(':')
  const endpoint = { host, port: Number(port), secure: false, framed: false }
  return ThriftConnection.open(endpoint, limits, { signal: never })
}

async function secondsOf(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now()
  await work()
  return (performance.now() - started) / 1_000
}

function batchesOf(names: readonly string[], length = partitionsAtOnce): string[][] {
  const batches: string[][] = []
  for (let at = 0; at < names.length; at += length) batches.push(names.slice(at, at + length))
  return batches
}

/** All batches, by so many workers. */
async function byWorkers(
  count: number,
  batches: readonly string[][],
  work: (batch: string[], worker: number) => Promise<unknown>,
): Promise<void> {
  const left = batches.values()
  const worker = async (index: number) => {
    for (const batch of left) await work(batch, index)
  }
  await Promise.all(Array.from({ length: count }, (_, index) => worker(index)))
}

export async function benchMetadata(count: number): Promise<void> {
  for (const release of [from, to]) process.env[metastoreVariable(release)] = await metastoreFolder(release)
  await using source = await startMetastore(from)
  await using target = await startMetastore(to)
  await using platform = await startChild('platform.mjs')
  const { home, tcpUrl, operatorToken } = JSON.parse(platform.line) as Record<
    'home' | 'tcpUrl' | 'operatorToken',
    string
  >
  const [sourceRoot, targetRoot] = [`file:${home}/source`, `file:${home}/target`]
  const here = new HiveCatalog(source.options)
  const there = new HiveCatalog(target.options)
  await here.writer.createDatabase({ name: database, location: sourceRoot, parameters: {} }, never)
  const table = tableOf(sourceRoot, migrated)
  await here.writer.createTable(table, never)
  const name = { database, name: migrated }
  const days = Array.from({ length: count }, (_, index) => `d${String(index).padStart(7, '0')}`)
  const filling = batchesOf(days)
  await byWorkers(1, filling, (batch) =>
    here.writer.addPartitions(
      name,
      batch.map((day) => ({
        values: [day],
        columns: table.columns,
        storage: plainStorage(`${sourceRoot}/${migrated}/day=${day}`),
        parameters: {},
      })),
      never,
    ),
  )

  // The barest client: names, and then batch by batch what it reads is what it writes, with another table and location.
  const [reading, writing] = [await open(source.address), await open(target.address)]
  await there.writer.createDatabase({ name: database, location: targetRoot, parameters: {} }, never)
  await there.writer.createTable(tableOf(targetRoot, copied), never)
  const bareSeconds = await secondsOf(async () => {
    const asked = { database, table: migrated, limit: -1 }
    const names = (await reading.call(methods.partitionNames, asked, never)) as string[]
    for (const batch of batchesOf(names)) {
      const parts = (await reading.call(
        methods.partitionsByNames,
        { database, table: migrated, names: batch },
        never,
      )) as Record<string, unknown>[]
      const copies = parts.map((one) => ({
        ...one,
        tableName: copied,
        sd: { ...(one['sd'] as object), location: `${targetRoot}/${copied}/${String(one['values'])}` },
      }))
      const request = {
        dbName: database,
        tblName: copied,
        parts: copies,
        ifNotExists: true,
        needResult: false,
      }
      await writing.call(methods.addPartitions, { request }, never)
    }
  })

  const connection = await connectWithToken(tcpUrl, operatorToken)
  await call(connection, settings.put, { storeHosts: [loopback] })
  await call(connection, metadataCatalogs['create-hive'], { catalogId: 'here', ...source.options })
  await call(connection, metadataCatalogs['create-hive'], {
    catalogId: 'there',
    ...target.options,
    defaultFsOverride: `file://${home}/target`,
  })
  await call(connection, metadataRules.create, {
    ruleName: 'bench',
    databasePattern: database,
    tablePattern: migrated,
  })
  const migrationName = 'bench'
  const idleMb = residentMb(platform.pid).now
  const seconds = await secondsOf(async () => {
    await call(connection, metadataMigrations.create, {
      migrationName,
      source: 'here',
      target: 'there',
      ruleNames: ['bench'],
      autoStart: true,
      once: true,
      onConflict: 'overwrite',
    })
    await ended(() => call(connection, metadataMigrations.get, { migrationName }), count)
  })
  const highestMb = residentMb(platform.pid).highest
  await connection.close()

  // Each connection has several to read.
  const readCount = Math.min(count, maxReadPartitions)
  const length = Math.min(partitionsAtOnce, Math.ceil(readCount / (2 * Math.max(...connectionCounts))))
  const names = batchesOf((await here.partitionNames(name, never)).slice(0, readCount), length)
  const figures: Figure[] = [
    {
      name: `${count.toLocaleString('en')} partitions of a table, metastore to metastore, times as fast as the barest client with one connection to each`,
      value: (bareSeconds / seconds).toFixed(2),
      aim: '≥ 0.8',
      details: `${seconds.toFixed(1)} and ${bareSeconds.toFixed(1)} s`,
    },
    {
      name: 'highest resident memory of the platform then (before it)',
      value: `${highestMb.toFixed(0)} MB (${idleMb.toFixed(0)} MB)`,
      aim: 'bounded',
      details: `${partitionsAtOnce} at once`,
    },
  ]
  const bare = await Promise.all(
    Array.from({ length: Math.max(...connectionCounts) }, () => open(source.address)),
  )
  for (const workers of connectionCounts) {
    const [ours, theirs]: [number[], number[]] = [[], []]
    // The first round warms both up and does not count.
    for (let round = 0; round <= rounds; round++) {
      const its = await secondsOf(() =>
        byWorkers(workers, names, (batch, worker) =>
          bare[worker]!.call(methods.partitionsByNames, { database, table: migrated, names: batch }, never),
        ),
      )
      const own = await secondsOf(() =>
        byWorkers(workers, names, (batch) => here.partitions(name, batch, never)),
      )
      if (round === 0) continue
      theirs.push(its)
      ours.push(own)
    }
    figures.push({
      name: `reading ${readCount.toLocaleString('en')} of them by the catalog ÷ by calls of Thrift alone, ${workers} connection${workers > 1 ? 's' : ''}`,
      value: median(theirs.map((one, round) => one / ours[round]!)).toFixed(2),
      aim: '≥ 0.8',
      details: `${Math.round(readCount / median(ours))} and ${Math.round(readCount / median(theirs))}/s`,
    })
  }
  print('Metadata', figures)
  for (const one of [reading, writing, ...bare]) one.close()
  here.close()
  there.close()
}

/** Waits for the end of the migration, and that all partitions are there. */
async function ended(
  get: () => Promise<{ readonly state: string; readonly partitions: number; readonly reason?: string }>,
  count: number,
): Promise<void> {
  const isOver = async () => {
    const { state, partitions, reason } = await get()
    if (state === 'FAILED') throw new Error(reason)
    if (state !== 'COMPLETED') return false
    if (partitions !== count) throw new Error(`${partitions} of ${count} partitions arrived`)
    return true
  }
  const deadline = performance.now() + patienceMs
  while (performance.now() < deadline)
    if (await until('the migration ends', isOver).catch((error: Error) => isInVain(error))) return
  throw new Error('the migration does not end')
}

function isInVain(error: Error): false {
  if (error.message.startsWith('in vain')) return false
  throw error
}

if (import.meta.main) {
  await benchMetadata(Number(process.argv[2] ?? 200_000))
  process.exit(0)
}
