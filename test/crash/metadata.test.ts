import { rmSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Catalog } from '../../services/metadata/catalogs/contract/catalog.ts'
import { partitionName } from '../../services/metadata/catalogs/partition-names.ts'
import { metadataComparisons } from '../../subjects/metadata/comparisons.ts'
import { metadataMigrations } from '../../subjects/metadata/migrations.ts'
import type { Partition, Table } from '../../subjects/metadata/objects.ts'
import { metadataRules } from '../../subjects/metadata/rules.ts'
import { plainStorage } from '../support/catalog-conformance.ts'
import { DocumentLake } from '../support/document-lake.ts'
import { createHome } from '../support/platform.ts'
import { oneOf, randomBelow, seededRandom } from '../support/random.ts'
import { until } from '../support/until.ts'
import { Killer } from './killer.ts'
import { killsOf, seed } from './settings.ts'
import { Victim } from './victim.ts'

// A metadata migration brings both catalogs to the same, whoever is killed while somebody changes the source; nothing of its
// own work is taken for that of others.

const never = new AbortController().signal
const migrationName = 'lake'
const rootFolder = '/metadata'
const tablesInSource = 60
const partitionsOfTable = 40
const lake = new DocumentLake()
let home: string
let victim: Victim
let source: Catalog
beforeAll(async () => {
  home = await createHome()
  victim = new Victim(home)
  await victim.start()
  await lake.addFilesystems(victim)
  await lake.addCatalogs(victim, rootFolder)
  source = await lake.open('source', rootFolder)
})
afterAll(async () => {
  await victim?.[Symbol.asyncDispose]()
  source?.close()
  lake[Symbol.dispose]()
  rmSync(home, { recursive: true, force: true })
})

const at = (path: string) => lake.at(path)
const table = (name: string, version: number): Table => ({
  database: 'sales',
  name,
  type: 'EXTERNAL_TABLE',
  columns: [{ name: 'id', type: 'bigint' }],
  partitionKeys: [{ name: 'day', type: 'string' }],
  storage: plainStorage(at(`sales/${name}`)),
  parameters: { version: String(version) },
})
const partition = (name: string, value: string, version: number): Partition => ({
  values: [value],
  columns: [],
  storage: plainStorage(at(`sales/${name}/day=${value}`)),
  parameters: { version: String(version) },
})

/** Changes the source at random, by one object each time. */
class RandomWriter {
  readonly #random = seededRandom(seed)
  readonly #tables = new Map<string, Set<string>>()
  #version = 0

  async begin(): Promise<void> {
    await source.writer!.createDatabase({ name: 'sales', location: at('sales'), parameters: {} }, never)
    for (let index = 0; index < tablesInSource; index++) await this.#create(`table${index}`)
  }

  async next(): Promise<void> {
    const name = oneOf(this.#random, [...this.#tables.keys()])
    const days = this.#tables.get(name)!
    const of = { database: 'sales', name }
    const { writer } = source
    const version = ++this.#version
    switch (randomBelow(this.#random, 5)) {
      case 0:
        return writer!.alterTable(table(name, version), never)
      case 1:
        await writer!.addPartitions(of, [partition(name, `more${version}`, version)], never)
        return void days.add(`more${version}`)
      case 2:
        return writer!.alterPartitions(of, [partition(name, [...days][0]!, version)], never)
      case 3: {
        const day = [...days].at(-1)!
        if (days.size < 2) return undefined
        await writer!.dropPartitions(of, [partitionName(['day'], [day])], never)
        return void days.delete(day)
      }
      default:
        await writer!.dropTable(of, never)
        this.#tables.delete(name)
        return this.#create(`table${tablesInSource + version}`)
    }
  }

  async #create(name: string): Promise<void> {
    const days = Array.from({ length: partitionsOfTable }, (_, index) => `d${index}`)
    await source.writer!.createTable(table(name, 0), never)
    const partitions = days.map((day) => partition(name, day, 0))
    await source.writer!.addPartitions({ database: 'sales', name }, partitions, never)
    this.#tables.set(name, new Set(days))
  }
}

test('a live migration of metadata ends equal, whoever is killed', async () => {
  const writer = new RandomWriter()
  await writer.begin()
  await victim.call(metadataRules.create, { ruleName: 'all', databasePattern: 'sales', tablePattern: '*' })
  await victim.call(metadataMigrations.create, {
    migrationName,
    source: 'source',
    target: 'target',
    ruleNames: ['all'],
    autoStart: true,
    comparisonPeriodSeconds: 1,
    maxDrops: 1_000_000,
    maxDropPercent: 100,
  })
  const get = () => victim.call(metadataMigrations.get, { migrationName })
  const killer = new Killer({
    victim,
    seed,
    longestWaitMs: 1_500,
    phase: async () => (await get()).phase ?? 'starting',
    check: () => undefined,
  })
  const ending = new AbortController()
  const writing = (async () => {
    while (!ending.signal.aborted) {
      await writer.next()
      // A driver of folders of this host waits for the disk where it is, so that nobody else would have a turn.
      await setImmediate()
    }
  })()
  let kills = 0
  try {
    while (kills < killsOf('metadata')) kills += (await killer.next()).length
  } finally {
    ending.abort()
    await writing
  }
  // What it says of itself is of before; the comparison after the last change is the one that counts.
  const last = new Date().toISOString()
  await until('a comparison of all', async () => ((await get()).compared ?? '') > last)
  await until('another one', async () => (await get()).failed === 0)
  const { compared = '' } = await get()
  await until('one that began after it', async () => ((await get()).compared ?? '') > compared)
  expect(await get()).toMatchObject({ state: 'RUNNING', failed: 0, conflicts: 0, held: 0 })
  const { id: comparisonId } = await victim.call(metadataComparisons.create, { migrationName })
  const verified = await until('the verification', async () => {
    const job = await victim.call(metadataComparisons.get, { comparisonId })
    return job.status === 'COMPLETE' || job.status === 'CANCELLED' ? job : undefined
  })
  const { content } = await victim.call(metadataComparisons.report, { comparisonId })
  expect(content.split('\r\n').slice(1, 6), `seed ${seed}`).toEqual([''])
  expect(verified).toMatchObject({ status: 'COMPLETE', totalDifferences: 0 })
  expect(verified.same).toBe(tablesInSource + 1)
})
