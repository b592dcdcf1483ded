import { hash } from 'node:crypto'
import {
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { digestOf } from '../../../services/drivers/digests/running-digest.ts'
import type { S3Driver } from '../../../services/drivers/s3a/s3a.ts'
import { bodyOf, pattern } from '../../conformance/driver-store.ts'
import { testUnless } from '../../support/unless.ts'
import { openS3, type S3Server, s3Servers } from '../../support/versitygw.ts'

/** Digests of whole contents, as Amazon's own client and real servers see them. */
const bucket = 'checksums'
const MiB = 2 ** 20
const at = (path: string) => Buffer.from(path)

describe.for(s3Servers)('on $name', ({ missing, start }) => {
  let server: S3Server
  let client: S3Client
  beforeAll(async () => {
    if (missing !== undefined) return
    server = await start()
    server.createBucket(bucket)
    const { endpoint, accessKey: accessKeyId, secretKey: secretAccessKey } = server
    const credentials = { accessKeyId, secretAccessKey }
    client = new S3Client({ endpoint, region: 'us-east-1', forcePathStyle: true, credentials })
  })
  afterAll(async () => {
    client?.destroy()
    await server?.[Symbol.asyncDispose]()
  })

  const head = (Key: string) =>
    client.send(new HeadObjectCommand({ Bucket: bucket, Key, ChecksumMode: 'ENABLED' }))
  /** The client compares with the checksum as it reads. */
  const read = async (Key: string) => {
    const { Body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key, ChecksumMode: 'ENABLED' }))
    return Buffer.from(await Body!.transformToByteArray())
  }
  const open = (algorithm: string) =>
    openS3(
      server.options(bucket, {
        'fs.s3a.multipart.size': String(5 * MiB),
        'fs.s3a.create.checksum.algorithm': algorithm,
      }),
    )

  async function upload(driver: S3Driver, path: string, bytes: Buffer, partBytes = 5 * MiB) {
    const begun = await driver.beginUpload(at(path), { sizeBytes: bytes.length, tag: 't', attributes: {} })
    const count = Math.ceil(bytes.length / partBytes)
    for (let index = 0; index < count; index++) {
      const offset = index * partBytes
      await driver.writePart(begun, index, offset, bodyOf(bytes.subarray(offset, offset + partBytes)))
    }
    await driver.commitUpload(begun, count, {})
  }

  testUnless(
    missing,
    'a large file has a CRC of all of its content, made of those of its parts',
    async () => {
      const bytes = pattern(12 * MiB + 3)
      for (const [algorithm, kind] of [
        ['CRC32C', 'crc32c'],
        ['CRC64NVME', 'crc64nvme'],
      ] as const) {
        await using driver = open(algorithm)
        // In parts that are held, and in one that is not and has its digest at its end.
        for (const partBytes of [5 * MiB, 13 * MiB]) {
          await upload(driver, algorithm, bytes, partBytes)
          const whole = await digestOf(kind, [bytes])
          expect(await head(algorithm)).toMatchObject({
            [`Checksum${algorithm}`]: whole,
            ChecksumType: 'FULL_OBJECT',
          })
          expect((await driver.stat(at(algorithm)))?.digests).toEqual({ [kind]: whole })
          expect((await read(algorithm)).equals(bytes)).toBe(true)
        }
      }
    },
  )

  testUnless(missing, 'what is written with one request has the digest that was chosen', async () => {
    const bytes = pattern(1_000)
    const md5 = hash('md5', bytes, 'base64')
    for (const [algorithm, kind] of [
      ['SHA256', 'sha256'],
      ['CRC32C', 'crc32c'],
      ['CRC64NVME', 'crc64nvme'],
    ] as const) {
      await using driver = open(algorithm)
      await driver.put(at('small'), bytes, {})
      const digest = await digestOf(kind, [bytes])
      expect(await head('small')).toMatchObject({ [`Checksum${algorithm}`]: digest })
      expect((await driver.stat(at('small')))?.digests).toEqual({ [kind]: digest, md5 })
    }
    await using driver = open('MD5')
    await driver.put(at('small'), bytes, {})
    expect((await driver.stat(at('small')))?.digests).toMatchObject({ md5 })
    await upload(driver, 'in-parts', pattern(6 * MiB))
    expect((await read('in-parts')).equals(pattern(6 * MiB))).toBe(true)
  })

  testUnless(missing, 'a digest of digests is not taken for one of the content', async () => {
    await using driver = open('SHA256')
    await upload(driver, 'composite', pattern(6 * MiB))
    expect((await head('composite')).ChecksumSHA256).toMatch(/-2$/)
    expect((await driver.stat(at('composite')))?.digests).toBeUndefined()
  })

  testUnless(missing, "digests that Amazon's client gives are those that we see", async () => {
    await using driver = open('')
    const bytes = pattern(6 * MiB)
    const object = { Bucket: bucket, Key: 'theirs' }
    await client.send(new PutObjectCommand({ ...object, Body: bytes, ChecksumAlgorithm: 'CRC64NVME' }))
    const crc64nvme = await digestOf('crc64nvme', [bytes])
    expect((await driver.stat(at('theirs')))?.digests).toMatchObject({ crc64nvme })
    const of = { ChecksumAlgorithm: 'CRC32C' } as const
    const { UploadId } = await client.send(
      new CreateMultipartUploadCommand({ ...object, ...of, ChecksumType: 'FULL_OBJECT' }),
    )
    const Parts = []
    for (const [index, Body] of [bytes.subarray(0, 5 * MiB), bytes.subarray(5 * MiB)].entries()) {
      const PartNumber = index + 1
      const { ETag, ChecksumCRC32C } = await client.send(
        new UploadPartCommand({ ...object, ...of, UploadId, PartNumber, Body }),
      )
      Parts.push({ PartNumber, ETag, ChecksumCRC32C })
    }
    await client.send(new CompleteMultipartUploadCommand({ ...object, UploadId, MultipartUpload: { Parts } }))
    const crc32c = await digestOf('crc32c', [bytes])
    expect((await driver.stat(at('theirs')))?.digests).toEqual({ crc32c })
  })
})
