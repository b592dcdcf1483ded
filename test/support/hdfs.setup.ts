import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { hash } from 'node:crypto'
import { join } from 'node:path'
import { runProgram } from '../../broker/server/run-program.ts'
import { copyArtifacts } from './maven.ts'
import { peersFolder, provide } from './provide.ts'

const sources = join(import.meta.dirname, 'hdfs')
const compileTimeoutMs = 120_000

/** Gets the parts of Hadoop from Maven Central into the cache folder and compiles the cluster of tests. */
export const setup = (): Promise<void> => provide('HDFS_CLASSES', hdfsClasses)

/** The class path, made if it is not there. */
export async function hdfsClasses(): Promise<string> {
  const digest = hash(
    'sha256',
    ['pom.xml', 'Cluster.java'].map((name) => readFileSync(join(sources, name), 'utf8')).join('\n'),
  )
  const peers = peersFolder()
  const folder = join(peers, `hdfs-${digest.slice(0, 12)}`)
  const classes = `${folder}:${join(folder, 'lib')}/*`
  if (existsSync(folder)) return classes
  const work = `${folder}.${process.pid}`
  mkdirSync(work, { recursive: true })
  try {
    for (const name of ['pom.xml', 'Cluster.java']) cpSync(join(sources, name), join(work, name))
    await copyArtifacts(join(work, 'pom.xml'), join(work, 'lib'), 'Hadoop')
    const compile = ['-cp', `${join(work, 'lib')}/*`, '-d', work, join(work, 'Cluster.java')]
    await runProgram('javac', compile, { timeoutMs: compileTimeoutMs }).catch((cause: unknown) => {
      throw new Error(
        `javac could not compile the cluster of tests (JDK 11 or newer): ${(cause as Error).message}`,
        {
          cause,
        },
      )
    })
    renameSync(work, folder)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
  return classes
}
