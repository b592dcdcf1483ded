import { driverConformance } from '../../conformance/driver.ts'
import { noGcs, openGcs, startGcs } from '../../support/gcs.ts'

driverConformance(
  'gcs',
  async () => {
    const server = await startGcs()
    await server.createBucket('conformance')
    return {
      refusedName: 'new\nline',
      openDriver: () => openGcs(server.options('conformance')),
      openMissing: () => openGcs(server.options('not-there', { 'fs.gs.http.max.retry': '0' })),
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    }
  },
  noGcs,
)
