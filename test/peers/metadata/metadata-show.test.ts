import { expect } from 'vitest'
import { metadataCatalogs } from '../../../subjects/metadata/catalogs.ts'
import { metastoreTest } from '../../support/hive-metastore.ts'
import { MetastoreWriter } from '../../support/metastore-writer.ts'
import { startWarehouse, storage } from '../../support/warehouse.ts'

/** What of a metastore is shown and never migrated: its settings, and indexes where the release has them. */
const catalogId = 'warehouse'
/** A metastore is started in each, which takes a busy machine a while. */
const patienceMs = 240_000
const { 'create-hive': create, indexes, conf } = metadataCatalogs
const days = { catalogId, database: 'default', table: 'days' }

metastoreTest(
  '2.3.9',
  'indexes of a release that has them, and settings',
  async () => {
    await using warehouse = await startWarehouse('2.3.9', [])
    const { platform, metastore } = warehouse
    await platform.call(create, { catalogId, ...metastore.options })
    expect(await platform.call(indexes, days)).toEqual([])
    using writer = await MetastoreWriter.open(metastore.address)
    const handler = 'org.apache.hadoop.hive.ql.index.compact.CompactIndexHandler'
    const sd = { ...storage, location: 'file:/tmp/by_id' }
    await writer.addIndex(
      {
        indexName: 'by_id',
        indexHandlerClass: handler,
        dbName: 'default',
        origTableName: 'days',
        indexTableName: 'default__days_by_id__',
        sd,
        deferredRebuild: true,
      },
      {
        dbName: 'default',
        tableName: 'default__days_by_id__',
        tableType: 'INDEX_TABLE',
        sd,
        partitionKeys: [],
        parameters: new Map(),
      },
    )
    expect(await platform.call(indexes, days)).toEqual([
      {
        name: 'by_id',
        handler,
        columns: ['id'],
        indexTable: 'default__days_by_id__',
        deferredRebuild: true,
      },
    ])
    await expect(platform.call(indexes, { ...days, table: 'none' })).rejects.toMatchObject({
      code: 'NOT_FOUND',
    })
    const listeners = 'hive.metastore.transactional.event.listeners'
    const like = { catalogId, like: 'hive.metastore.transactional*' }
    expect(await platform.call(conf, like)).toEqual([
      { name: listeners, value: 'org.apache.hive.hcatalog.listener.DbNotificationListener' },
    ])
    expect(await platform.call(conf, { catalogId, parameter: 'hive.no.such' })).toEqual([
      { name: 'hive.no.such' },
    ])
    await expect(platform.call(conf, { catalogId, parameter: 'javax.jdo.Url' })).rejects.toMatchObject({
      code: 'STORE_REFUSED',
    })
  },
  patienceMs,
)

metastoreTest(
  '4.0.1',
  'a release without indexes says so, and tells its settings',
  async () => {
    await using warehouse = await startWarehouse('4.0.1', [])
    const { platform, metastore } = warehouse
    await platform.call(create, { catalogId, ...metastore.options })
    await expect(platform.call(indexes, days)).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      message: expect.stringContaining('does not provide indexes'),
    })
    const known = await platform.call(conf, { catalogId })
    expect(known.map(({ name }) => name)).toContain('hive.metastore.warehouse.dir')
    expect(known).toContainEqual({ name: 'hive.metastore.uris' })
  },
  patienceMs,
)
