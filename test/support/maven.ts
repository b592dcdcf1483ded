import { hash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { runProgram } from '../../broker/server/run-program.ts'
import { peersFolder } from './provide.ts'

const plugin = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1'
/** 109 MB in 200 files, over a slow line. */
const downloadTimeoutMs = 10 * 60_000

/** Gets what a project depends on from Maven Central. @param name of what it is, for people */
export async function copyArtifacts(pom: string, into: string, name: string): Promise<void> {
  const repository = join(peersFolder(), 'maven')
  const copy = [`${plugin}:copy-dependencies`, `-DoutputDirectory=${into}`]
  const args = ['-q', '-B', '-f', pom, `-Dmaven.repo.local=${repository}`, ...copy]
  await runProgram('mvn', args, { timeoutMs: downloadTimeoutMs }).catch((cause: unknown) => {
    throw new Error(`mvn could not get ${name}: ${(cause as Error).message}`, { cause })
  })
}

/** The class path of what a project in a folder beside this file depends on, got once into the cache folder. */
export async function classesOf(project: string, name: string): Promise<string> {
  const pom = join(import.meta.dirname, project, 'pom.xml')
  const folder = join(
    peersFolder(),
    `${project.replaceAll('/', '-')}-${hash('sha256', readFileSync(pom)).slice(0, 12)}`,
  )
  if (existsSync(folder)) return join(folder, '*')
  const work = `${folder}.${process.pid}`
  mkdirSync(work, { recursive: true })
  try {
    cpSync(pom, join(work, 'pom.xml'))
    await copyArtifacts(join(work, 'pom.xml'), work, name)
    renameSync(work, folder)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
  return join(folder, '*')
}
