import { spawn } from 'node:child_process'
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { once } from 'node:events'
import { createServer, Agent, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { jwtVerify } from 'jose'
import type { FilesystemOptions } from '../../subjects/filesystems/kinds.ts'
import { freePort } from './platform.ts'
import type { PubSubEmulator } from './pubsub-emulator.ts'
import { until } from './until.ts'

/** A server of Cloud Storage's protocol, of the test's own on loopback; gone with the scope. */
export interface GcsServer extends AsyncDisposable {
  readonly endpoint: string
  /** The server itself, without what stands before it: nobody is asked for a token there. */
  readonly bareEndpoint: string
  createBucket(name: string): Promise<void>
  /** Ends it as kill -9 does, and with it all that it has: it keeps that in memory. */
  kill(): Promise<void>
  /** Options of a filesystem in a bucket, with the key of a service account. */
  options(bucketName: string, properties?: Record<string, string>): FilesystemOptions<'gcs'>
}

const clientEmail = 'mover@tests.iam.gserviceaccount.com'
const privateKeyId = 'key-of-tests'

/**
 * @param program fake-gcs-server
 * @param pubSub topic that it tells of changes @param isOpen nobody needs a token
 */
export async function startGcsServer(
  program: string,
  {
    pubSub,
    isOpen = false,
  }: {
    readonly pubSub?: Pick<PubSubEmulator, 'host' | 'project' | 'topic'> | undefined
    readonly isOpen?: boolean
  } = {},
): Promise<GcsServer> {
  const port = await freePort()
  const bareEndpoint = `http://127.0.0.1:${port}`
  const options = ['-backend', 'memory', '-scheme', 'http', '-host', '127.0.0.1', '-port', String(port)]
  const telling =
    pubSub === undefined
      ? []
      : [
          ...['-event.pubsub-project-id', pubSub.project, '-event.pubsub-topic', pubSub.topic],
          ...['-event.list', 'finalize,delete,metadataUpdate,archive'],
        ]
  const flags = ['-external-url', bareEndpoint, '-log-level', 'error', ...telling]
  const child = spawn(program, [...options, ...flags], {
    env: { ...process.env, ...(pubSub !== undefined && { PUBSUB_EMULATOR_HOST: pubSub.host }) },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  await until('the server answers', () =>
    fetch(`${bareEndpoint}/storage/v1/b?project=p`).then(
      () => true,
      () => false,
    ),
  )
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const front = await startFront(port, isOpen ? undefined : publicKey)
  const end = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    kill()
    await gone
  }
  return {
    endpoint: front.endpoint,
    bareEndpoint,
    createBucket: async (name) => {
      const body = JSON.stringify({ name })
      const headers = { 'content-type': 'application/json' }
      const { status } = await fetch(`${bareEndpoint}/storage/v1/b?project=p`, {
        method: 'POST',
        headers,
        body,
      })
      if (status !== 200) throw new Error(`making bucket ${name} answered ${status}`)
    },
    kill: end,
    options: (bucketName, additionalProperties = {}) => ({
      bucketName,
      endpoint: front.endpoint,
      clientEmail,
      privateKeyId,
      privateKey: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
      additionalProperties,
    }),
    [Symbol.asyncDispose]: async () => {
      process.off('exit', kill)
      await front.close()
      await end()
    },
  }
}

/**
 * Stands before fake-gcs-server for what that does not do and the service does: it takes no request without a token that the
 * key of the service account has signed, lists in pages in which what names begin with counts as well, deletes what has the
 * generation that is asked for only, counts the changes of metadata (metageneration) and says beside content how many there were,
 * and names itself in a header of each answer.
 */
async function startFront(port: number, publicKey: KeyObject | undefined) {
  const agent = new Agent({ keepAlive: true })
  const metagenerations = new Metagenerations()
  const server = createServer((asked, answer) => {
    void answerAs(asked, answer).catch(() => answer.destroy())
  })
  async function answerAs(asked: IncomingMessage, answer: ServerResponse): Promise<void> {
    if (publicKey !== undefined && !(await isSigned(asked, publicKey)))
      return refuse(answer, 401, 'authError', 'Invalid Credentials')
    const url = new URL(asked.url ?? '', 'http://front')
    const [, bucket, object] = /^\/storage\/v1\/b\/([^/]+)\/o(?:\/([^/]+))?$/.exec(url.pathname) ?? []
    if (asked.method === 'GET' && bucket !== undefined && object === undefined) return list(url, answer)
    const generation = url.searchParams.get('ifGenerationMatch')
    if (asked.method === 'DELETE' && generation !== null) {
      const there = await ask(url.pathname)
      if (there.status === 200 && there.json['generation'] !== generation)
        return refuse(answer, 412, 'conditionNotMet', 'At least one of the pre-conditions did not hold.')
    }
    const onward = request(
      { agent, port, host: '127.0.0.1', method: asked.method, path: asked.url, headers: asked.headers },
      (its) => {
        passOn(asked.method, its, answer).catch(() => answer.destroy())
      },
    )
    onward.on('error', () => answer.destroy())
    asked.pipe(onward)
  }
  async function passOn(method: string | undefined, its: IncomingMessage, answer: ServerResponse) {
    const status = its.statusCode ?? 500
    const generation = its.headers['x-goog-generation']
    const { 'transfer-encoding': _coding, ...others } = its.headers
    const headers = { ...others, 'x-guploader-uploadid': 'of-tests' }
    if (status >= 300 || (generation === undefined && method !== 'PATCH' && metagenerations.areFirst)) {
      answer.writeHead(status, headers)
      its.pipe(answer)
    } else if (typeof generation === 'string') {
      answer.writeHead(status, { ...headers, 'x-goog-metageneration': metagenerations.of(generation) })
      its.pipe(answer)
    } else {
      const text = (await buffer(its)).toString()
      const told = text.startsWith('{') ? (JSON.parse(text) as Told) : undefined
      if (method === 'PATCH') metagenerations.changed(told?.generation)
      const body = told === undefined ? text : JSON.stringify(metagenerations.right(told))
      answer.writeHead(status, { ...headers, 'content-length': Buffer.byteLength(body) })
      answer.end(body)
    }
  }
  async function isSigned({ headers }: IncomingMessage, key: KeyObject): Promise<boolean> {
    const [, token] = /^Bearer (.+)$/.exec(headers.authorization ?? '') ?? []
    if (token === undefined) return false
    return jwtVerify(token, key, { issuer: clientEmail, subject: clientEmail }).then(
      ({ payload, protectedHeader }) =>
        protectedHeader.kid === privateKeyId &&
        String(payload['scope'])
          .split(' ')
          .includes('https://www.googleapis.com/auth/devstorage.read_write') &&
        (payload.exp ?? 0) - (payload.iat ?? 0) <= 3_600,
      () => false,
    )
  }
  async function ask(path: string) {
    const response = await fetch(`http://127.0.0.1:${port}${path}`)
    return { status: response.status, json: (await response.json()) as Record<string, unknown> }
  }
  /** All of it, in the pages that the service would make of it. */
  async function list(url: URL, answer: ServerResponse): Promise<void> {
    const [maxResults, token] = ['maxResults', 'pageToken'].map((name) => url.searchParams.get(name))
    for (const name of ['maxResults', 'pageToken']) url.searchParams.delete(name)
    const { status, json } = await ask(`${url.pathname}${url.search}`)
    if (status !== 200) return refuse(answer, status, 'notFound', 'The specified bucket does not exist.')
    const items = ((json['items'] ?? []) as ({ readonly name: string } & Told)[]).map((item) =>
      metagenerations.right(item),
    )
    const prefixes = (json['prefixes'] ?? []) as string[]
    const names = [...new Set([...items.map(({ name }) => name), ...prefixes])]
    const after = token === null || token === undefined ? '' : Buffer.from(token, 'base64url').toString()
    const from = names.filter((name) => token === null || compare(name, after) > 0).toSorted(compare)
    const page = new Set(from.slice(0, Number(maxResults ?? 1_000)))
    const last = [...page].at(-1)
    const body = JSON.stringify({
      kind: 'storage#objects',
      items: items.filter(({ name }) => page.has(name)),
      prefixes: prefixes.filter((name) => page.has(name)),
      ...(page.size < from.length && { nextPageToken: Buffer.from(last ?? '').toString('base64url') }),
    })
    answer.writeHead(200, { 'content-type': 'application/json', 'x-guploader-uploadid': 'of-tests' })
    answer.end(body)
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      agent.destroy()
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** An object, as far as it matters here. */
interface Told {
  readonly generation?: string
}

/** How often the metadata of each object were set: the server behind says 1 whatever happens. */
class Metagenerations {
  readonly #counts = new Map<string, number>()

  /** Whether nothing was changed, so that the server is right. */
  get areFirst(): boolean {
    return this.#counts.size === 0
  }

  of(generation = ''): string {
    return String(this.#counts.get(generation) ?? 1)
  }

  changed(generation = ''): void {
    this.#counts.set(generation, Number(this.of(generation)) + 1)
  }

  right<T extends Told>(told: T): T {
    return told.generation === undefined ? told : { ...told, metageneration: this.of(told.generation) }
  }
}

const compare = (one: string, other: string) => Buffer.compare(Buffer.from(one), Buffer.from(other))

function refuse(answer: ServerResponse, code: number, reason: string, message: string): void {
  answer.writeHead(code, { 'content-type': 'application/json', 'x-guploader-uploadid': 'of-tests' })
  answer.end(JSON.stringify({ error: { code, message, errors: [{ domain: 'global', reason, message }] } }))
}
