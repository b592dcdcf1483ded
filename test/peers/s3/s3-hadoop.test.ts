import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect } from 'vitest'
import { contentOf, listAll } from '../../conformance/driver-store.ts'
import { createFolder } from '../../support/migrations.ts'
import { noS3aClient, openS3aClient } from '../../support/s3a-client.ts'
import { testUnless } from '../../support/unless.ts'
import { noS3, openS3, type S3Server, startS3 } from '../../support/versitygw.ts'

/** S3A, Hadoop's own client of S3, is the judge of the folders and files that we write, and writes what we read. */
const missing = noS3 ?? noS3aClient
const bucket = 'hadoop'
/** Some seconds for each command, which is a process of its own. */
const patienceMs = 120_000

let server: S3Server
let hadoop: ReturnType<typeof openS3aClient>
beforeAll(async () => {
  if (missing !== undefined) return
  server = await startS3()
  server.createBucket(bucket)
  hadoop = openS3aClient(server)
})
afterAll(async () => {
  hadoop?.[Symbol.dispose]()
  await server?.[Symbol.asyncDispose]()
})

const at = (path: string) => Buffer.from(path)
const uri = (path: string) => `s3a://${bucket}/${path}`
/** What it lists below a folder: folders end with a slash, files have their size. */
const listed = async (path: string): Promise<string[]> => {
  const lines = (await hadoop('-ls', '-R', uri(path))).split('\n')
  return lines.flatMap((line) => {
    const [, mode, size, name] =
      /^([d-])\S+\s+\S+\s+\S+\s+\S+\s+(\d+) \S+ \S+ s3a:\/\/[^/]+\/(.*)$/.exec(line) ?? []
    if (name === undefined) return []
    return [mode === 'd' ? `${name}/` : `${name} ${size}`]
  })
}

testUnless(
  missing,
  'Hadoop S3A reads the files and folders that we write',
  async () => {
    await using driver = openS3(server.options(bucket))
    for (const folder of ['ours', 'ours/empty', 'ours/full']) await driver.makeFolder(at(folder), {})
    for (const [name, content] of [
      ['ours/full/plain', 'content'],
      ['ours/full/none', ''],
      ['ours/full/ünï 100% #1+2', 'odd'],
    ] as const)
      await driver.put(at(name), Buffer.from(content), { modifiedMs: 1_700_000_000_123 })
    expect((await listed('ours')).toSorted()).toEqual([
      'ours/empty/',
      'ours/full/',
      'ours/full/none 0',
      'ours/full/plain 7',
      'ours/full/ünï 100% #1+2 3',
    ])
    expect(await hadoop('-cat', uri('ours/full/plain'))).toBe('content')
    // What it takes for a folder it may remove as one.
    await hadoop('-rmdir', uri('ours/empty'))
    await hadoop('-rm', '-r', '-skipTrash', uri('ours/full'))
    expect(await driver.stat(at('ours/full/plain'))).toBeUndefined()
    expect(await driver.stat(at('ours/empty'))).toBeUndefined()
  },
  patienceMs,
)

testUnless(
  missing,
  'we read the files and folders that Hadoop S3A writes, and its markers are no files',
  async () => {
    await using driver = openS3(server.options(bucket))
    using folder = createFolder('up')
    writeFileSync(join(folder.up, 'file'), 'content')
    await hadoop('-mkdir', '-p', uri('theirs/empty'))
    await hadoop('-put', join(folder.up, 'file'), uri('theirs/a file'))
    await hadoop('-touchz', uri('theirs/none'))
    const entries = await listAll(driver, at('theirs'))
    expect(
      entries.map(({ name, type, sizeBytes }) => `${name.toString()} ${type} ${sizeBytes}`).toSorted(),
    ).toEqual(['a file file 7', 'empty folder 0', 'none file 0'])
    expect(await listAll(driver, at('theirs/empty'))).toEqual([])
    expect((await contentOf(driver, at('theirs/a file'))).toString()).toBe('content')
    // What we put beside a marker of its own stays seen by it.
    await driver.put(at('theirs/empty/new'), Buffer.from('ours'), {})
    expect(await listed('theirs/empty')).toEqual(['theirs/empty/new 4'])
  },
  patienceMs,
)
