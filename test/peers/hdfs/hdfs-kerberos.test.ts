import { afterAll, beforeAll, expect } from 'vitest'
import { driverConformance } from '../../conformance/driver.ts'
import { contentOf } from '../../conformance/driver-store.ts'
import { type HdfsCluster, noHdfs, openHdfs, startHdfs } from '../../support/hdfs.ts'
import { type Kdc, keytabText, noKdc, realm, startKdc } from '../../support/kdc.ts'
import { freePort } from '../../support/platform.ts'
import { testUnless } from '../../support/unless.ts'

/** Clusters that believe nobody without a ticket. */
const missing = noHdfs ?? noKdc
const kerberosTest = (name: string, work: () => Promise<void>): void =>
  testUnless(missing, name, work, 120_000)

let kdc: Kdc
let cluster: HdfsCluster
/** Tokens are to be renewed after two seconds, and end after five. */
const lifetimes = { 'renew-interval': '2000', 'max-lifetime': '5000' }
beforeAll(async () => {
  if (missing !== undefined) return
  kdc = await startKdc()
  cluster = await startHdfs(
    {
      ...Object.fromEntries(
        Object.entries(lifetimes).map(([name, ms]) => [`dfs.namenode.delegation.token.${name}`, ms]),
      ),
      'hadoop.proxyuser.hdfs.hosts': '*',
      'hadoop.proxyuser.hdfs.groups': '*',
    },
    kdc,
  )
})
afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]()
  await kdc?.[Symbol.asyncDispose]()
})

driverConformance(
  'hdfs with Kerberos',
  async () => ({ openDriver: () => openHdfs(cluster.options()), [Symbol.asyncDispose]: async () => {} }),
  missing,
  'a cluster always has its root',
)

/** What a failure says to people. */
const messageOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'nothing',
    (error: Error) => error.message,
  )

kerberosTest('a token is renewed before it ends, and got anew when it cannot be made longer', async () => {
  await using driver = openHdfs(cluster.options())
  const endsAt = performance.now() + 2 * Number(lifetimes['max-lifetime'])
  const content = Buffer.from('x')
  for (let index = 0; performance.now() < endsAt; index++) {
    const name = Buffer.from(`long-${index % 10}`)
    await driver.put(name, content, {})
    expect((await contentOf(driver, name)).equals(content)).toBe(true)
  }
})

kerberosTest('a token that the cluster has forgotten is got anew, for many requests at once', async () => {
  await using driver = openHdfs(cluster.options())
  await driver.put(Buffer.from('forgotten'), Buffer.from('x'), {})
  await cluster.ask('forget-tokens')
  const reading = Array.from({ length: 30 }, () => contentOf(driver, Buffer.from('forgotten')))
  expect((await Promise.all(reading)).every((bytes) => bytes.toString() === 'x')).toBe(true)
  await cluster.ask('forget-tokens')
  await driver.put(Buffer.from('forgotten'), Buffer.alloc(100_000, 'y'), {})
  expect(await cluster.ask('status', '/forgotten')).toMatch(/^hdfs .* 100000 /)
})

kerberosTest('a proxy user acts for another one, who need not be known to the KDC', async () => {
  await using superuser = openHdfs(cluster.options())
  await superuser.makeFolder(Buffer.from('of-alice'), {})
  await superuser.setAttributes(Buffer.from('of-alice'), { ownerNames: { user: 'alice', group: 'alice' } })
  await using alice = openHdfs(cluster.options({ 'gantry.hdfs.doas': 'alice' }))
  await alice.put(Buffer.from('of-alice/file'), Buffer.from('x'), {})
  expect(await cluster.ask('status', '/of-alice/file')).toMatch(/^alice /)
  expect(await messageOf(alice.put(Buffer.from('not-of-alice'), Buffer.from('x'), {}))).toMatch(
    /Permission denied: user=alice/,
  )
})

