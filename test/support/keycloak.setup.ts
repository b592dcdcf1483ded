import { createHash } from 'node:crypto'
import { createReadStream, existsSync } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { runProgram } from '../../broker/server/run-program.ts'
import { peersFolder, provide } from './provide.ts'

const version = '26.4.7'
const sha256 = 'aca60ab72ae4d67adc6b8fe7fca5e08d16a6bb5e4a4f2ebb54050e3f5503fd2b'
const plugin = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1'
const oldestJava = 17
/** 160 MB, over a slow line. */
const downloadTimeoutMs = 10 * 60_000
const probeTimeoutMs = 20_000

/** Gets Keycloak from Maven Central into the cache folder. */
export const setup = (): Promise<void> =>
  provide('KEYCLOAK_ARCHIVE', async () => {
    await requireJava()
    return archive()
  })

async function requireJava(): Promise<void> {
  const text = await runProgram('java', ['--version'], { timeoutMs: probeTimeoutMs }).catch(
    (cause: unknown) => {
      throw new Error(`there is no java: install Java ${oldestJava} or newer`, { cause })
    },
  )
  const [, major] = /^\S+ (\d+)/.exec(text) ?? []
  if (Number(major) >= oldestJava) return
  throw new Error(`java is ${major}: install Java ${oldestJava} or newer`)
}

/** Where the archive is: Maven keeps a repository of our own in the cache folder. */
async function archive(): Promise<string> {
  const repository = join(peersFolder(), 'maven')
  const name = 'keycloak-quarkus-dist'
  const path = join(repository, 'org', 'keycloak', name, version, `${name}-${version}.tar.gz`)
  if (!existsSync(path)) {
    const artifact = `org.keycloak:${name}:${version}:tar.gz`
    const options = [`-Dartifact=${artifact}`, '-Dtransitive=false', `-Dmaven.repo.local=${repository}`]
    await runProgram('mvn', ['-q', '-B', `${plugin}:get`, ...options], {
      timeoutMs: downloadTimeoutMs,
    }).catch((cause: unknown) => {
      throw new Error(`mvn could not get Keycloak ${version}: ${(cause as Error).message}`, { cause })
    })
  }
  const digest = createHash('sha256')
  await pipeline(createReadStream(path), digest)
  if (digest.digest('hex') === sha256) return path
  throw new Error(`${path} is not the release: its digest differs; remove it`)
}
