import { execFileSync } from 'node:child_process'
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, expect } from 'vitest'
import { settings } from '../../subjects/access/settings.ts'
import { type FilesystemKind, filesystemKinds } from '../../subjects/filesystems/kinds.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { makeCertificates, noCertificates } from '../support/certificates.ts'
import { recordingLog } from '../support/log.ts'
import { listenOnLoopback } from '../support/loopback.ts'
import { addLocal, createFolder } from '../support/migrations.ts'
import { namesBelow } from '../support/names-below.ts'
import { startTestPlatform, type TestPlatform } from '../support/platform.ts'
import { testUnless } from '../support/unless.ts'

/** Where secrets of stores go: into no reply, event, log line, metric, file of the platform or list of processes. */

const logged = recordingLog()
const folder = createFolder('to', 'made')
const events: string[] = []
let platform: TestPlatform
let store: Awaited<ReturnType<typeof listenOnLoopback>>
beforeAll(async () => {
  if (noCertificates !== undefined) return
  store = await listenOnLoopback(createServer(answerAsStoreDouble))
  platform = await startTestPlatform({ log: logged.log })
  platform.operator.subscribe('gantry.events.>', {
    callback: (_, message) => void events.push(message.string()),
  })
  await platform.call(settings.put, { storeHosts: [`127.0.0.1:${store.port}`] })
  await addLocal(platform, 'to', 'target', folder.to)
})
afterAll(async () => {
  await platform?.[Symbol.asyncDispose]()
  await store?.[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})

/** Stands for stores of several kinds that let everybody in and have nothing. */
function answerAsStoreDouble({ url = '' }: IncomingMessage, response: ServerResponse): void {
  const [type, body] = url.startsWith('/token')
    ? ['application/json', '{"access_token":"t","expires_in":3600}']
    : url.includes('list-type')
      ? ['application/xml', '<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>']
      : ['application/xml', '<EnumerationResults><Blobs /><NextMarker /></EnumerationResults>']
  const ids = { 'x-ms-request-id': '1', 'x-ms-version': '1', 'x-amz-request-id': '1', etag: '"1"' }
  response.writeHead(200, { ...ids, 'content-type': type, 'last-modified': new Date(0).toUTCString() })
  response.end(body)
}

/** A text that is nowhere else. */
const marker = () => `m${randomBytes(20).toString('hex')}`
const base64 = (bytes: number) => randomBytes(bytes).toString('base64')

function privateKey(password?: string): string {
  const pair = generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey
  const lock = password === undefined ? {} : { cipher: 'aes-256-cbc', passphrase: password }
  return pair.export({ type: 'pkcs8', format: 'pem', ...lock }).toString()
}

/** Keys as people have them in files. */
function keyFiles() {
  mkdirSync(folder.made, { recursive: true })
  const { certificate, key } = makeCertificates(folder.made)
  const [locked, p12] = [join(folder.made, 'locked.pem'), join(folder.made, 'key.p12')]
  const password = marker()
  writeFileSync(locked, privateKey(password))
  const self = [
    'req',
    '-x509',
    '-key',
    locked,
    '-passin',
    `pass:${password}`,
    '-subj',
    '/CN=mover',
    '-days',
    '2',
  ]
  const pem = execFileSync('openssl', self, { encoding: 'utf8', stdio: 'pipe' })
  const pack = [
    'pkcs12',
    '-export',
    '-in',
    certificate,
    '-inkey',
    key,
    '-passout',
    'pass:notasecret',
    '-out',
    p12,
  ]
  execFileSync('openssl', pack)
  return {
    password,
    certificate: `${readFileSync(locked, 'utf8')}${pem}`,
    p12: readFileSync(p12).toString('base64'),
  }
}

/** Version 2, and one key of AES 256 of a principal. */
function keytab(): string {
  const uint16 = (value: number) => Buffer.from([value >> 8, value & 255])
  const text = (value: string) => Buffer.concat([uint16(value.length), Buffer.from(value)])
  const names = [uint16(1), text('EXAMPLE.COM'), text('mover'), Buffer.from([0, 0, 0, 1, 0, 0, 0, 0, 1])]
  const entry = Buffer.concat([...names, uint16(18), uint16(32), randomBytes(32)])
  const length = Buffer.alloc(4)
  length.writeUInt32BE(entry.length)
  return Buffer.concat([Buffer.from([5, 2]), length, entry]).toString('base64')
}

type Options = Readonly<Record<string, unknown>>

/** Options of each kind, so that each secret is in one at least; whether the double lets it be made. */
function samples(): readonly [kind: FilesystemKind, options: Options, isMade: boolean][] {
  const here = `127.0.0.1:${store.port}`
  const azure = { accountName: 'lake', containerName: 'data', endpoint: here, insecure: true }
  const flat = { additionalProperties: { 'fs.azure.account.hns.enabled': 'false' } }
  const oauth = { ...azure, ...flat, oauthClientId: 'mover', oauthClientEndpoint: `http://${here}/token` }
  const s3 = { bucketName: 'data', endpoint: `http://${here}`, accessKey: 'visible' }
  const gcs = { bucketName: 'data', endpoint: `http://${here}` }
  const clientEmail = 'mover@example.com'
  const { password, certificate, p12 } = keyFiles()
  return [
    ['adls2-shared-key', { ...azure, ...flat, sharedKey: base64(64) }, true],
    ['adls2-oauth2', { ...oauth, oauthClientSecret: marker() }, true],
    [
      'adls2-oauth2',
      { ...oauth, oauthClientCertificate: certificate, oauthClientCertificatePassword: password },
      true,
    ],
    [
      'adls2-sas',
      { ...azure, ...flat, sasToken: `sv=2021-12-02&ss=b&srt=co&sp=rl&se=2099-01-01&sig=${marker()}` },
      true,
    ],
    ['s3a', { ...s3, secretKey: marker() }, true],
    // What is sent goes over TLS alone, which the double does not have.
    ['s3a', { ...s3, secretKey: marker(), sessionToken: marker(), customerKey: base64(32) }, false],
    [
      's3a',
      {
        ...s3,
        secretKey: marker(),
        bootstrapServers: here,
        topic: 'changes',
        kafkaUser: 'u',
        kafkaPassword: marker(),
      },
      true,
    ],
    ['hdfs', { defaultFS: `webhdfs://${here}`, kerberosPrincipal: 'mover', kerberosKeytab: keytab() }, false],
    ['gcs', { ...gcs, privateKey: privateKey(), clientEmail, customerKey: base64(32) }, false],
    [
      'gcs',
      { ...gcs, jsonKey: JSON.stringify({ private_key: privateKey(), client_email: clientEmail }) },
      false,
    ],
    ['gcs', { ...gcs, p12Key: p12, clientEmail }, false],
  ]
}

/** What of a secret gives it away: a stretch of its text, and of the bytes that base64 stands for. */
function tracesOf(secret: string): Buffer[] {
  const text = /sig=(.*)/.exec(secret)?.[1] ?? secret.replaceAll(/-----[^-]+-----|\\n|\s/g, '')
  const middle = (all: Buffer, length: number) => {
    const from = Math.max(0, Math.floor((all.length - length) / 2))
    return all.subarray(from, from + length)
  }
  return [middle(Buffer.from(text), 32), middle(Buffer.from(text, 'base64'), 16)]
}

/** Names of the secrets that are in some bytes. */
const foundIn = (bytes: Buffer | string, secrets: ReadonlyMap<string, readonly Buffer[]>): string[] => {
  const all = Buffer.from(bytes)
  return [...secrets]
    .filter(([, traces]) => traces.some((trace) => all.includes(trace)))
    .map(([name]) => name)
}

testUnless(
  noCertificates,
  'secrets of stores are nowhere to be seen, whatever is asked and whatever fails',
  async () => {
    const all = samples()
    const secrets = new Map<string, Buffer[]>()
    for (const [kind, options] of all)
      for (const name of filesystemKinds[kind].secrets) {
        const value = options[name]
        const key = `${kind} ${name}`
        if (typeof value === 'string') secrets.set(key, [...(secrets.get(key) ?? []), ...tracesOf(value)])
      }
    const known = Object.entries(filesystemKinds).flatMap(([kind, its]) =>
      its.secrets.map((name) => `${kind} ${name}`),
    )
    expect([...secrets.keys()].toSorted()).toEqual(known.toSorted())

    const replies: string[] = []
    const ask = async (server: 'platform' | 'migrator', method: string, path: string, body?: object) => {
      const authorization = `Bearer ${platform.operatorToken}`
      const answer = await fetch(`${platform.httpUrls[server]}${path}`, {
        method,
        headers: { authorization, ...(body && { 'content-type': 'application/json' }) },
        ...(body && { body: JSON.stringify(body) }),
      })
      replies.push(`${method} ${path} ${JSON.stringify([...answer.headers])} ${await answer.text()}`)
      return answer.status
    }
    for (const [index, [kind, options, isMade]] of all.entries()) {
      const { path } = filesystemKinds[kind]
      const id = `${kind}-${index}`
      const status = await ask('platform', 'POST', `/api/v1/filesystems/${path}`, {
        fileSystemId: id,
        role: 'source',
        ...options,
      })
      expect(status === 201, `${id}: ${replies.at(-1)}`).toBe(isMade)
      const { kerberosKeytab, ...others } = options
      const wire = { ...others, ...(kerberosKeytab !== undefined && { kerberosKeyTab: kerberosKeytab }) }
      await ask('migrator', isMade ? 'PATCH' : 'POST', `/fs/sources/${path}/${id}`, wire)
      // Each of another value than it may have.
      for (const name of filesystemKinds[kind].secrets)
        if (typeof options[name] === 'string')
          await ask('platform', 'PATCH', `/api/v1/filesystems/${path}/${id}`, {
            [name]: `${options[name]} and more\u0000`,
          })
      await ask('platform', 'POST', '/api/v1/filesystems/check', { kind, role: 'source', options })
      await ask('migrator', 'GET', `/fs/sources/${id}?verbose=true`)
      await ask('migrator', 'GET', `/fs/health/${id}`)
      await ask('platform', 'GET', `/api/v1/filesystems/${id}?verbose=true`)
      if (!isMade) continue
      // Jobs go to threads and agents with all that opens the store.
      await platform.call(migrations.create, {
        migrationId: id,
        source: id,
        target: 'to',
        path: '/',
        autoStart: true,
      })
      for (const of of ['', '/progress', '/failures'])
        await ask('platform', 'GET', `/api/v1/migrations/${id}${of}`)
    }
    for (const path of ['/fs/sources?verbose=true', '/fs/health', '/migrations', '/config'])
      await ask('migrator', 'GET', path)
    for (const path of [
      '/api/v1/filesystems?verbose=true',
      '/api/v1/audit',
      '/api/v1/migrations',
      '/metrics',
    ])
      await ask('platform', 'GET', path)

    for (const reply of replies) expect(foundIn(reply, secrets), reply.slice(0, 300)).toEqual([])
    for (const event of events) expect(foundIn(event, secrets), event).toEqual([])
    expect(foundIn(logged.text(), secrets)).toEqual([])
    for (const name of namesBelow(platform.home)) {
      const path = join(platform.home, name)
      if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) continue
      expect(foundIn(readFileSync(path), secrets), name).toEqual([])
    }
    const lines = processLines()
    // The broker is one of them.
    expect(lines.some((line) => line.includes('nats-server'))).toBe(true)
    for (const line of lines) expect(foundIn(line, secrets), line.toString()).toEqual([])
  },
)

/** What each process of this machine was started with, and its environment where that may be read. */
function processLines(): Buffer[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.flatMap((pid) =>
    ['cmdline', 'environ'].flatMap((name) => {
      try {
        return [readFileSync(join('/proc', pid, name))]
      } catch {
        // It has ended, or is somebody else's.
        return []
      }
    }),
  )
}
