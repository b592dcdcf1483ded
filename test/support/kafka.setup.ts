import { hash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { runProgram } from '../../broker/server/run-program.ts'
import { peersFolder, provide } from './provide.ts'

const plugin = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1'
const pom = join(import.meta.dirname, 'kafka', 'pom.xml')
/** 46 MB, over a slow line. */
const downloadTimeoutMs = 10 * 60_000

/** Gets a broker of Kafka from Maven Central into the cache folder. */
export const setup = (): Promise<void> =>
  provide('KAFKA_CLASSES', async () => {
    const peers = peersFolder()
    const folder = join(peers, `kafka-${hash('sha256', readFileSync(pom, 'utf8')).slice(0, 12)}`)
    const classes = join(folder, 'lib', '*')
    if (existsSync(folder)) return classes
    const work = `${folder}.${process.pid}`
    mkdirSync(work, { recursive: true })
    try {
      cpSync(pom, join(work, 'pom.xml'))
      const copy = [`${plugin}:copy-dependencies`, `-DoutputDirectory=${join(work, 'lib')}`]
      const into = [`-Dmaven.repo.local=${join(peers, 'maven')}`]
      await runProgram('mvn', ['-q', '-B', '-f', join(work, 'pom.xml'), ...into, ...copy], {
        timeoutMs: downloadTimeoutMs,
      }).catch((cause: unknown) => {
        throw new Error(`mvn could not get Kafka: ${(cause as Error).message}`, { cause })
      })
      renameSync(work, folder)
    } finally {
      rmSync(work, { recursive: true, force: true })
    }
    return classes
  })
