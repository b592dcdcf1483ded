import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDriver } from '../../services/drivers/index.ts'
import type { Driver, Side } from '../../services/drivers/index.ts'
import { filesystems } from '../../subjects/filesystems/filesystems.ts'
import type { FilesystemSpec } from '../../subjects/filesystems/kinds.ts'
import { isGantryError } from '../../subjects/kit/errors.ts'
import { startAzurite } from './azurite.ts'
import { noGcs, startGcs } from './gcs.ts'
import { noHdfs, startHdfs } from './hdfs.ts'
import type { TestPlatform } from './platform.ts'
import { until } from './until.ts'
import { noS3, startS3 } from './versitygw.ts'

/** A server of the test's own with places for filesystems; gone with the scope. */
export interface Stores extends AsyncDisposable {
  /**
   * A filesystem in a new place with nothing in it; of HDFS the cluster, which is one place.
   * @param name letters and digits
   */
  create(name: string): Promise<FilesystemSpec>
  /** `host:port` of the server; not there where there is none. */
  readonly endpoint?: string
  /**
   * Ends the server in the middle of what it does, by kill -9 where it is one that keeps what it has answered for, and starts it
   * again where it was. Not there where it would have lost all.
   */
  restart?(): Promise<void>
}

/** By names for people. */
export const storeNames = ['local', 'adls2', 's3a', 'gcs', 'hdfs'] as const
export type StoreName = (typeof storeNames)[number]

/** Why there are no stores of a kind on this machine; undefined where there are. */
export const whyNo: Readonly<Record<StoreName, string | undefined>> = {
  local: undefined,
  adls2: undefined,
  s3a: noS3,
  gcs: noGcs,
  hdfs: noHdfs,
}

const MiB = 1024 * 1024

/** With parts as small as each kind has them, so that a file of a few MiB has several. */
const starts: Readonly<Record<StoreName, () => Promise<Stores>>> = {
  local: async () => {
    const root = mkdtempSync(join(tmpdir(), 'gantry-stores-'))
    return {
      create: async (name) => {
        const fsRoot = join(root, name)
        mkdirSync(fsRoot)
        return { kind: 'local', options: { fsRoot } }
      },
      [Symbol.asyncDispose]: async () => rmSync(root, { recursive: true, force: true }),
    }
  },
  adls2: async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gantry-azurite-'))
    let server = await startAzurite({ folder })
    const { account: accountName, key: sharedKey, endpoint } = server
    return {
      endpoint,
      // What it has answered for it writes to its files within some seconds.
      restart: async () => {
        await server.stop()
        server = await startAzurite({ folder, key: sharedKey, port: Number(endpoint.split(':')[1]) })
      },
      create: async (containerName) => {
        await server.createContainer(containerName)
        const additionalProperties = { 'fs.azure.write.request.size': String(MiB) }
        const options = {
          accountName,
          sharedKey,
          endpoint,
          insecure: true,
          containerName,
          additionalProperties,
        }
        return { kind: 'adls2-shared-key', options }
      },
      [Symbol.asyncDispose]: async () => {
        await server[Symbol.asyncDispose]()
        rmSync(folder, { recursive: true, force: true })
      },
    }
  },
  s3a: async () => {
    const server = await startS3()
    return {
      endpoint: new URL(server.endpoint).host,
      create: async (name) => {
        server.createBucket(name)
        return { kind: 's3a', options: server.options(name, { 'fs.s3a.multipart.size': String(5 * MiB) }) }
      },
      restart: async () => {
        await server.kill()
        await server.restart()
      },
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    }
  },
  gcs: async () => {
    const server = await startGcs()
    const properties = { 'fs.gs.outputstream.upload.chunk.size': String(MiB) }
    return {
      endpoint: new URL(server.endpoint).host,
      create: async (name) => {
        await server.createBucket(name)
        return { kind: 'gcs', options: server.options(name, properties) }
      },
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    }
  },
  hdfs: async () => {
    const cluster = await startHdfs()
    return {
      endpoint: cluster.nameNodes[0]!,
      create: async () => ({ kind: 'hdfs', options: cluster.options() }),
      restart: () => cluster.restart(),
      [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
    }
  },
}

export const startStores = (name: StoreName): Promise<Stores> => starts[name]()

/** All kinds that this machine has; gone with the scope. */
export async function startAllStores(): Promise<Partial<Record<StoreName, Stores>> & AsyncDisposable> {
  const there = storeNames.filter((name) => whyNo[name] === undefined)
  const started = await Promise.all(there.map(async (name) => [name, await startStores(name)] as const))
  const dispose = async () => {
    for (const [, stores] of started) await stores[Symbol.asyncDispose]()
  }
  return { ...Object.fromEntries(started), [Symbol.asyncDispose]: dispose }
}

/** A driver that is closed with its scope. */
export async function openStore(spec: FilesystemSpec, side: Side): Promise<Driver & AsyncDisposable> {
  const driver = await openDriver(spec, side)
  return Object.assign(driver, { [Symbol.asyncDispose]: () => driver.close() })
}

/**
 * Adds a filesystem to a platform. A server that has just started may be too slow for the first try, and an answer may be
 * lost with a process that is killed.
 */
export async function addStore(
  platform: Pick<TestPlatform, 'call'>,
  fileSystemId: string,
  role: Side,
  { kind, options }: FilesystemSpec,
): Promise<void> {
  await until(`${fileSystemId} is added`, async () => {
    try {
      return await platform.call(filesystems[`create-${kind}`], { fileSystemId, role, ...options })
    } catch (error) {
      if (!isGantryError(error)) throw error
      if (error.code === 'ALREADY_EXISTS') return true
      if (error.code !== 'STORE_UNREACHABLE') throw error
      return undefined
    }
  })
}

/** The same filesystem where its server is behind another address, `host:port`. */
export function behind(
  spec: FilesystemSpec,
  endpoint: string,
  properties: Readonly<Record<string, string>> = {},
): FilesystemSpec {
  const additionalProperties = { ...spec.options.additionalProperties, ...properties }
  switch (spec.kind) {
    case 'local':
      throw new Error('a folder has no server')
    case 'hdfs':
      return {
        kind: spec.kind,
        options: { ...spec.options, defaultFS: `webhdfs://${endpoint}`, additionalProperties },
      }
    case 'adls2-shared-key':
      return { kind: spec.kind, options: { ...spec.options, endpoint, additionalProperties } }
    case 'adls2-oauth2':
      return { kind: spec.kind, options: { ...spec.options, endpoint, additionalProperties } }
    case 'adls2-sas':
      return { kind: spec.kind, options: { ...spec.options, endpoint, additionalProperties } }
    case 's3a':
      return {
        kind: spec.kind,
        options: { ...spec.options, endpoint: `http://${endpoint}`, additionalProperties },
      }
    case 'gcs':
      return {
        kind: spec.kind,
        options: { ...spec.options, endpoint: `http://${endpoint}`, additionalProperties },
      }
  }
}