kerberosTest('each thing that can be wrong is said, with what to do', async () => {
  const bob = { ...cluster.options(), kerberosPrincipal: `bob@${realm}` }
  const right = keytabText(kdc.keytab(`bob@${realm}`))
  const probe = async (options: Parameters<typeof openHdfs>[0]) => {
    await using driver = openHdfs(options)
    return messageOf(driver.probe(AbortSignal.timeout(60_000)))
  }
  expect(await probe({ ...bob, kerberosKeytab: right })).toBe('nothing')
  // A keytab with others' keys, and one that was made before the principal got new ones.
  expect(await probe(bob)).toMatch(/no ticket for bob@TEST\.LOCAL by the keytab.*check kerberosPrincipal and/)
  kdc.keytab(`bob@${realm}`)
  expect(await probe({ ...bob, kerberosKeytab: right })).toMatch(/no ticket for bob@TEST.LOCAL by the keytab/)
  kdc.forget(`bob@${realm}`)
  expect(await probe({ ...bob, kerberosKeytab: right })).toMatch(/Client.*not found in Kerberos database/)
  expect(await probe({ ...bob, kerberosPrincipal: 'bob@ELSEWHERE.EXAMPLE' })).toMatch(
    /krb5\.conf of this host names no kdc of ELSEWHERE\.EXAMPLE/,
  )
  const { kerberosPrincipal: _, kerberosKeytab: __, ...nobody } = cluster.options()
  expect(await probe(nobody)).toMatch(/the cluster wants Kerberos; give kerberosPrincipal and kerberosKeytab/)
  const web = { 'dfs.web.authentication.kerberos.principal': `HTTP/elsewhere@${realm}` }
  expect(await probe(cluster.options(web))).toMatch(
    /no ticket of hdfs\/localhost@TEST\.LOCAL for HTTP\/elsewhere@TEST\.LOCAL.*not found/,
  )
})

kerberosTest('a cluster without Kerberos gives no tokens, and says so', async () => {
  await using simple = await startHdfs()
  const { kerberosPrincipal, kerberosKeytab } = cluster.options()
  const { user: _, ...options } = simple.options()
  await using driver = openHdfs({
    ...options,
    ...(kerberosPrincipal !== undefined && { kerberosPrincipal }),
    ...(kerberosKeytab !== undefined && { kerberosKeytab }),
    defaultFS: `webhdfs://localhost:${simple.nameNodes[0]?.split(':')[1]}`,
  })
  expect(await messageOf(driver.probe(AbortSignal.timeout(60_000)))).toMatch(
    /a delegation token: the cluster gives none.*leave/,
  )
})

kerberosTest('with two name nodes: a token of one is one of the other, also after a failover', async () => {
  await using pair = await startHdfs({ nameNodes: '2' }, kdc)
  await using driver = openHdfs(pair.options())
  await driver.put(Buffer.from('before'), Buffer.from('x'), {})
  await pair.ask('failover')
  expect((await contentOf(driver, Buffer.from('before'))).toString()).toBe('x')
  await driver.put(Buffer.from('after'), Buffer.from('y'), {})
  await using another = openHdfs(pair.options())
  expect((await contentOf(another, Buffer.from('after'))).toString()).toBe('y')
})

kerberosTest('through HttpFS', async () => {
  await using gateway = await startHdfs(
    { httpFs: String(await freePort()), 'httpfs.delegation.token.manager.renew.interval.sec': '1' },
    kdc,
  )
  await using driver = openHdfs(gateway.options())
  await driver.makeFolder(Buffer.from('folder'), {})
  for (const content of ['first', 'second'])
    await driver.put(Buffer.from('folder/file'), Buffer.from(content), { mode: 0o640, modifiedMs: 1e12 })
  expect((await contentOf(driver, Buffer.from('folder/file'))).toString()).toBe('second')
  expect(await gateway.ask('status', '/folder/file')).toMatch(/^hdfs \S+ rw-r----- 1000000000000 6 /)
  await driver.setAttributes(Buffer.from('folder'), { ownerNames: { user: 'alice', group: 'alice' } })
  await using alice = openHdfs(gateway.options({ 'gantry.hdfs.doas': 'alice' }))
  await alice.put(Buffer.from('folder/hers'), Buffer.from('x'), {})
  expect(await gateway.ask('status', '/folder/hers')).toMatch(/^alice /)
})
