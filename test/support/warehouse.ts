import { settings } from '../../subjects/access/settings.ts'
import { loopback } from '../../subjects/kit/names.ts'
import { type HiveMetastore, type MetastoreRelease, startMetastore } from './hive-metastore.ts'
import { MetastoreWriter } from './metastore-writer.ts'
import { startTestPlatform, type TestPlatform } from './platform.ts'

/** A platform that may reach a metastore in which `default.days` has a partition for each day; gone with the scope. */
export interface Warehouse extends AsyncDisposable {
  readonly platform: TestPlatform
  readonly metastore: HiveMetastore
}

/** How the metastore keeps the rows of its tables. */
export const storage = {
  numBuckets: -1,
  cols: [{ name: 'id', type: 'bigint' }],
  serdeInfo: { serializationLib: 'org.apache.hadoop.hive.ql.io.orc.OrcSerde' },
}

export async function startWarehouse(release: MetastoreRelease, days: readonly string[]): Promise<Warehouse> {
  const [platform, metastore] = await Promise.all([startTestPlatform(), startMetastore(release)])
  await platform.call(settings.put, { storeHosts: [loopback] })
  using writer = await MetastoreWriter.open(metastore.address)
  await writer.createTable({
    dbName: 'default',
    tableName: 'days',
    tableType: 'EXTERNAL_TABLE',
    sd: { ...storage, location: 'file:/tmp/days' },
    partitionKeys: [{ name: 'day', type: 'date' }],
    parameters: new Map([['EXTERNAL', 'TRUE']]),
  })
  await writer.addPartitions(
    days.map((day) => ({
      dbName: 'default',
      tableName: 'days',
      values: [day],
      sd: { ...storage, location: `file:/tmp/days/${day}` },
    })),
  )
  return {
    platform,
    metastore,
    [Symbol.asyncDispose]: async () => {
      await platform[Symbol.asyncDispose]()
      await metastore[Symbol.asyncDispose]()
    },
  }
}
