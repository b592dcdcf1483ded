import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runProgram } from '../../broker/server/run-program.ts'
import { peersFolder, provide } from './provide.ts'

/** Where Go's own archive is unpacked, which no PATH knows. */
const usualGo = '/usr/local/go/bin/go'
const probeTimeoutMs = 20_000
/** Minutes of compiling where nothing else runs; MinIO takes ten. */
const buildTimeoutMs = 30 * 60_000

interface Program {
  /** The variable in which tests find it. */
  readonly name: string
  readonly module: string
  readonly version: string
  /** The variable that has it built; without one it always is. Where it is in the cache folder it is used anyway. */
  readonly askedBy?: string
}

/** An S3 server. */
const versitygwProgram: Program = {
  name: 'VERSITYGW',
  module: 'github.com/versity/versitygw/cmd/versitygw',
  version: 'v1.8.0',
}
/** Another S3 server, with versions and notifications; it compiles for so long that only who asks for it waits. */
const minioProgram: Program = {
  name: 'MINIO',
  module: 'github.com/minio/minio',
  version: 'v0.0.0-20260212201848-7aac2a2c5b7c',
  askedBy: 'GANTRY_BUILD_MINIO',
}
/** A server of Google Cloud Storage's protocol. */
const fakeGcsProgram: Program = {
  name: 'FAKE_GCS_SERVER',
  module: 'github.com/fsouza/fake-gcs-server',
  version: 'v1.56.1',
}

/** Builds servers with Go from the module proxy into the cache folder. */
export async function setup(): Promise<void> {
  for (const program of [versitygwProgram, minioProgram, fakeGcsProgram])
    await provide(program.name, () => build(program))
  await provide('PUBSUB_EMULATOR', pubSubEmulator)
}

/** The path of versitygw, built if it is not there. */
export const versitygw = (): Promise<string> => build(versitygwProgram)
/** The path of fake-gcs-server, built if it is not there. */
export const fakeGcsServer = (): Promise<string> => build(fakeGcsProgram)

const emulatorFolder = fileURLToPath(new URL('pubsub-emulator', import.meta.url))

/** The path of Google's test server of Pub/Sub with the calls of REST before it, built of the sources here if it is not there. */
export async function pubSubEmulator(): Promise<string> {
  const digest = createHash('sha256')
  for (const name of ['main.go', 'go.mod', 'go.sum']) digest.update(readFileSync(join(emulatorFolder, name)))
  const path = join(peersFolder(), `pubsub-emulator-${digest.digest('hex').slice(0, 12)}`)
  if (existsSync(path)) return path
  const options = { timeoutMs: buildTimeoutMs, env: { GOFLAGS: '' }, cwd: emulatorFolder }
  await runProgram(await findGo(), ['build', '-o', path, '.'], options).catch((cause: unknown) => {
    throw new Error(`go could not build the server of Pub/Sub: ${(cause as Error).message}`, { cause })
  })
  return path
}

async function build({ module, version, askedBy }: Program): Promise<string> {
  const program = module.split('/').at(-1)!
  const folder = join(peersFolder(), `${program}-${version}`)
  const path = join(folder, program)
  if (existsSync(path)) return path
  if (askedBy !== undefined && process.env[askedBy] !== '1')
    throw new Error(`${program} is not in the cache folder; ${askedBy}=1 builds it, in ten minutes`)
  const go = await findGo()
  const env = { GOBIN: folder, GOFLAGS: '' }
  await runProgram(go, ['install', `${module}@${version}`], { timeoutMs: buildTimeoutMs, env }).catch(
    (cause: unknown) => {
      throw new Error(`go could not build ${program} ${version}: ${(cause as Error).message}`, { cause })
    },
  )
  return path
}

async function findGo(): Promise<string> {
  for (const go of ['go', usualGo])
    if (
      await runProgram(go, ['version'], { timeoutMs: probeTimeoutMs }).then(
        () => true,
        () => false,
      )
    )
      return go
  throw new Error('there is no go: install Go 1.21 or newer')
}
