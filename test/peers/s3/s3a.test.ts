import { driverConformance } from '../../conformance/driver.ts'
import { noS3, openS3, startS3 } from '../../support/versitygw.ts'

driverConformance(
  's3a',
  async () => {
    const server = await startS3()
    server.createBucket('conformance')
    return {
      openDriver: () => openS3(server.options('conformance')),
      openMissing: () => openS3(server.options('not-there')),
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    }
  },
  noS3,
)
