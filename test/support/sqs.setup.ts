import { hash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { copyArtifacts } from './maven.ts'
import { peersFolder, provide } from './provide.ts'

const pom = join(import.meta.dirname, 'sqs', 'pom.xml')

/** Gets ElasticMQ, a server of SQS's protocol, from Maven Central into the cache folder. */
export const setup = (): Promise<void> => provide('ELASTICMQ_CLASSES', elasticMqClasses)

/** The class path, made if it is not there. */
async function elasticMqClasses(): Promise<string> {
  const folder = join(peersFolder(), `elasticmq-${hash('sha256', readFileSync(pom)).slice(0, 12)}`)
  if (existsSync(folder)) return join(folder, '*')
  const work = `${folder}.${process.pid}`
  mkdirSync(work, { recursive: true })
  try {
    cpSync(pom, join(work, 'pom.xml'))
    await copyArtifacts(join(work, 'pom.xml'), work, 'ElasticMQ')
    renameSync(work, folder)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
  return join(folder, '*')
}
