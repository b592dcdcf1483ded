import { readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { runProgram } from '../../broker/server/run-program.ts'
import { classesOf } from './maven.ts'
import { provide } from './provide.ts'

const probeTimeoutMs = 20_000

/** Gets OpenAPI Generator, and what clients for Java need, from Maven Central into the cache folder. */
export async function setup(): Promise<void> {
  await provide('OPENAPI_GENERATOR', async () => {
    const folder = dirname(await classesOf('openapi-clients/generator', 'OpenAPI Generator'))
    return join(
      folder,
      readdirSync(folder).find((name) => name.endsWith('.jar'))!,
    )
  })
  await provide('OPENAPI_JAVA_CLASSES', async () => {
    await runProgram('javac', ['-version'], { timeoutMs: probeTimeoutMs }).catch((cause: unknown) => {
      throw new Error('there is no javac: install a JDK 17', { cause })
    })
    return classesOf('openapi-clients/java', 'what clients for Java need')
  })
}
