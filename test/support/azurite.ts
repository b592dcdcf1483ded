import { BlobServiceClient, StorageSharedKeyCredential } from '@azure/storage-blob'
import { QueueServiceClient, StorageSharedKeyCredential as QueueCredential } from '@azure/storage-queue'
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import type { Certificates } from './certificates.ts'

/** A real Azure Blob service of the test's own, with everything in memory; gone with the scope or the process. */
export interface Azurite {
  /** `host:port`, as the `endpoint` option of a filesystem takes it (with `insecure`). */
  readonly endpoint: string
  readonly account: string
  /** Base64, made for this instance. */
  readonly key: string
  /** Microsoft's own client on the same account, to look at what ours wrote. */
  readonly service: BlobServiceClient
  createContainer(name: string): Promise<void>
  /** Ends it in order, so that its folder has all that was stored. */
  stop(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** Azurite loads its server code in about one second; a busy machine may take many times that. */
const startTimeoutMs = 60_000

/** To start it again where it was. */
export interface AzuriteOptions {
  /** Folder that keeps what is stored; without it all is in memory. */
  readonly folder?: string
  readonly key?: string
  readonly port?: number
  /** TLS, without which it takes no tokens; clients in this process have to trust the authority. */
  readonly certificates?: Certificates
}

const account = 'gantrytest'

/** Starts one of Azurite's services on loopback, on a free port unless one is given. Rejects with its output when it does not come up. */
async function startService(service: 'blob' | 'queue', options: AzuriteOptions & { readonly key: string }) {
  const { folder, key, port = 0, certificates } = options
  const program = fileURLToPath(import.meta.resolve(`azurite/dist/src/${service}/main.js`))
  // Microsoft's client asks for a newer protocol than the released Azurite names, and works with it.
  const flags = ['--silent', '--disableTelemetry', '--skipApiVersionCheck', `--${service}Port`, `${port}`]
  if (certificates !== undefined)
    flags.push('--oauth', 'basic', '--cert', certificates.certificate, '--key', certificates.key)
  const place = folder === undefined ? ['--inMemoryPersistence'] : ['--location', folder]
  const index = import.meta.resolve('./azurite-index.ts')
  const child = spawn(process.execPath, ['--import', index, program, ...flags, ...place], {
    cwd: tmpdir(),
    env: { ...process.env, AZURITE_ACCOUNTS: `${account}:${key}` },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)

  const end = async (signal: NodeJS.Signals) => {
    process.off('exit', kill)
    if (child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    child.kill(signal)
    await gone
  }
  try {
    return { url: await listeningAddress(child), end }
  } catch (error) {
    await end('SIGKILL')
    throw error
  }
}

/** Starts Azurite's blob service; see `startService`. */
export async function startAzurite(options: AzuriteOptions = {}): Promise<Azurite> {
  const key = options.key ?? randomBytes(64).toString('base64')
  const { url, end } = await startService('blob', { ...options, key })
  const credential = new StorageSharedKeyCredential(account, key)
  // Azurite may end an idle connection just as a request goes out on it; a second one gets through at once.
  const retryOptions = { maxTries: 2, retryDelayInMs: 10 }
  const service = new BlobServiceClient(`${url}/${account}`, credential, { retryOptions })
  return {
    endpoint: new URL(url).host,
    account,
    key,
    service,
    createContainer: async (name) => void (await service.createContainer(name)),
    stop: () => end('SIGTERM'),
    [Symbol.asyncDispose]: () => end('SIGKILL'),
  }
}

/** A real queue service of Azure of the test's own. */
export interface AzuriteQueues extends AsyncDisposable {
  /** With the account. */
  readonly url: string
  /** Microsoft's own client. */
  readonly service: QueueServiceClient
}

/** The queues of the account that a blob service has. */
export async function startAzuriteQueues(
  { key }: Pick<Azurite, 'key'>,
  options: Pick<AzuriteOptions, 'certificates'> = {},
): Promise<AzuriteQueues> {
  const { url, end } = await startService('queue', { ...options, key })
  const service = new QueueServiceClient(`${url}/${account}`, new QueueCredential(account, key))
  return { url: `${url}/${account}`, service, [Symbol.asyncDispose]: () => end('SIGKILL') }
}

let shared: Promise<Azurite> | undefined

/**
 * One for all test files of this process, which ends with it: for those that look into containers of their own alone.
 * Their names come from `containerName`.
 */
export const sharedAzurite = (): Promise<Azurite> => (shared ??= startAzurite())

/** A name that no other test file of this process has for a container. */
export const containerName = (): string => `container-${randomUUID()}`

/** The address in Azurite's own message; the port is the one that the system gave. */
function listeningAddress(child: ChildProcess): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  let output = ''
  const timer = setTimeout(() => reject(new Error(`Azurite did not start: ${output}`)), startTimeoutMs)
  const read = (chunk: Buffer) => {
    output += chunk.toString()
    const address = /successfully listens? on (https?:\/\/\S+)/.exec(output)?.[1]
    if (address !== undefined) resolve(address)
  }
  child.stdout?.on('data', read)
  child.stderr?.on('data', read)
  child.once('error', reject)
  child.once('exit', (code) => reject(new Error(`Azurite ended with ${code}: ${output}`)))
  return promise.finally(() => clearTimeout(timer))
}
