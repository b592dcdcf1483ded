import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { runProgram } from '../../broker/server/run-program.ts'
import {
  type MetastoreRelease,
  metastoreReleases,
  metastoreSite,
  metastoreVariable,
} from './hive-metastore.ts'
import { classesOf } from './maven.ts'
import { provide } from './provide.ts'

const toolTimeoutMs = 120_000

/** Gets metastores of Hive from Maven Central into the cache folder, each with an empty database. */
export async function setup(): Promise<void> {
  for (const release of Object.keys(metastoreReleases) as MetastoreRelease[])
    await provide(metastoreVariable(release), () => metastoreFolder(release))
}

/** The folder of a release: its libraries, and `schema`, a database of Derby with no tables in it. */
export async function metastoreFolder(release: MetastoreRelease): Promise<string> {
  const { project, schemaTool, statements, classes } = metastoreReleases[release]
  const folder = dirname(await classesOf(project, `Hive ${release}`))
  const schema = join(folder, 'schema')
  if (existsSync(schema)) return folder
  const home = join(folder, 'home')
  const work = join(folder, `work.${process.pid}`)
  mkdirSync(work)
  try {
    if (statements === undefined && !existsSync(home)) {
      const unpacked = join(work, 'home')
      mkdirSync(unpacked)
      const archive = readdirSync(folder).find((name) => name.endsWith('-bin.tar.gz'))!
      const unpack = ['-xzf', join(folder, archive), '-C', unpacked, '--strip-components=1']
      await runProgram('tar', unpack, { timeoutMs: toolTimeoutMs })
      renameSync(unpacked, home)
    }
    writeFileSync(join(work, 'metastore-site.xml'), metastoreSite(work, {}))
    const classPath = [work, ...classes.map((one) => join(folder, one))].join(':')
    const script = join(work, 'schema.sql')
    const connect = `CONNECT 'jdbc:derby:${join(work, 'db')};create=true';`
    if (statements !== undefined) writeFileSync(script, `${connect}\n${statements}\n`)
    const makes = statements === undefined ? ['-dbType', 'derby', '-initSchema'] : [script]
    const tool = ['-cp', classPath, schemaTool, ...makes]
    await runProgram('java', tool, { timeoutMs: toolTimeoutMs, env: { METASTORE_HOME: home } })
    renameSync(join(work, 'db'), schema)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
  return folder
}
