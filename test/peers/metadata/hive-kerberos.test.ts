import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect } from 'vitest'
import type { Catalog } from '../../../services/metadata/catalogs/contract/catalog.ts'
import { openCatalog } from '../../../services/metadata/catalogs/index.ts'
import { settings } from '../../../subjects/access/settings.ts'
import { metadataCatalogs } from '../../../subjects/metadata/catalogs.ts'
import type { CatalogOptions } from '../../../subjects/metadata/kinds.ts'
import { startAgent } from '../../support/agent-child.ts'
import {
  metastorePrincipal,
  type MetastoreRelease,
  metastoreReleases,
  noMetastore,
  startMetastore,
} from '../../support/hive-metastore.ts'
import { type Kdc, keytabText, noKdc, realm, startKdc } from '../../support/kdc.ts'
import { startTestPlatform } from '../../support/platform.ts'
import { siteFile } from '../../support/site-file.ts'
import { testUnless } from '../../support/unless.ts'

/** Metastores that believe nobody without a ticket. */
const never = new AbortController().signal
const releases = Object.keys(metastoreReleases) as MetastoreRelease[]
const [anyRelease] = releases as [MetastoreRelease]
const missing = noKdc ?? noMetastore(anyRelease)

let kdc: Kdc
beforeAll(async () => {
  if (noKdc === undefined) kdc = await startKdc()
})
afterAll(async () => kdc?.[Symbol.asyncDispose]())

const opened = (options: CatalogOptions<'hive'>): Promise<Catalog> => openCatalog({ kind: 'hive', options })

/** What is said of a catalog with such options. */
const said = async (options: CatalogOptions<'hive'>): Promise<string> => {
  try {
    const catalog = await opened(options)
    try {
      await catalog.probe(never)
      return 'nothing'
    } finally {
      catalog.close()
    }
  } catch (error) {
    return (error as Error).message
  }
}

const protections = ['authentication', 'integrity', 'authentication,privacy', 'privacy']
for (const release of releases)
  for (const protection of release === anyRelease ? protections : ['privacy'])
    testUnless(noKdc ?? noMetastore(release), `Hive ${release} with Kerberos and ${protection}`, async () => {
      const settings = { 'hadoop.rpc.protection': protection }
      await using metastore = await startMetastore(release, settings, kdc)
      const catalog = await opened(metastore.options)
      try {
        const signal = AbortSignal.timeout(60_000)
        await catalog.probe(signal)
        // Longer than what one message of SASL may have.
        const description = 'x'.repeat(3_000)
        const parameters = Object.fromEntries(
          Array.from({ length: 60 }, (_, index) => [`key${index}`, description]),
        )
        await catalog.writer!.createDatabase({ name: 'large', description: 'All', parameters }, signal)
        expect(await catalog.database('large', signal)).toMatchObject({ name: 'large', parameters })
        const asked = Array.from({ length: 10 }, () => catalog.databases(signal))
        for (const names of await Promise.all(asked)) expect(names).toEqual(['default', 'large'])
      } finally {
        catalog.close()
      }
    })

testUnless(missing, 'each thing that can be wrong is said, with what to do', async () => {
  await using metastore = await startMetastore(anyRelease, {}, kdc)
  const { metastoreUris, kerberosPrincipal = '', kerberosKeytab = '' } = metastore.options
  expect(await said(metastore.options)).toBe('nothing')
  expect(await said({ ...metastore.options, metastorePrincipal: `hive/_HOST@${realm}` })).toBe('nothing')
  expect(await said({ metastoreUris })).toMatch(
    /it requires SASL \(Kerberos\) authentication; set kerberosPrincipal and kerberosKeytab/,
  )
  expect(await said({ metastoreUris, kerberosPrincipal })).toMatch(/kerberosKeytab is missing/)
  expect(await said({ metastoreUris, metastorePrincipal })).toMatch(
    /metastorePrincipal requires kerberosPrincipal/,
  )
  expect(await said({ ...metastore.options, user: 'hive' })).toMatch(
    /user is given besides kerberosPrincipal/,
  )
  const others = keytabText(kdc.keytab(`bob@${realm}`))
  expect(await said({ metastoreUris, kerberosPrincipal, kerberosKeytab: others })).toMatch(
    /no ticket for tester@TEST\.LOCAL by the keytab.*check kerberosPrincipal and kerberosKeytab/,
  )
  expect(await said({ ...metastore.options, metastorePrincipal: `hive/elsewhere@${realm}` })).toMatch(
    /no ticket of tester@TEST\.LOCAL for hive\/elsewhere@TEST\.LOCAL.*not found/,
  )
  // A service that there is, with other keys than what answers.
  kdc.keytab(`other/localhost@${realm}`)
  expect(await said({ ...metastore.options, metastorePrincipal: `other/localhost@${realm}` })).toMatch(
    /GSS initiate failed.*metastorePrincipal as in its hive\.metastore\.kerberos\.principal/,
  )
  await using plain = await startMetastore(anyRelease)
  const { port } = new URL(plain.options.metastoreUris.replace('thrift:', 'http:'))
  expect(
    await said({ metastoreUris: `thrift://localhost:${port}`, kerberosPrincipal, kerberosKeytab }),
  ).toMatch(/Kerberos authentication.*hive\.metastore\.sasl\.enabled/)
})

