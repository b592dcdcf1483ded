import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { hash } from 'node:crypto'
import { basename, join } from 'node:path'
import { runProgram } from '../../broker/server/run-program.ts'
import { copyArtifacts } from './maven.ts'
import { peersFolder, provide } from './provide.ts'

const sources = join(import.meta.dirname, 'hdfs')
const inotify = join(import.meta.dirname, '../../examples/hdfs-inotify')
const compileTimeoutMs = 120_000

/** Gets the parts of Hadoop from Maven Central into the cache folder and compiles the cluster of tests, and the example. */
export async function setup(): Promise<void> {
  await provide('HDFS_CLASSES', hdfsClasses)
  await provide('HDFS_INOTIFY_CLASSES', () =>
    compiled('hdfs-inotify', inotify, 'src/main/java/HdfsInotify.java'),
  )
}

/** The class path of the cluster of tests, made if it is not there. */
export const hdfsClasses = (): Promise<string> => compiled('hdfs', sources, 'Cluster.java')

/** The class path of a program and what its project depends on. */
async function compiled(name: string, project: string, source: string): Promise<string> {
  const files = ['pom.xml', source].map((file) => join(project, file))
  const digest = hash('sha256', files.map((file) => readFileSync(file, 'utf8')).join('\n'))
  const peers = peersFolder()
  const folder = join(peers, `${name}-${digest.slice(0, 12)}`)
  const classes = `${folder}:${join(folder, 'lib')}/*`
  if (existsSync(folder)) return classes
  const work = `${folder}.${process.pid}`
  mkdirSync(work, { recursive: true })
  try {
    for (const file of files) cpSync(file, join(work, basename(file)))
    await copyArtifacts(join(work, 'pom.xml'), join(work, 'lib'), 'Hadoop')
    const compile = [
      '-encoding',
      'UTF-8',
      '-cp',
      `${join(work, 'lib')}/*`,
      '-d',
      work,
      join(work, basename(source)),
    ]
    await runProgram('javac', compile, { timeoutMs: compileTimeoutMs }).catch((cause: unknown) => {
      throw new Error(`javac could not compile ${source} (JDK 11 or newer): ${(cause as Error).message}`, {
        cause,
      })
    })
    renameSync(work, folder)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
  return classes
}
