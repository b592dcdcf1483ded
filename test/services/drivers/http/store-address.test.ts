import { expect, test } from 'vitest'
import { promisify } from 'node:util'
import { allow, createBounds } from '../../../../services/drivers/contract/bounds.ts'
import { openDriver } from '../../../../services/drivers/index.ts'
import { StoreAddress } from '../../../../services/drivers/http/store-address.ts'

const addressOf = (host: string, hosts: readonly string[] | undefined, port = 443) =>
  new StoreAddress({ host, port }, createBounds([], { roots: undefined, hosts }))

/** How a name is resolved for a connection. */
const lookedUp = (address: StoreAddress, name: string) => promisify(address.lookup)(name, { family: 4 })

test.each([
  ['127.0.0.1', []],
  ['localhost', []],
  ['10.1.2.3', ['10.1.2.3:80', '10.2.0.0/16', 'store.inner']],
  ['::1', ['127.0.0.1']],
  ['::1%lo', []],
])('%s is refused with %j', (host, hosts) => {
  expect(() => addressOf(host, hosts, 8443).require()).toThrow(
    /to the setting storeHosts with "gantry settings put --store-hosts …".*if that is intended/,
  )
})

test.each([
  ['127.0.0.1', ['127.0.0.1']],
  ['10.1.2.3', ['10.1.0.0/16']],
  ['10.1.2.3', ['10.1.2.3:8443']],
  ['fd00::5', ['fd00::/8']],
  ['fd00::5', ['[fd00::5]:8443']],
  ['::ffff:10.1.2.3', ['10.1.0.0/16']],
  ['1.1.1.1', []],
  ['127.0.0.1', undefined],
])('%s is taken with %j', (host, hosts) => {
  addressOf(host, hosts, 8443).require()
})

test.each([
  '169.254.169.254',
  'fe80::1',
  'fd00:ec2::254',
  'fd20:ce::254',
  '::ffff:169.254.169.254',
  '100.100.100.200',
  '168.63.129.16',
])('%s, where clouds keep credentials, is refused whatever is allowed', async (host) => {
  for (const hosts of [[host], ['0.0.0.0/0', '::/0'], undefined])
    expect(() => addressOf(host, hosts).require()).toThrow(/clouds keep the credentials of machines there/)
  const lookedUpAt = lookedUp(addressOf('store.example', ['store.example', '0.0.0.0/0', '::/0']), host)
  await expect(lookedUpAt).rejects.toThrow()
})

test('a host with the port of HTTP is that port alone', () => {
  addressOf('10.1.2.3', ['10.1.2.3:80'], 80).require()
  addressOf('fd00::5', ['[fd00::5]:80'], 80).require()
  expect(() => addressOf('fd00::5', ['[fd00::5]:80']).require()).toThrow('storeHosts')
})

test('a name is judged by the addresses that it leads to, at each connection', async () => {
  const name = 'localhost'
  await expect(lookedUp(addressOf('store.example', []), name)).rejects.toThrow('a private network')
  expect(await lookedUp(addressOf('store.example', ['127.0.0.0/8']), name)).toBe('127.0.0.1')
  expect(await lookedUp(addressOf(name, [name]), name)).toBe('127.0.0.1')
})

test('a driver that is kept open is told of what is allowed by now', async () => {
  const bounds = createBounds([], { roots: undefined, hosts: ['127.0.0.1'] })
  const options = { accountName: 'lake', sharedKey: 'a2V5', containerName: 'data', endpoint: '127.0.0.1' }
  const driver = await openDriver({ kind: 'adls2-shared-key', options }, 'target', bounds)
  driver.requirePlace?.()
  allow(bounds, { roots: undefined, hosts: [] })
  expect(() => driver.requirePlace?.()).toThrow('endpoint 127.0.0.1 is an address on this host')
  await driver.close()
})
