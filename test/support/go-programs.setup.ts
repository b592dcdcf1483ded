import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
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
  /** A file that is added to its sources, in the folder of the package that it belongs to. */
  readonly adds?: { readonly path: string; readonly text: string }
}

/** An S3 server. */
const versitygwProgram: Program = {
  name: 'VERSITYGW',
  module: 'github.com/versity/versitygw/cmd/versitygw',
  version: 'v1.8.0',
}
/**
 * Another S3 server, with versions and notifications; it compiles for so long that only who asks for it waits. Releases since
 * October 2025 do not flush what they answer to who listens to a bucket (their pull request 21651): the method that was
 * forgotten there is added.
 */
const minioProgram: Program = {
  name: 'MINIO',
  module: 'github.com/minio/minio',
  version: 'v0.0.0-20260212201848-7aac2a2c5b7c',
  askedBy: 'GANTRY_BUILD_MINIO',
  adds: {
    path: 'cmd/flush.go',
    text: `package cmd

import "net/http"

func (w *trackingResponseWriter) Flush() {
	if flusher, ok := w.ResponseWriter.(http.Flusher); ok {
		flusher.Flush()
	}
}
`,
  },
}
/** A server of Google Cloud Storage's protocol. */
const fakeGcsProgram: Program = {
  name: 'FAKE_GCS_SERVER',
  module: 'github.com/fsouza/fake-gcs-server',
  version: 'v1.56.1',
}

/** The package manager of Kubernetes; it takes some minutes to compile. */
const helmProgram: Program = {
  name: 'HELM',
  module: 'helm.sh/helm/v3/cmd/helm',
  version: 'v3.22.0',
  askedBy: 'GANTRY_BUILD_HELM',
}
/** Checks objects of Kubernetes by their schemas. */
const kubeconformProgram: Program = {
  name: 'KUBECONFORM',
  module: 'github.com/yannh/kubeconform/cmd/kubeconform',
  version: 'v0.8.0',
}

/** Builds programs with Go from the module proxy into the cache folder. */
export async function setup(): Promise<void> {
  for (const program of [versitygwProgram, minioProgram, fakeGcsProgram, helmProgram, kubeconformProgram])
    await provide(program.name, () => build(program))
  await provide('PUBSUB_EMULATOR', pubSubEmulator)
  await provide('GO_FOLLOWER', goFollower)
  await provide('GO', findGo)
}

/** The path of versitygw, built if it is not there. */
export const versitygw = (): Promise<string> => build(versitygwProgram)
/** The path of fake-gcs-server, built if it is not there. */
export const fakeGcsServer = (): Promise<string> => build(fakeGcsProgram)

const emulatorFolder = fileURLToPath(new URL('pubsub-emulator', import.meta.url))
const sdkFolder = fileURLToPath(new URL('../../sdk/go', import.meta.url))

/** The path of Google's test server of Pub/Sub with the calls of REST before it, built of the sources here if it is not there. */
export const pubSubEmulator = (): Promise<string> =>
  buildHere('pubsub-emulator', { folder: emulatorFolder, sources: ['main.go', 'go.mod', 'go.sum'] })

/** The path of the example of the SDK, which `go vet` has nothing to say of. */
const goFollower = (): Promise<string> =>
  buildHere('go-follower', {
    folder: sdkFolder,
    sources: ['gantry.go', 'example/main.go', 'go.mod', 'go.sum'],
    main: './example',
    isVetted: true,
  })

/** Builds a program of sources that are here, if it is not there. */
async function buildHere(
  name: string,
  {
    folder,
    sources,
    main = '.',
    isVetted = false,
  }: { folder: string; sources: readonly string[]; main?: string; isVetted?: boolean },
): Promise<string> {
  const digest = createHash('sha256')
  for (const source of sources) digest.update(readFileSync(join(folder, source)))
  const path = join(peersFolder(), `${name}-${digest.digest('hex').slice(0, 12)}`)
  if (existsSync(path)) return path
  const options = { timeoutMs: buildTimeoutMs, env: { GOFLAGS: '' }, cwd: folder }
  const go = await findGo()
  try {
    if (isVetted) await runProgram(go, ['vet', './...'], options)
    await runProgram(go, ['build', '-o', path, main], options)
  } catch (cause) {
    throw new Error(`go could not build ${name}: ${(cause as Error).message}`, { cause })
  }
  return path
}

async function build({ module, version, askedBy, adds }: Program): Promise<string> {
  const program = module.split('/').at(-1)!
  const added =
    adds === undefined ? '' : `-${createHash('sha256').update(adds.text).digest('hex').slice(0, 8)}`
  const folder = join(peersFolder(), `${program}-${version}${added}`)
  const path = join(folder, program)
  if (existsSync(path)) return path
  if (askedBy !== undefined && process.env[askedBy] !== '1')
    throw new Error(`${program} is not in the cache folder; ${askedBy}=1 builds it, in some minutes`)
  const go = await findGo()
  const options = { timeoutMs: buildTimeoutMs, env: { GOBIN: folder, GOFLAGS: '' } }
  const built =
    adds === undefined
      ? runProgram(go, ['install', `${module}@${version}`], options)
      : buildWith(adds, { go, module: `${module}@${version}`, path, options })
  await built.catch((cause: unknown) => {
    throw new Error(`go could not build ${program} ${version}: ${(cause as Error).message}`, { cause })
  })
  return path
}

/** Builds a program from a copy of its sources, as Go does not change what it has downloaded. */
async function buildWith(
  { path: file, text }: NonNullable<Program['adds']>,
  {
    go,
    module,
    path,
    options,
  }: { go: string; module: string; path: string; options: Parameters<typeof runProgram>[2] },
): Promise<void> {
  const { Dir } = JSON.parse(await runProgram(go, ['mod', 'download', '-json', module], options)) as {
    Dir: string
  }
  const sources = mkdtempSync(join(tmpdir(), 'gantry-sources-'))
  try {
    cpSync(Dir, sources, { recursive: true })
    // What was downloaded may not be written to, nor may its copy.
    await runProgram('chmod', ['-R', 'u+w', sources], options)
    writeFileSync(join(sources, file), text)
    await runProgram(go, ['build', '-o', path, '.'], { ...options, cwd: sources })
  } finally {
    rmSync(sources, { recursive: true, force: true })
  }
}

/** The compiler. @throws Error when there is none */
export async function findGo(): Promise<string> {
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
