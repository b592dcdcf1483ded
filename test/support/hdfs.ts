import { HdfsDriver } from '../../services/drivers/hdfs/hdfs.ts'
import type { Side } from '../../services/drivers/contract/kind.ts'
import type { FilesystemOptions } from '../../subjects/filesystems/kinds.ts'
import { type HdfsCluster, startHdfsCluster } from './hdfs-cluster.ts'
import type { Kdc } from './kdc.ts'
import { whyMissing } from './provide.ts'
import { testUnless } from './unless.ts'

export type { HdfsCluster } from './hdfs-cluster.ts'

/** Why there is no cluster here; undefined where there is one. */
export const noHdfs = whyMissing('HDFS_CLASSES')
/** A test with a real cluster of HDFS. */
export const hdfsTest = (name: string, work: () => Promise<void>, timeoutMs?: number): void =>
  testUnless(noHdfs, name, work, timeoutMs)

/** As `startHdfsCluster`. */
export const startHdfs = (settings?: Record<string, string>, kdc?: Kdc): Promise<HdfsCluster> =>
  startHdfsCluster(process.env['HDFS_CLASSES']!, settings, kdc)

/** A driver that is closed with its scope. */
export function openHdfs(options: FilesystemOptions<'hdfs'>, side?: Side): HdfsDriver & AsyncDisposable {
  const driver = new HdfsDriver(options, side)
  return Object.assign(driver, { [Symbol.asyncDispose]: () => driver.close() })
}
