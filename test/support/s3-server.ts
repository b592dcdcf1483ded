import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { storeError } from '../../services/drivers/contract/driver.ts'
import { S3Driver } from '../../services/drivers/s3a/s3a.ts'
import type { FilesystemOptions } from '../../subjects/filesystems/kinds.ts'
import { freePort } from './platform.ts'
import { until } from './until.ts'

/** An S3 server of the test's own on loopback, which checks signatures and digests; gone with the scope. */
export interface S3Server extends AsyncDisposable {
  readonly endpoint: string
  readonly accessKey: string
  readonly secretKey: string
  createBucket(name: string): void
  /** With all that is in it. */
  removeBucket(name: string): void
  /** Ends it as kill -9 does. */
  kill(): Promise<void>
  /** Starts it again where it was, once it was killed. */
  restart(): Promise<void>
  /** Options of a filesystem in a bucket. */
  options(bucketName: string, properties?: Record<string, string>): FilesystemOptions<'s3a'>
}

/** How an S3 server is started on a folder whose folders are its buckets. */
export interface S3Program {
  readonly args: (address: string, buckets: string) => readonly string[]
  readonly s3type: NonNullable<FilesystemOptions<'s3a'>['s3type']>
  readonly env: (accessKey: string, secretKey: string) => Readonly<Record<string, string>>
}

export const versitygwProgram: S3Program = {
  s3type: 'S3_COMPATIBLE',
  // Other services keep connections open; this one has to be told to.
  args: (address, buckets) => ['--port', address, '--quiet', '--keep-alive', 'posix', buckets],
  env: (accessKey, secretKey) => ({ ROOT_ACCESS_KEY: accessKey, ROOT_SECRET_KEY: secretKey }),
}

export const minioProgram: S3Program = {
  s3type: 'MINIO',
  args: (address, buckets) => ['server', '--quiet', '--address', address, buckets],
  env: (accessKey, secretKey) => ({
    MINIO_ROOT_USER: accessKey,
    MINIO_ROOT_PASSWORD: secretKey,
    MINIO_BROWSER: 'off',
    MINIO_UPDATE: 'off',
  }),
}

/** @param program its path */
export async function startS3Server(program: string, { args, env, s3type }: S3Program): Promise<S3Server> {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-s3-'))
  const buckets = join(folder, 'buckets')
  mkdirSync(buckets)
  const [accessKey, secretKey] = ['gantry-test', randomBytes(24).toString('base64url')]
  const port = await freePort()
  const endpoint = `http://127.0.0.1:${port}`
  const options: S3Server['options'] = (bucketName, additionalProperties = {}) => ({
    bucketName,
    endpoint,
    s3type,
    accessKey,
    secretKey,
    additionalProperties,
  })
  const start = async () => {
    const child = spawn(program, args(`127.0.0.1:${port}`, buckets), {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...process.env, ...env(accessKey, secretKey) },
    })
    // MinIO answers before it can do anything.
    const driver = new S3Driver(options('no-bucket', { 'fs.s3a.attempts.maximum': '0' }))
    await until('the S3 server knows its buckets', () =>
      driver.probe(new AbortController().signal).then(
        () => true,
        (error: unknown) => storeError(error).failure === 'gone',
      ),
    )
    await driver.close()
    return child
  }
  const kill = () => child.kill('SIGKILL')
  const end = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    kill()
    await gone
  }
  let child = await start()
  process.once('exit', kill)
  return {
    endpoint,
    accessKey,
    secretKey,
    // Each folder is a bucket.
    createBucket: (name) => mkdirSync(join(buckets, name)),
    removeBucket: (name) => rmSync(join(buckets, name), { recursive: true }),
    options,
    kill: end,
    restart: async () => {
      child = await start()
    },
    [Symbol.asyncDispose]: async () => {
      process.off('exit', kill)
      await end()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
