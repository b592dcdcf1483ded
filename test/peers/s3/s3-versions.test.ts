import { PutBucketVersioningCommand, S3Client } from '@aws-sdk/client-s3'
import { expect } from 'vitest'
import { never } from '../../conformance/driver-store.ts'
import { testUnless } from '../../support/unless.ts'
import { openS3, s3Servers } from '../../support/versitygw.ts'

const keepsVersions = new Set(['minio'])

for (const { name, missing, start } of s3Servers)
  testUnless(missing, `whether a bucket keeps versions is told, on ${name}`, async () => {
    await using server = await start()
    server.createBucket('plain')
    await using plain = openS3(server.options('plain'))
    expect(await plain.describe(never)).toBeUndefined()
    if (!keepsVersions.has(name)) return
    const { endpoint, accessKey: accessKeyId, secretKey: secretAccessKey } = server
    const credentials = { accessKeyId, secretAccessKey }
    const client = new S3Client({ endpoint, region: 'us-east-1', forcePathStyle: true, credentials })
    const VersioningConfiguration = { Status: 'Enabled' } as const
    await client.send(new PutBucketVersioningCommand({ Bucket: 'plain', VersioningConfiguration }))
    client.destroy()
    expect(await plain.describe(never)).toMatch(/^it keeps versions: of each object the latest is migrated/)
  })
