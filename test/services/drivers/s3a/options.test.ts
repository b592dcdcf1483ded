import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { S3Driver } from '../../../../services/drivers/s3a/s3a.ts'
import type { FilesystemOptions } from '../../../../subjects/filesystems/kinds.ts'
import { s3IneffectiveProperties, s3Properties } from '../../../../subjects/filesystems/s3-properties.ts'

const keys = { accessKey: 'key', secretKey: 'top/secret' }
const opening = (options: Partial<FilesystemOptions<'s3a'>>) => () =>
  new S3Driver({ bucketName: 'data', ...options })
const property = (name: string, value: string) => ({ ...keys, additionalProperties: { [name]: value } })

test.each([
  [{}, /accessKey is missing/],
  [{ accessKey: 'key' }, /secretKey is missing/],
  [{ ...keys, credentialsProvider: 'TemporaryAWSCredentialsProvider' }, /sessionToken is missing/],
  [{ ...keys, credentialsProvider: 'AnonymousAWSCredentialsProvider' }, /accessKey is for another/],
  [property('fs.s3a.secret.key', 'top/secret'), /fs\.s3a\.secret\.key is not honoured/],
  [property('fs.s3a.multipart.size', '1'), /multipart\.size must be .* from 5242880/],
  [property('fs.s3a.encryption.algorithm', 'ROT13'), /algorithm must be one of AES256/],
  [property('fs.s3a.encryption.algorithm', 'SSE-C'), /customerKey goes together/],
  [property('fs.s3a.encryption.key', 'alias/key'), /is for fs\.s3a\.encryption\.algorithm SSE-KMS/],
])('%j is refused, and no secret is repeated', (options, message) => {
  expect(opening(options)).toThrow(message)
  expect(opening(options)).not.toThrow(/top\/secret/)
})

test('what people have in their configuration and has no effect is taken', async () => {
  for (const name of s3IneffectiveProperties) await opening(property(name, 'x'))().close()
})

test('a file of 5 TiB fits into the parts that there may be, and one more byte is refused', async () => {
  const driver = opening(keys)()
  for (const sizeBytes of [1, 2 ** 34, 2 ** 40, 5 * 2 ** 40]) {
    const partBytes = driver.capabilities.parts.sizeFor(sizeBytes)
    expect(Math.ceil(sizeBytes / partBytes)).toBeLessThan(10_000)
    expect(partBytes).toBeLessThanOrEqual(5 * 2 ** 30)
    expect(driver.refuses(Buffer.from('big'), { type: 'file', sizeBytes })).toBeUndefined()
  }
  expect(driver.refuses(Buffer.from('big'), { type: 'file', sizeBytes: 5 * 2 ** 40 + 1 })).toMatch(/5 TiB/)
  await driver.close()
})

test('the documentation has each property', () => {
  const text = readFileSync(new URL('../../../../docs/S3.md', import.meta.url), 'utf8')
  for (const name of [...Object.keys(s3Properties), ...s3IneffectiveProperties])
    expect(text).toContain(`\`${name}\``)
})