testUnless(missing, 'a connection whose ticket has ended gives way to one with a new ticket', async () => {
  await using metastore = await startMetastore(anyRelease, {}, kdc)
  kdc.limitTickets(`tester@${realm}`, 2)
  const catalog = await opened(metastore.options)
  try {
    await catalog.probe(never)
    const endsAt = performance.now() + 5_000
    while (performance.now() < endsAt) expect(await catalog.databases(never)).toEqual(['default'])
    // Without a KDC there are no new tickets: what was asked with was the one of before, had it not ended.
    await kdc.stop()
    const until = performance.now() + 3_000
    let failure = ''
    while (failure === '' && performance.now() < until)
      failure = await catalog.databases(never).then(
        () => '',
        (error: Error) => error.message,
      )
    expect(failure).toMatch(/Kerberos: no ticket/)
  } finally {
    catalog.close()
    await kdc[Symbol.asyncDispose]()
    kdc = await startKdc()
  }
})

testUnless(
  missing,
  'the folder of a configuration says where the metastore is, and how it is asked',
  async () => {
    await using metastore = await startMetastore(anyRelease, {}, kdc)
    const { metastoreUris, kerberosPrincipal = '', kerberosKeytab = '' } = metastore.options
    const configPath = mkdtempSync(join(tmpdir(), 'gantry-hive-conf-'))
    const write = (file: string, properties: Record<string, string>) =>
      writeFileSync(join(configPath, file), siteFile(properties))
    try {
      const keys = { kerberosPrincipal, kerberosKeytab }
      expect(await said({ configPath })).toMatch(/configPath must be a folder with a hive-site\.xml/)
      const site = {
        'hive.metastore.uris': metastoreUris,
        'hive.metastore.sasl.enabled': 'true',
        'hive.metastore.kerberos.principal': `hive/_HOST@${realm}`,
      }
      write('core-site.xml', { 'hadoop.security.authentication': 'kerberos', 'fs.defaultFS': 'hdfs://lake' })
      expect(await said({ configPath, ...keys })).toMatch(/contains no hive\.metastore\.uris/)
      write('hive-site.xml', site)
      expect(await said({ configPath, ...keys })).toBe('nothing')
      expect(await said({ configPath })).toMatch(
        /kerberosPrincipal is required: according to .*hive-site\.xml, the metastore uses/,
      )
      expect(await said({ configPath, metastoreUris, ...keys })).toMatch(
        /metastoreUris cannot be combined with configPath/,
      )
      write('hive-site.xml', { ...site, 'hive.metastore.kerberos.principal': `hive/elsewhere@${realm}` })
      expect(await said({ configPath, ...keys })).toMatch(/for hive\/elsewhere@TEST\.LOCAL/)
      expect(await said({ configPath, ...keys, metastorePrincipal })).toBe('nothing')
      write('hive-site.xml', { ...site, 'hive.metastore.uris': 'thrift://${host}:9083' })
      expect(await said({ configPath, ...keys })).toMatch(/refers to other properties: set metastoreUris/)
    } finally {
      rmSync(configPath, { recursive: true })
    }
  },
)

testUnless(missing, 'an agent asks with its own configuration, and the keytab of the catalog', async () => {
  await using metastore = await startMetastore(anyRelease, {}, kdc)
  const { metastoreUris, kerberosPrincipal = '', kerberosKeytab = '' } = metastore.options
  const configPath = mkdtempSync(join(tmpdir(), 'gantry-hive-conf-'))
  await using platform = await startTestPlatform()
  await using agent = await startAgent(platform, 'edge', ['--catalogs'])
  try {
    await platform.call(settings.put, { storeHosts: ['localhost'], hostCredentials: [configPath] })
    const site = {
      'hive.metastore.uris': metastoreUris,
      'hive.metastore.sasl.enabled': 'true',
      'hive.metastore.kerberos.principal': `hive/_HOST@${realm}`,
    }
    writeFileSync(join(configPath, 'hive-site.xml'), siteFile(site))
    const catalogId = 'far'
    const keys = { kerberosPrincipal, kerberosKeytab }
    await platform.call(metadataCatalogs['create-hive'], { catalogId, agent: 'edge', configPath, ...keys })
    const { checks } = await platform.call(metadataCatalogs['check-stored'], { catalogId })
    expect(checks.filter(({ result }) => result === 'no')).toEqual([])
    expect(agent.printed).not.toContain(kerberosKeytab.slice(0, 40))
  } finally {
    rmSync(configPath, { recursive: true })
  }
})
