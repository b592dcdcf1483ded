import { expect, test } from 'vitest'
import { createBounds } from '../../../services/drivers/contract/bounds.ts'
import { holds } from '../../../services/drivers/contract/location.ts'
import { openDriver } from '../../../services/drivers/index.ts'
import type { FilesystemSpec } from '../../../subjects/filesystems/kinds.ts'
import { freePort } from '../../support/platform.ts'

const root = Buffer.alloc(0)
const sharedKey = Buffer.from('a key').toString('base64')

/** A store of each kind that is at an endpoint. */
const kinds = {
  s3a: (host: string, isPlain = true): FilesystemSpec => ({
    kind: 's3a',
    options: {
      bucketName: 'data',
      endpoint: `http${isPlain ? '' : 's'}://${host}`,
      accessKey: 'key',
      secretKey: 'secret',
    },
  }),
  'adls2-shared-key': (host: string, isPlain = true): FilesystemSpec => ({
    kind: 'adls2-shared-key',
    options: { containerName: 'data', accountName: 'lake', sharedKey, endpoint: host, insecure: isPlain },
  }),
} as const
const all = Object.entries(kinds)

async function areSame(one: FilesystemSpec, other: FilesystemSpec): Promise<boolean> {
  const drivers = [await openDriver(one, 'source'), await openDriver(other, 'target')] as const
  const is = holds(drivers[0].locate(root), drivers[1].locate(root))
  for (const driver of drivers) await driver.close()
  return is
}

test.each(all)(
  'two services of one host are two stores, and one is however it is named: %s',
  async (_, at) => {
    expect(await areSame(at('127.0.0.1:9000'), at('127.0.0.1:9001'))).toBe(false)
    expect(await areSame(at('127.0.0.1:9000'), at('127.0.0.1:9000'))).toBe(true)
    expect(await areSame(at('store.example:80'), at('store.example', false))).toBe(true)
  },
)

test('an account of Azure is one store at all of its addresses', async () => {
  const at = kinds['adls2-shared-key']
  const zone = at('lake.z12.dfs.storage.azure.net:8443')
  expect(await areSame(at('dfs.core.windows.net'), at('lake.blob.core.windows.net', false))).toBe(true)
  expect(await areSame(zone, at('lake.z12.blob.storage.azure.net'))).toBe(true)
})

test.each(all)(
  'where nothing listens, the setting is blamed only as long as it may be to blame: %s',
  async (_, at) => {
    const saidOf = async (host: string) => {
      const bounds = createBounds([], { roots: undefined, hosts: ['127.0.0.1'] })
      const driver = await openDriver(at(host), 'source', bounds)
      const said = await driver.probe(new AbortController().signal).catch((error: Error) => error.message)
      await driver.close()
      return said
    }
    expect(await saidOf('nothing.invalid')).toMatch(/can be reached; check endpoint.*storeHosts/)
    const said = await saidOf(`127.0.0.1:${await freePort()}`)
    expect(said).toMatch(/can be reached; check endpoint/)
    expect(said).not.toContain('storeHosts')
  },
)

test('an endpoint of Azure that cannot be reached is told of the option for one without TLS', async () => {
  const driver = await openDriver(kinds['adls2-shared-key'](`127.0.0.1:${await freePort()}`, false), 'source')
  await expect(driver.probe(new AbortController().signal)).rejects.toThrow('needs insecure')
  await driver.close()
})
