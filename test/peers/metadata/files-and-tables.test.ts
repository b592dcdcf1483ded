import { createHash } from 'node:crypto'
import { afterAll, beforeAll, expect } from 'vitest'
import type { Driver } from '../../../services/drivers/contract/driver.ts'
import { HiveCatalog } from '../../../services/metadata/catalogs/hive/hive.ts'
import { isHiddenName } from '../../../services/metadata/catalogs/hidden-tables.ts'
import { partitionName } from '../../../services/metadata/catalogs/partition-names.ts'
import { settings } from '../../../subjects/access/settings.ts'
import { filesystems } from '../../../subjects/filesystems/filesystems.ts'
import type { FilesystemOptions } from '../../../subjects/filesystems/kinds.ts'
import { loopback } from '../../../subjects/kit/names.ts'
import { metadataCatalogs } from '../../../subjects/metadata/catalogs.ts'
import { metadataMigrations } from '../../../subjects/metadata/migrations.ts'
import { metadataRules } from '../../../subjects/metadata/rules.ts'
import { migrations } from '../../../subjects/migrations/migrations.ts'
import { plainStorage } from '../../support/catalog-conformance.ts'
import { type HdfsCluster, noHdfs, openHdfs, startHdfs } from '../../support/hdfs.ts'
import { type HiveMetastore, noMetastore, startMetastore } from '../../support/hive-metastore.ts'
import { startTestPlatform, type TestPlatform } from '../../support/platform.ts'
import { oneOf, seededRandom } from '../../support/random.ts'
import { liveDifferences, readTree } from '../../support/store-tree.ts'
import { testUnless } from '../../support/unless.ts'
import { until } from '../../support/until.ts'

// Files and tables go from one cluster of HDFS with a metastore to another one, while both change: no table and no partition
// is there before its files.

const [from, to] = ['3.1.3', '4.0.1'] as const
const missing = noHdfs ?? noMetastore(from) ?? noMetastore(to)
/** A step takes half a second where the processors have other work too. */
const steps = 30
const seed = Number(process.env['GANTRY_METADATA_SEED'] ?? Math.floor(Math.random() * 2 ** 31))
const never = new AbortController().signal
const roles = ['source', 'target'] as const
const hosts = { source: '127.0.0.1', target: 'localhost' }
let platform: TestPlatform
let clusters: HdfsCluster[] = []
let metastores: HiveMetastore[] = []
let catalogs: HiveCatalog[] = []
let drivers: (ReturnType<typeof openHdfs> & Driver)[] = []
let uris: string[] = []
if (missing === undefined) {
  beforeAll(async () => {
    clusters = await Promise.all([startHdfs(), startHdfs()])
    ;[platform, ...metastores] = await Promise.all([
      startTestPlatform(),
      startMetastore(from),
      startMetastore(to),
    ])
    catalogs = metastores.map(({ options }) => new HiveCatalog(options))
    await platform.call(settings.put, { storeHosts: [loopback, 'localhost'] })
    for (const [index, role] of roles.entries()) {
      // Clusters are told apart by their hosts.
      const uri = `hdfs://${hosts[role]}:${new URL((await clusters[index]!.ask('address')).trim()).port}`
      const options = optionsOf(clusters[index]!, uri)
      uris.push(uri)
      drivers.push(openHdfs(options))
      await platform.call(filesystems['create-hdfs'], { fileSystemId: role, role, ...options })
      await platform.call(metadataCatalogs['create-hive'], {
        catalogId: role,
        ...metastores[index]!.options,
        // It makes the folders of tables as whoever asks it.
        user: options.user!,
        fileSystemId: role,
      })
    }
  }, 240_000)
  afterAll(async () => {
    for (const catalog of catalogs) catalog.close()
    for (const driver of drivers) await driver.close()
    await platform?.[Symbol.asyncDispose]()
    for (const one of [...metastores, ...clusters]) await one[Symbol.asyncDispose]()
  })
}

/** As a cluster is named in locations of tables; WebHDFS is at another address. */
function optionsOf(cluster: HdfsCluster, uri: string): FilesystemOptions<'hdfs'> {
  const options = cluster.options({
    'dfs.namenode.http-address': cluster.nameNodes[0]!,
    'gantry.hdfs.snapshot.period': '500',
  })
  return { ...options, defaultFS: uri }
}

const pathOf = (uri: string): Buffer => Buffer.from(new URL(uri).pathname.slice(1))
const sha256 = (content: Buffer): string => createHash('sha256').update(content).digest('base64')

