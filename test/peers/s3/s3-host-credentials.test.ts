import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, vi } from 'vitest'
import { createBounds } from '../../../services/drivers/contract/bounds.ts'
import { S3Driver } from '../../../services/drivers/s3a/s3a.ts'
import type { FilesystemOptions } from '../../../subjects/filesystems/kinds.ts'
import { bodyOf, contentOf, failureOf, never, pattern } from '../../conformance/driver-store.ts'
import { noS3, type S3Server, s3Test, startS3 } from '../../support/versitygw.ts'

/** The server checks each signature. It takes no session tokens but its own, so these keys have none. */
const bucket = 'host'
const folder = mkdtempSync(join(tmpdir(), 'gantry-host-peers-'))
let server: S3Server
beforeAll(async () => {
  if (noS3 !== undefined) return
  server = await startS3()
  server.createBucket(bucket)
})
afterAll(async () => {
  await server?.[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true })
})
afterEach(() => {
  vi.unstubAllEnvs()
})

const at = (path: string) => Buffer.from(path)

function open(credentialsProvider: string, allowed: string[], more: Partial<FilesystemOptions<'s3a'>> = {}) {
  const { endpoint } = server
  const additionalProperties = { 'fs.s3a.multipart.size': String(5 * 2 ** 20) }
  const bounds = createBounds([], { roots: undefined, hosts: ['127.0.0.1'], hostCredentials: allowed })
  const options = { bucketName: bucket, endpoint, credentialsProvider, additionalProperties, ...more }
  const driver = new S3Driver(options, bounds)
  driver.requirePlace()
  return Object.assign(driver, { [Symbol.asyncDispose]: () => driver.close() })
}

s3Test('with a profile files are written, in parts too, read and removed', async () => {
  const profiles = join(folder, 'profiles')
  const write = (secretKey: string) =>
    writeFileSync(
      profiles,
      `[mover]\naws_access_key_id = ${server.accessKey}\naws_secret_access_key = ${secretKey}\n`,
    )
  write(server.secretKey)
  const more = { awsProfile: 'mover', awsCredentialsConfigFile: profiles }
  const provider = 'com.amazonaws.auth.profile.ProfileCredentialsProvider'
  await using driver = open(provider, [profiles], more)
  const names = Array.from({ length: 30 }, (_, index) => `folder/${index}`)
  await Promise.all(names.map((name) => driver.put(at(name), at(name), {})))
  for (const name of names) expect((await contentOf(driver, at(name))).toString()).toBe(name)
  const bytes = pattern(11 * 2 ** 20)
  const upload = await driver.beginUpload(at('large'), { sizeBytes: bytes.length, tag: 't', attributes: {} })
  await driver.writePart(upload, 0, 0, bodyOf(bytes))
  await driver.commitUpload(upload, 1, {})
  expect((await contentOf(driver, at('large'))).equals(bytes)).toBe(true)
  expect(await driver.remove(at('large'))).toBe(true)
  write('this-is-another-secret')
  await using other = open(provider, [profiles], more)
  const probed = other.probe(never)
  expect(await failureOf(probed)).toBe('refused')
  await expect(probed).rejects.not.toThrow(/another-secret/)
})

s3Test('with variables of the environment the chain does as well', async () => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', server.accessKey)
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', server.secretKey)
  await using driver = open('DefaultAWSCredentialsProviderChain', ['environment', 'instance'])
  await driver.put(at('chain'), at('content'), {})
  expect((await contentOf(driver, at('chain'))).toString()).toBe('content')
})
