import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CatalogOptions } from '../../subjects/metadata/kinds.ts'
import { isListening } from './loopback.ts'
import { freePort } from './platform.ts'
import { whyMissing } from './provide.ts'
import { testUnless } from './unless.ts'
import { until } from './until.ts'

const api = 'org.apache.hadoop.hive.metastore'

/** Releases that tests have, each with a project of Maven in the folder beside this file. */
export const metastoreReleases = {
  '3.1.3': {
    project: 'hive-metastore-3',
    classes: ['home/lib/*', '*'],
    schemaTool: `${api}.tools.MetastoreSchemaTool`,
    settings: {
      'metastore.transactional.event.listeners': 'org.apache.hive.hcatalog.listener.DbNotificationListener',
    },
  },
  '4.0.1': {
    project: 'hive-metastore-4',
    classes: ['*'],
    schemaTool: `${api}.tools.schematool.MetastoreSchemaTool`,
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
  readonly options: CatalogOptions<'hive'>
  /** Ends it as kill -9 does. */
  kill(): Promise<void>
  /** Starts it again, with what it had, at the same address. */
  restart(): Promise<void>
}

export async function startMetastore(
  release: MetastoreRelease,
  settings: Readonly<Record<string, string>> = {},
): Promise<HiveMetastore> {
  const { classes, settings: own } = metastoreReleases[release]
  const installed = process.env[metastoreVariable(release)]!
  const folder = mkdtempSync(join(tmpdir(), 'gantry-metastore-'))
  cpSync(join(installed, 'schema'), join(folder, 'db'), { recursive: true })
  mkdirSync(join(folder, 'warehouse'))
  const port = await freePort()
  const all = { 'metastore.thrift.bind.host': '127.0.0.1', ...own, ...settings }
  writeFileSync(join(folder, 'metastore-site.xml'), metastoreSite(folder, all))
  writeFileSync(join(folder, 'metastore-log4j2.properties'), quiet)
  const classPath = [folder, ...classes.map((one) => join(installed, one))].join(':')
  const start = async () => {
    const args = ['-Xmx512m', '-cp', classPath, `${api}.HiveMetaStore`, '-p', String(port)]
    const started = spawn('java', args, { cwd: folder, stdio: 'ignore' })
    await until('the metastore answers', () => isListening(port))
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
  const address = `127.0.0.1:${port}`
  return {
    address,
    options: { metastoreUris: `thrift://${address}`, user: 'tester' },
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

/** What would run beside it is not in its library. */
const beside = `${api}.events.EventCleanerTask`

/** `metastore-site.xml` of a metastore with its data in a folder. */
export function metastoreSite(folder: string, settings: Readonly<Record<string, string>>): string {
  const all = {
    'javax.jdo.option.ConnectionURL': `jdbc:derby:${join(folder, 'db')};create=true`,
    'javax.jdo.option.ConnectionDriverName': 'org.apache.derby.jdbc.EmbeddedDriver',
    'metastore.warehouse.dir': join(folder, 'warehouse'),
    'metastore.task.threads.always': beside,
    'metastore.task.threads.remote': beside,
    'metastore.expression.proxy': `${api}.DefaultPartitionExpressionProxy`,
    'metastore.async.log.enabled': 'false',
    // Else whoever follows changes has to be a proxy user of Hadoop.
    'metastore.metastore.event.db.notification.api.auth': 'false',
    // Release 4 shows tables as they are then, whoever asks.
    'metastore.metadata.transformer.class': ' ',
    ...settings,
  }
  const properties = Object.entries(all).map(
    ([name, value]) => `<property><name>${name}</name><value>${value}</value></property>\n`,
  )
  return `<configuration>\n${properties.join('')}</configuration>\n`
}

const quiet = 'status = ERROR\nrootLogger.level = OFF\n'
