import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { S3Driver } from '../../services/drivers/s3a/s3a.ts'
import type { FilesystemOptions } from '../../subjects/filesystems/kinds.ts'
import { freePort } from './platform.ts'
import { testUnless } from './unless.ts'
import { until } from './until.ts'

const program = process.env['VERSITYGW']

/** Why there is no S3 server here; undefined where there is one. */
export const noS3 =
  program === undefined ? (process.env['VERSITYGW_MISSING'] ?? 'it was not looked for') : undefined
/** A test with a real S3 server. */
export const s3Test = (name: string, work: () => Promise<void>, timeoutMs?: number): void =>
  testUnless(noS3, name, work, timeoutMs)

/** An S3 server of the test's own on loopback, which checks signatures and digests; gone with the scope. */
export interface S3Server extends AsyncDisposable {
  readonly endpoint: string
  readonly accessKey: string
  readonly secretKey: string
  createBucket(name: string): void
  /** Options of a filesystem in a bucket. */
  options(bucketName: string, properties?: Record<string, string>): FilesystemOptions<'s3a'>
}

export async function startS3(): Promise<S3Server> {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-s3-'))
  const buckets = join(folder, 'buckets')
  mkdirSync(buckets)
  const [accessKey, secretKey] = ['gantry-test', randomBytes(24).toString('base64url')]
  const port = await freePort()
  const child = spawn(program!, ['--port', `127.0.0.1:${port}`, '--quiet', 'posix', buckets], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, ROOT_ACCESS_KEY: accessKey, ROOT_SECRET_KEY: secretKey },
  })
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  const endpoint = `http://127.0.0.1:${port}`
  await until('the S3 server answers', () =>
    fetch(endpoint).then(
      () => true,
      () => false,
    ),
  )
  return {
    endpoint,
    accessKey,
    secretKey,
    // Each folder is a bucket.
    createBucket: (name) => mkdirSync(join(buckets, name)),
    options: (bucketName, additionalProperties = {}) => ({
      bucketName,
      endpoint,
      accessKey,
      secretKey,
      additionalProperties,
    }),
    [Symbol.asyncDispose]: async () => {
      process.off('exit', kill)
      const gone = once(child, 'exit')
      if (child.exitCode === null && child.signalCode === null) {
        kill()
        await gone
      }
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** A driver that is closed with its scope. */
export function openS3(options: FilesystemOptions<'s3a'>): S3Driver & AsyncDisposable {
  const driver = new S3Driver(options)
  return Object.assign(driver, { [Symbol.asyncDispose]: () => driver.close() })
}
