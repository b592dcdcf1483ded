import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isListening } from './loopback.ts'
import { freePort } from './platform.ts'
import { whyMissing } from './provide.ts'
import { testUnless } from './unless.ts'
import { until } from './until.ts'

/** Releases that tests have, each a project of Maven in the folder beside this file: before and after tables can be registered over others. */
export const icebergReleases = { '1.8.1': 'iceberg-rest-1.8', '1.11.0': 'iceberg-rest-1.11' } as const
export type IcebergRelease = keyof typeof icebergReleases

/** Where tests find a release. */
export const icebergVariable = (release: IcebergRelease): string =>
  `ICEBERG_REST_${release.replaceAll('.', '_')}`

/** Why a release is not here; undefined where it is. */
export const noIceberg = (release: IcebergRelease): string | undefined => whyMissing(icebergVariable(release))

/** A test with a real catalog by Iceberg's REST protocol. */
export const icebergTest = (release: IcebergRelease, name: string, work: () => Promise<void>): void =>
  testUnless(noIceberg(release), name, work)

/** A catalog of the test's own on loopback, with its tables in a folder; gone with the scope. */
export interface IcebergServer extends AsyncDisposable {
  readonly uri: string
  /** What its tests ask of it beyond what a catalog does, such as making a table. */
  ask(method: string, path: string, body?: object): Promise<Readonly<Record<string, unknown>>>
}

/** The server of Iceberg's own tests, which takes any credentials. */
export async function startIceberg(release: IcebergRelease): Promise<IcebergServer> {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-iceberg-'))
  mkdirSync(join(folder, 'warehouse'))
  const port = await freePort()
  const classes = join(process.env[icebergVariable(release)]!, '*')
  const env = {
    ...process.env,
    CATALOG_REST_PORT: String(port),
    CATALOG_CATALOG__IMPL: 'org.apache.iceberg.jdbc.JdbcCatalog',
    CATALOG_URI: `jdbc:sqlite:${join(folder, 'catalog.db')}`,
    CATALOG_JDBC_SCHEMA__VERSION: 'V1',
    CATALOG_WAREHOUSE: join(folder, 'warehouse'),
  }
  const args = ['-Xmx256m', '-cp', classes, 'org.apache.iceberg.rest.RESTCatalogServer']
  const child = spawn('java', args, { cwd: folder, env, stdio: 'ignore' })
  const kill = () => void child.kill('SIGKILL')
  process.once('exit', kill)
  await until('the catalog answers', () => isListening(port))
  const uri = `http://127.0.0.1:${port}`
  return {
    uri,
    ask: async (method, path, body) => {
      const sent = body === undefined ? {} : { body: JSON.stringify(body) }
      const headers = { 'content-type': 'application/json' }
      const answer = await fetch(`${uri}/v1/${path}`, { method, headers, ...sent })
      const text = await answer.text()
      if (!answer.ok) throw new Error(text)
      return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>)
    },
    [Symbol.asyncDispose]: async () => {
      process.off('exit', kill)
      const gone = once(child, 'exit')
      kill()
      await gone
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
