import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { MetastoreOptions } from '../../services/metadata/catalogs/hive/configured.ts'
import { type Kdc, keytabText, realm } from './kdc.ts'
import { isListening } from './loopback.ts'
import { freePort } from './platform.ts'
import { whyMissing } from './provide.ts'
import { siteFile } from './site-file.ts'
import { testUnless } from './unless.ts'
import { until } from './until.ts'

const api = 'org.apache.hadoop.hive.metastore'

/** Has what is done written to the log of notifications. */
const log = (prefix: string) => ({
  [`${prefix}.transactional.event.listeners`]: 'org.apache.hive.hcatalog.listener.DbNotificationListener',
})

/** Releases that tests have, each with a project of Maven in the folder beside this file. */
export const metastoreReleases = {
  '2.3.9': {
    project: 'hive-metastore-2',
    classes: ['*'],
    schemaTool: 'org.apache.derby.tools.ij',
    // The scripts of its schema are in an archive that Maven does not have. It makes its tables itself, all but one as these do.
    statements:
      'CREATE TABLE NOTIFICATION_LOG (NL_ID BIGINT NOT NULL PRIMARY KEY, EVENT_ID BIGINT NOT NULL, EVENT_TIME INTEGER NOT NULL, EVENT_TYPE VARCHAR(32) NOT NULL, DB_NAME VARCHAR(128), TBL_NAME VARCHAR(256), MESSAGE CLOB, MESSAGE_FORMAT VARCHAR(16));',
    settings: {
      ...log('hive.metastore'),
      'datanucleus.schema.autoCreateAll': 'true',
      // It starts several programs for each folder.
      'hive.warehouse.subdir.inherit.perms': 'false',
    },
  },
  '3.1.3': {
    project: 'hive-metastore-3',
    classes: ['home/lib/*', '*'],
    schemaTool: `${api}.tools.MetastoreSchemaTool`,
    statements: undefined,
    settings: log('metastore'),
  },
  '4.0.1': {
    project: 'hive-metastore-4',
    classes: ['*'],
    schemaTool: `${api}.tools.schematool.MetastoreSchemaTool`,
    statements: undefined,
    settings: {},
  },
} as const
export type MetastoreRelease = keyof typeof metastoreReleases

/** Where tests find a release. */
export const metastoreVariable = (release: MetastoreRelease): string =>
  `HIVE_METASTORE_${release.replaceAll('.', '_')}`

/** Why a release is not here; undefined where it is. */
export const noMetastore = (release: MetastoreRelease): string | undefined =>
  whyMissing(metastoreVariable(release))

/** A test with a real metastore of Hive. */
export const metastoreTest = (
  release: MetastoreRelease,
  name: string,
  work: () => Promise<void>,
  timeoutMs?: number,
): void => testUnless(noMetastore(release), name, work, timeoutMs)

/** A metastore of the test's own on loopback; gone with the scope. */
export interface HiveMetastore extends AsyncDisposable {
  /** `host:port` */
  readonly address: string
  readonly options: MetastoreOptions
  /** Ends it as kill -9 does. */
  kill(): Promise<void>
  /** Starts it again, with what it had, at the same address. */
  restart(): Promise<void>
}

