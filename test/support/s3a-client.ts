import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { whyMissing } from './provide.ts'
import type { S3Server } from './s3-server.ts'

const run = promisify(execFile)

/** Why Hadoop's client of S3 cannot be had here; undefined where it can. */
export const noS3aClient = whyMissing('S3A_CLASSES')

/** `hadoop fs` with S3A on a server, a process for each command; its settings go with the scope. */
export function openS3aClient(
  server: Pick<S3Server, 'endpoint' | 'accessKey' | 'secretKey'>,
): ((...words: string[]) => Promise<string>) & Disposable {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-s3a-'))
  const settings = {
    endpoint: server.endpoint,
    'endpoint.region': 'us-east-1',
    'path.style.access': 'true',
    'access.key': server.accessKey,
    'secret.key': server.secretKey,
  }
  const properties = Object.entries(settings).map(
    ([name, value]) => `<property><name>fs.s3a.${name}</name><value>${value}</value></property>`,
  )
  writeFileSync(join(folder, 'core-site.xml'), `<configuration>${properties.join('')}</configuration>`)
  const client = async (...words: string[]) => {
    const args = ['-cp', `${folder}:${process.env['S3A_CLASSES']}`, 'org.apache.hadoop.fs.FsShell', ...words]
    return (await run('java', args)).stdout
  }
  return Object.assign(client, {
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  })
}