testUnless(
  missing,
  'files and tables arrive together while both change, and no table before its files',
  async () => {
    console.log(`seed ${seed}`)
    const random = seededRandom(seed)
    const [source, target] = catalogs as [HiveCatalog, HiveCatalog]
    const [files, arrived] = drivers as unknown as [Driver, Driver]
    /** Contents by their path. */
    const contents = new Map<string, Buffer>()
    const tables = new Map<string, string[]>()
    let count = 0
    const location = (path: string) => `${uris[0]!}/lake/sales/${path}`
    const write = async (path: string) => {
      const content = Buffer.from(`rows ${++count} of ${path}`)
      await files.put(Buffer.from(`lake/sales/${path}/data`), content, {})
      contents.set(path, content)
    }
    const makeFolder = (path: string) => files.makeFolder(Buffer.from(path), {})
    const tableOf = (name: string, version: string) => ({
      database: 'sales',
      name,
      type: 'EXTERNAL_TABLE',
      columns: [{ name: 'id', type: 'bigint' }],
      partitionKeys: [{ name: 'day', type: 'string' }],
      storage: plainStorage(location(name)),
      parameters: { version },
    })
    const create = async () => {
      const name = `t${++count}`
      await makeFolder(`lake/sales/${name}`)
      await write(name)
      await source.writer.createTable(tableOf(name, '1'), never)
      tables.set(name, [])
    }
    const addPartition = async () => {
      const name = oneOf(random, [...tables.keys()])
      const day = `d${++count}`
      const path = `${name}/${partitionName(['day'], [day])}`
      await makeFolder(`lake/sales/${path}`)
      await write(path)
      const partition = {
        values: [day],
        columns: [],
        storage: plainStorage(location(path)),
        parameters: {},
      }
      await source.writer.addPartitions({ database: 'sales', name }, [partition], never)
      tables.get(name)!.push(path)
    }
    const changes = [
      create,
      addPartition,
      addPartition,
      () => write(oneOf(random, [...contents.keys()])),
      () => source.writer.alterTable(tableOf(oneOf(random, [...tables.keys()]), String(++count)), never),
    ]

    for (const folder of ['lake', 'lake/sales']) await makeFolder(folder)
    await clusters[0]!.ask('allow-snapshots', '/lake')
    const database = { name: 'sales', location: `${uris[0]!}/lake/sales`, parameters: {} }
    await source.writer.createDatabase(database, never)
    for (let index = 0; index < 3; index++) await create()
    for (let index = 0; index < 3; index++) await addPartition()

    await platform.call(metadataRules.create, {
      ruleName: 'sales',
      databasePattern: 'sales',
      tablePattern: '*',
    })
    const [migrationId, migrationName] = ['files', 'tables']
    await platform.call(migrations.create, {
      migrationId,
      path: '/lake',
      source: 'source',
      target: 'target',
      scanOnlyMigration: false,
    })
    await platform.call(metadataMigrations.create, {
      migrationName,
      source: 'source',
      target: 'target',
      ruleNames: ['sales'],
      autoStart: true,
    })
    const get = () => platform.call(metadataMigrations.get, { migrationName })
    await until('all wait for their files', async () => (await get()).waiting === 3).catch(
      async (cause: unknown) => {
        const objects = await platform.call(metadataMigrations.objects, { migrationName })
        throw new Error(`seed ${seed}: ${JSON.stringify([await get(), objects])}`, { cause })
      },
    )
    expect(await target.tables('sales', never)).toEqual([])
    // The metastore has made it for the database; the migration of files takes it as it is.
    expect((await arrived.stat(Buffer.from('lake/sales')))?.type).toBe('folder')

    /** Looks at each table and partition as soon as it is there. */
    const seen = new Set<string>()
    const tooEarly: string[] = []
    const look = async (path: string) => {
      if (seen.has(path)) return
      seen.add(path)
      if ((await arrived.stat(Buffer.from(`lake/sales/${path}/data`))) === undefined) tooEarly.push(path)
    }
    const watch = async () => {
      for (const { name } of await target.tables('sales', never)) {
        // Nobody knows it by its own name yet.
        if (isHiddenName(name)) continue
        await look(name)
        const names = await target.partitionNames({ database: 'sales', name }, never)
        for (const one of names) await look(`${name}/${one}`)
      }
    }
    await platform.call(migrations.start, { migrationId })
    const writing = (async () => {
      for (let step = 0; step < steps; step++) await oneOf(random, changes)()
    })()
    const written = writing.then(() => true)
    while (!(await Promise.race([written, watch().then(() => false)])));
    await until('all tables and partitions', async () => {
      await watch()
      return seen.size >= tables.size + [...tables.values()].flat().length
    }).catch(async (cause: unknown) => {
      const objects = await platform.call(metadataMigrations.objects, { migrationName })
      throw new Error(`seed ${seed}: ${JSON.stringify([await get(), objects])}`, { cause })
    })
    expect(tooEarly, `seed ${seed}`).toEqual([])
    await until('nothing is behind', async () => {
      const { lagEvents, lagSeconds, waiting, failed } = await get()
      return lagEvents === 0 && lagSeconds === 0 && waiting === 0 && failed === 0
    })
    let left: string[] = []
    await until('the files are the same', async () => {
      left = await liveDifferences([files, arrived], Buffer.from('lake'))
      return left.length === 0
    }).catch((cause: unknown) => {
      throw new Error(left.join('\n'), { cause })
    })

    const digestAt = async (uri = '') => {
      expect(uri.startsWith(`${uris[1]!}/`), uri).toBe(true)
      return (await readTree(arrived, pathOf(uri))).get('data')?.sha256
    }
    for (const [name, paths] of tables) {
      const { storage, parameters } = (await target.table('sales', name, never))!
      expect(parameters).toEqual(
        expect.objectContaining({
          version: (await source.table('sales', name, never))!.parameters['version'],
        }),
      )
      expect(await digestAt(storage.location), name).toBe(sha256(contents.get(name)!))
      const table = { database: 'sales', name }
      const names = await target.partitionNames(table, never)
      expect(names.map((one) => `${name}/${one}`)).toEqual(paths.toSorted())
      for (const { values, storage: its } of names.length === 0
        ? []
        : await target.partitions(table, names, never)) {
        const path = `${name}/${partitionName(['day'], values)}`
        expect(await digestAt(its.location), path).toBe(sha256(contents.get(path)!))
      }
    }
  },
  300_000,
)