export async function startMetastore(
  release: MetastoreRelease,
  settings: Readonly<Record<string, string>> = {},
  kdc?: Kdc,
): Promise<HiveMetastore> {
  const { classes, settings: own } = metastoreReleases[release]
  const installed = process.env[metastoreVariable(release)]!
  const folder = mkdtempSync(join(tmpdir(), 'gantry-metastore-'))
  cpSync(join(installed, 'schema'), join(folder, 'db'), { recursive: true })
  mkdirSync(join(folder, 'warehouse'))
  const port = await freePort()
  const secured = kdc && securedBy(kdc)
  const all = { 'metastore.thrift.bind.host': '127.0.0.1', ...own, ...secured?.settings, ...settings }
  writeFileSync(join(folder, 'metastore-site.xml'), metastoreSite(folder, all))
  // Its name of release 2.
  writeFileSync(join(folder, 'hive-site.xml'), metastoreSite(folder, all))
  // Who is logged in is said there alone.
  const ofHadoop = Object.entries(all).filter(([name]) => name.startsWith('hadoop.'))
  writeFileSync(join(folder, 'core-site.xml'), siteFile(Object.fromEntries(ofHadoop)))
  for (const name of ['metastore-log4j2.properties', 'hive-log4j2.properties'])
    writeFileSync(join(folder, name), quiet)
  const classPath = [folder, ...classes.map((one) => join(installed, one))].join(':')
  const start = async () => {
    const args = [
      '-Xmx512m',
      ...(secured?.arguments ?? []),
      '-cp',
      classPath,
      `${api}.HiveMetaStore`,
      '-p',
      String(port),
    ]
    const started = spawn('java', args, { cwd: folder, stdio: 'ignore' })
    await until('the metastore answers', () => isListening(port), startPatienceMs).catch((error: unknown) => {
      started.kill('SIGKILL')
      throw error
    })
    return started
  }
  let child = await start()
  const kill = () => void child.kill('SIGKILL')
  process.once('exit', kill)
  const end = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    kill()
    await gone
  }
  // Principals are of names, not of addresses.
  const address = `${kdc === undefined ? '127.0.0.1' : 'localhost'}:${port}`
  return {
    address,
    options: { metastoreUris: `thrift://${address}`, ...(secured?.options ?? { user: 'tester' }) },
    kill: end,
    restart: async () => {
      child = await start()
    },
    [Symbol.asyncDispose]: async () => {
      process.off('exit', kill)
      await end()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** The principal of metastores with Kerberos, and that of their client. */
export const metastorePrincipal = `hive/localhost@${realm}`
const client = `tester@${realm}`

/** What a metastore that believes nobody without a ticket is started with, and its client. */
const securedBy = (kdc: Kdc) => ({
  settings: {
    'hadoop.security.authentication': 'kerberos',
    'hive.metastore.sasl.enabled': 'true',
    'hive.metastore.kerberos.principal': metastorePrincipal,
    'hive.metastore.kerberos.keytab.file': kdc.keytab(metastorePrincipal),
  },
  arguments: [
    `-Djava.security.krb5.conf=${kdc.config}`,
    // Release 2 looks into what newer Javas keep to themselves.
    ...['exports', 'opens'].map((how) => `--add-${how}=java.security.jgss/sun.security.krb5=ALL-UNNAMED`),
  ],
  options: { kerberosPrincipal: client, kerberosKeytab: keytabText(kdc.keytab(client)) },
})

/** What would run beside it is not in its library, from release 3 on. */
const beside = `${api}.events.EventCleanerTask`

/** `metastore-site.xml` of a metastore with its data in a folder. */
export function metastoreSite(folder: string, settings: Readonly<Record<string, string>>): string {
  const all = {
    'javax.jdo.option.ConnectionURL': `jdbc:derby:${join(folder, 'db')};create=true`,
    'javax.jdo.option.ConnectionDriverName': 'org.apache.derby.jdbc.EmbeddedDriver',
    'metastore.warehouse.dir': join(folder, 'warehouse'),
    'hive.metastore.warehouse.dir': join(folder, 'warehouse'),
    'hive.metastore.schema.verification': 'false',
    'metastore.task.threads.always': beside,
    'metastore.task.threads.remote': beside,
    'metastore.expression.proxy': `${api}.DefaultPartitionExpressionProxy`,
    'metastore.async.log.enabled': 'false',
    'hive.async.log.enabled': 'false',
    // Else whoever follows changes has to be a proxy user of Hadoop.
    'metastore.metastore.event.db.notification.api.auth': 'false',
    // Release 4 shows tables as they are then, whoever asks.
    'metastore.metadata.transformer.class': ' ',
    ...settings,
  }
  return siteFile(all)
}

/** It loads half of Hadoop: a minute of processor time where other work goes on. */
const startPatienceMs = 200_000

const quiet = 'status = ERROR\nrootLogger.level = OFF\n'
