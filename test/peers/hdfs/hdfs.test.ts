import { driverConformance } from '../../conformance/driver.ts'
import { noHdfs, openHdfs, startHdfs } from '../../support/hdfs.ts'

driverConformance(
  'hdfs',
  async () => {
    const cluster = await startHdfs()
    return {
      openDriver: () => openHdfs(cluster.options()),
      [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
    }
  },
  noHdfs,
  'a cluster always has its root',
)
