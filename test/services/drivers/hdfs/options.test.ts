import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { holds } from '../../../../services/drivers/contract/location.ts'
import { clusterAddress } from '../../../../services/drivers/hdfs/address.ts'
import { HdfsDriver } from '../../../../services/drivers/hdfs/hdfs.ts'
import { readProperties } from '../../../../services/drivers/contract/properties.ts'
import {
  hdfsIneffectiveProperties,
  hdfsProperties,
} from '../../../../subjects/filesystems/hdfs-properties.ts'
import type { FilesystemOptions } from '../../../../subjects/filesystems/kinds.ts'

const addressesOf = (options: FilesystemOptions<'hdfs'>) => {
  const property = readProperties(hdfsProperties, options.additionalProperties, () => true)
  return clusterAddress(options, property).nameNodes.map(
    ({ secure, host, port }) => `${secure ? 'https' : 'http'}://${host}:${port}`,
  )
}

const pair = {
  'dfs.ha.namenodes.lake': 'nn1, nn2',
  'dfs.namenode.http-address.lake.nn1': 'one.example:9870',
  'dfs.namenode.http-address.lake.nn2': 'two.example:50070',
}

test.each([
  ['hdfs://one.example', {}, ['http://one.example:9870']],
  // The port is that of the RPC.
  ['hdfs://one.example:8020/', {}, ['http://one.example:9870']],
  ['hdfs://one.example:8020', { 'dfs.http.policy': 'HTTPS_ONLY' }, ['https://one.example:9871']],
  [
    'hdfs://one.example:8020',
    { 'dfs.namenode.http-address': 'web.example:50070' },
    ['http://web.example:50070'],
  ],
  ['hdfs://one.example:8020', { 'dfs.namenode.http-address': '0.0.0.0:9870' }, ['http://one.example:9870']],
  ['webhdfs://one.example:14000', {}, ['http://one.example:14000']],
  ['swebhdfs://one.example:14000', {}, ['https://one.example:14000']],
  ['hdfs://lake', pair, ['http://one.example:9870', 'http://two.example:50070']],
])('%s with %j is at %j', (defaultFS, additionalProperties, addresses) => {
  expect(addressesOf({ defaultFS, additionalProperties })).toEqual(addresses)
})

const isOneFilesystem = async (...named: readonly (readonly [string, Record<string, string>])[]) => {
  const [one, other] = named.map(
    ([defaultFS, additionalProperties]) => new HdfsDriver({ defaultFS, additionalProperties }),
  ) as [HdfsDriver, HdfsDriver]
  const root = Buffer.from('')
  const is = holds(one.locate(root), other.locate(root))
  await Promise.all([one.close(), other.close()])
  return is
}

const overTls = { 'dfs.http.policy': 'HTTPS_ONLY' }
test.each([
  ['hdfs://one.example:8020', {}],
  ['hdfs://One.Example', {}],
  ['webhdfs://one.example', {}],
  ['webhdfs://one.example:9870', {}],
  ['swebhdfs://one.example:9871', {}],
  ['hdfs://one.example', overTls],
  ['hdfs://one.example', { 'dfs.namenode.http-address': '0.0.0.0:9870' }],
  ['hdfs://one.example', { 'dfs.namenode.http-address': 'web.example:9870' }],
])('%s with %j is the cluster of hdfs://one.example', async (defaultFS, properties) => {
  expect(await isOneFilesystem(['hdfs://one.example', {}], [defaultFS, properties])).toBe(true)
})

const webAt = (port: number) => ({ 'dfs.namenode.http-address': `one.example:${port}` })
test.each([
  [['hdfs://one.example:9000', webAt(9880)], ['hdfs://one.example:9001', webAt(9890)], false],
  [['hdfs://one.example', {}], ['hdfs://one.example:9001', webAt(9890)], false],
  [['hdfs://one.example', webAt(9890)], ['webhdfs://one.example:9890', {}], true],
  [
    ['hdfs://one.example', webAt(50_070)],
    ['hdfs://one.example', { ...overTls, 'dfs.namenode.https-address': 'one.example:50470' }],
    true,
  ],
  [['hdfs://lake', pair], ['hdfs://lake', pair], true],
  [['hdfs://lake', pair], ['hdfs://one.example', {}], false],
] as const)('that %j and %j are one cluster is %j', async (one, other, is) => {
  expect(await isOneFilesystem(one, other)).toBe(is)
})

