import { driverConformance } from '../../conformance/driver.ts'
import { openS3, s3Servers } from '../../support/versitygw.ts'

for (const { name, missing, start } of s3Servers)
  driverConformance(
    `s3a on ${name}`,
    async () => {
      const server = await start()
      server.createBucket('conformance')
      return {
        openDriver: () => openS3(server.options('conformance')),
        openMissing: () => openS3(server.options('not-there')),
        [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
      }
    },
    missing,
  )
