import { execFile, execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import {
  AccountSASPermissions,
  AccountSASResourceTypes,
  AccountSASServices,
  generateAccountSASQueryParameters,
  StorageSharedKeyCredential,
} from '@azure/storage-blob'
import { afterAll, beforeAll, expect } from 'vitest'
import type { FilesystemSpec } from '../../../subjects/filesystems/kinds.ts'
import { contentOf } from '../../conformance/driver-store.ts'
import { sharedAzurite } from '../../support/azurite.ts'
import { startGcsServer } from '../../support/gcs-server.ts'
import { noGcs } from '../../support/gcs.ts'
import { noHdfs, startHdfs } from '../../support/hdfs.ts'
import { createFolder } from '../../support/migrations.ts'
import { openStore } from '../../support/stores.ts'
import { testUnless } from '../../support/unless.ts'
import { noS3, startS3 } from '../../support/versitygw.ts'

/** rclone is the judge of what we write, and writes what we read. */
const run = promisify(execFile)
const noRclone = (() => {
  try {
    execFileSync('rclone', ['version'], { stdio: 'ignore' })
    return undefined
  } catch {
    return 'there is no rclone (Debian: rclone)'
  }
})()

interface Place {
  readonly spec: FilesystemSpec
  /** The same place for rclone. */
  readonly remote: string
  /** Of times that rclone lists and sets there. */
  readonly precisionMs?: number
}

/** As rclone lists a time, or sets it. */
const toldMs = (ms: number, { precisionMs = 1 }: Place): number => Math.floor(ms / precisionMs) * precisionMs

/** Longer than the tests. */
const sasMs = 3_600_000

const started = new AsyncDisposableStack()

async function openS3(): Promise<Place> {
  const s3 = started.use(await startS3())
  s3.createBucket('rclone')
  const login = `access_key_id='${s3.accessKey}',secret_access_key='${s3.secretKey}'`
  return {
    spec: { kind: 's3a', options: s3.options('rclone') },
    remote: `:s3,provider=Other,${login},endpoint='${s3.endpoint}',force_path_style=true:rclone`,
  }
}

async function openGcs(): Promise<Place> {
  const gcs = started.use(await startGcsServer(process.env['FAKE_GCS_SERVER']!, { isOpen: true }))
  await gcs.createBucket('rclone')
  return {
    spec: { kind: 'gcs', options: gcs.options('rclone') },
    remote: `:gcs,anonymous=true,endpoint='${gcs.endpoint}/storage/v1/':rclone`,
  }
}

async function openAzure(): Promise<Place> {
  const { account, key, endpoint, ...azurite } = await sharedAzurite()
  await azurite.createContainer('rclone')
  const sas = generateAccountSASQueryParameters(
    {
      services: AccountSASServices.parse('b').toString(),
      resourceTypes: AccountSASResourceTypes.parse('sco').toString(),
      permissions: AccountSASPermissions.parse('rwdlac'),
      expiresOn: new Date(Date.now() + sasMs),
    },
    new StorageSharedKeyCredential(account, key),
  )
  return {
    spec: {
      kind: 'adls2-shared-key',
      options: { accountName: account, sharedKey: key, endpoint, insecure: true, containerName: 'rclone' },
    },
    // With the key it insists on a host name that begins with the account's.
    remote: `:azureblob,sas_url='http://${endpoint}/${account}?${sas.toString()}':rclone`,
  }
}

async function openHdfs(): Promise<Place> {
  const cluster = started.use(await startHdfs())
  const { host } = new URL((await cluster.ask('address')).trim())
  const options = cluster.options()
  return {
    spec: { kind: 'hdfs', options },
    // Its own protocol, which is not the one that we speak; it lists and sets times to the second.
    remote: `:hdfs,namenode='${host}',username='${options.user}':`,
    precisionMs: 1_000,
  }
}

const stores = {
  s3a: { missing: noS3, open: openS3 },
  gcs: { missing: noGcs, open: openGcs },
  'adls2-shared-key': { missing: undefined, open: openAzure },
  hdfs: { missing: noHdfs, open: openHdfs },
} as const
type Name = keyof typeof stores
const names = Object.keys(stores) as Name[]
const places: Partial<Record<Name, Place>> = {}
beforeAll(async () => {
  if (noRclone !== undefined) return
  for (const name of names) if (stores[name].missing === undefined) places[name] = await stores[name].open()
}, 120_000)
afterAll(() => started.disposeAsync())

const rclone = (...args: string[]) =>
  run('rclone', ['--config', '/dev/null', '--s3-no-check-bucket', '--gcs-no-check-bucket', ...args], {
    // Certificates of the host are nothing to a server without TLS, and rclone cannot load them so.
    env: { ...process.env, AWS_CA_BUNDLE: '' },
  })

/** Names with what one protocol or another would have to encode, and times to the millisecond. */
const files = [
  ['plain', 'content', 1_700_000_000_123],
  ['empty', '', 1_500_000_000_001],
  ['folder/deep/ünï "code" 100% #1+2', 'odd', 1_600_000_000_999],
] as const

for (const name of names) {
  const missing = noRclone ?? stores[name].missing
  testUnless(missing, `${name}: rclone reads what we write, with its time and digest`, async () => {
    const place = places[name]!
    const { spec, remote } = place
    await using driver = await openStore(spec, 'target')
    for (const folder of ['ours', 'ours/folder', 'ours/folder/deep'])
      await driver.makeFolder(Buffer.from(folder), {})
    for (const [path, content, modifiedMs] of files)
      await driver.put(Buffer.from(`ours/${path}`), Buffer.from(content), { modifiedMs })
    const { stdout } = await rclone('lsjson', '--recursive', '--files-only', `${remote}/ours`)
    const listed = JSON.parse(stdout) as { Path: string; Size: number; ModTime: string }[]
    const seen = listed.map(({ Path, Size, ModTime }) => [Path, [Size, Date.parse(ModTime)]])
    expect(Object.fromEntries(seen)).toEqual(
      Object.fromEntries(
        files.map(([path, content, modifiedMs]) => [path, [content.length, toldMs(modifiedMs, place)]]),
      ),
    )
    using folder = createFolder('down')
    await rclone('copy', '--checksum', `${remote}/ours`, folder.down)
    for (const [path, content, modifiedMs] of files) {
      expect(readFileSync(join(folder.down, path), 'utf8')).toBe(content)
      expect(Math.round(statSync(join(folder.down, path)).mtimeMs)).toBe(modifiedMs)
    }
    // Every digest that it knows of what is there is that of the files.
    await rclone('check', folder.down, `${remote}/ours`)
  })

  testUnless(missing, `${name}: what rclone writes we read, with its time`, async () => {
    const place = places[name]!
    const { spec, remote } = place
    using folder = createFolder('up')
    for (const [path, content, modifiedMs] of files) {
      const file = join(folder.up, path)
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, content)
      utimesSync(file, modifiedMs / 1_000, modifiedMs / 1_000)
    }
    await rclone('copy', folder.up, `${remote}/theirs`)
    await using driver = await openStore(spec, 'source')
    for (const [path, content, modifiedMs] of files) {
      const at = Buffer.from(`theirs/${path}`)
      expect((await contentOf(driver, at)).toString()).toBe(content)
      const { modifiedMs: seenMs, sizeBytes } = (await driver.stat(at))!
      expect([Math.round(seenMs!), sizeBytes]).toEqual([toldMs(modifiedMs, place), content.length])
    }
  })
}
