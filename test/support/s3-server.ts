import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
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

/** @param program versitygw */
export async function startS3Server(program: string): Promise<S3Server> {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-s3-'))
  const buckets = join(folder, 'buckets')
  mkdirSync(buckets)
  const [accessKey, secretKey] = ['gantry-test', randomBytes(24).toString('base64url')]
  const port = await freePort()
  const endpoint = `http://127.0.0.1:${port}`
  const start = async () => {
    // Other services keep connections open; this one has to be told to.
    const args = ['--port', `127.0.0.1:${port}`, '--quiet', '--keep-alive', 'posix', buckets]
    const child = spawn(program, args, {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...process.env, ROOT_ACCESS_KEY: accessKey, ROOT_SECRET_KEY: secretKey },
    })
    await until('the S3 server answers', () =>
      fetch(endpoint).then(
        () => true,
        () => false,
      ),
    )
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
    options: (bucketName, additionalProperties = {}) => ({
      bucketName,
      endpoint,
      accessKey,
      secretKey,
      additionalProperties,
    }),
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