const opening =
  (additionalProperties: Record<string, string>, defaultFS = 'hdfs://one.example') =>
  () =>
    new HdfsDriver({ defaultFS, additionalProperties })

test.each([
  [{ 'dfs.ha.namenodes.lake': 'nn1' }, /http-address\.lake\.nn1 is missing/],
  [{ ...pair, 'dfs.namenode.http-address.lake.nn2': 'two.example:99999' }, /must be a host and a port/],
  [{ 'dfs.ha.namenodes.lake': ' , ' }, /names no name node/],
  [{ 'dfs.namenode.http-address': 'no port' }, /must be a host and a port/],
  [{ 'dfs.blocksize': '1' }, /dfs\.blocksize must be .* from 1048576/],
  [{ 'dfs.client.use.everything': 'x' }, /dfs\.client\.use\.everything is not honoured/],
])('%j is refused', (properties, message) => {
  expect(opening(properties, 'hdfs://lake')).toThrow(message)
})

test('what people have in their configuration and has no effect is taken', async () => {
  for (const name of hdfsIneffectiveProperties) await opening({ [name]: 'x' })().close()
})

test('a file of 5 TB and one of a PB have no more blocks than a cluster takes, and parts of whole blocks', async () => {
  const driver = opening({})()
  for (const sizeBytes of [1, 2 ** 34, 5e12, 2 ** 50]) {
    const partBytes = driver.capabilities.parts.sizeFor(sizeBytes)
    expect(Math.ceil(sizeBytes / partBytes)).toBeLessThan(10_000)
    expect(partBytes % 512).toBe(0)
    expect(driver.refuses(Buffer.from('big'), { type: 'file', sizeBytes })).toBeUndefined()
  }
  await driver.close()
})

test.each([
  ['a:b', /colon/],
  ['folder/.snapshot', /\.snapshot/],
  ['.reserved/raw', /\.reserved/],
  ['x'.repeat(256), /256 bytes, the limit of the cluster is 255/],
  [Buffer.from([0xff]), /not UTF-8/],
  ['x/'.repeat(1_000) + 'x', /1001 segments/],
])('the name %s is refused', async (name, message) => {
  const driver = opening({})()
  expect(driver.refuses(Buffer.from(name as string), { type: 'file', sizeBytes: 1 })).toMatch(message)
  await driver.close()
})

test('the documentation has each property', () => {
  const text = readFileSync(new URL('../../../../docs/HDFS.md', import.meta.url), 'utf8')
  for (const name of [...Object.keys(hdfsProperties), ...hdfsIneffectiveProperties])
    expect(text).toContain(`\`${name}\``)
})

const noCertificate = '-----BEGIN CERTIFICATE-----\nc2VjcmV0\n-----END CERTIFICATE-----'
const keytab = Buffer.from([5, 2, 0]).toString('base64')
test.each([
  [{ kerberosPrincipal: 'mover' }, /kerberosKeytab is missing/],
  [{ kerberosKeytab: keytab }, /kerberosPrincipal is missing/],
  [{ kerberosPrincipal: 'mover', kerberosKeytab: keytab, user: 'hdfs' }, /user is given besides/],
  [{ kerberosPrincipal: 'mover', kerberosKeytab: 'c2VjcmV0' }, /kerberosKeytab is no keytab/],
  [{ caCertificate: 'text' }, /caCertificate is given, and nothing goes over TLS/],
  [{ caCertificate: 'text', defaultFS: 'swebhdfs://one.example' }, /caCertificate has no certificate/],
  [{ caCertificate: noCertificate, defaultFS: 'swebhdfs://one.example' }, /cannot be read: give it as PEM/],
])('%j is refused', (options, message) => {
  expect(() => new HdfsDriver({ defaultFS: 'hdfs://one.example', ...options })).toThrow(message)
})
