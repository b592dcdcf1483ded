import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { filesystems } from '../../../subjects/filesystems/filesystems.ts'
import { startTestPlatform, type TestPlatform } from '../../support/platform.ts'
import { siteFile } from '../../support/site-file.ts'

let platform: TestPlatform
const folder = mkdtempSync(join(tmpdir(), 'gantry-conf-'))
beforeAll(async () => {
  vi.stubEnv('HADOOP_CONF_DIR', folder)
  platform = await startTestPlatform()
})
afterAll(async () => {
  await platform[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true })
  vi.unstubAllEnvs()
})

const migrator = (method: string, path: string, body?: unknown) =>
  platform.rest('migrator', method, path, body === undefined ? {} : { body })

test('where the host is configured for no cluster, all say so', async () => {
  const why = expect.stringMatching(/^there is no core-site\.xml or hdfs-site\.xml in .* HADOOP_CONF_DIR/)
  const told = await platform.call(filesystems['discovery-hdfs'], {})
  expect(told).toEqual({ found: false, message: why, properties: {} })
  expect(await migrator('GET', '/fs/sources/auto-discover-status')).toMatchObject({
    status: 200,
    body: { errorCode: 1, message: why },
  })
  expect(await migrator('GET', '/fs/sources/auto-discover-message')).toMatchObject({ status: 200, body: why })
  const asked = await migrator('POST', '/fs/autodiscover/sources/hdfs?scanOnly=false', {
    successFile: '_DONE',
  })
  expect(asked).toMatchObject({ status: 409, body: { message: why } })
  expect(asked.headers.get('warning')).toMatch(
    /successFile has no effect: folders are migrated without waiting/,
  )
})

test('a cluster is found, shown, and asked before it is kept; what is given goes first', async () => {
  const properties = { 'fs.defaultFS': 'hdfs://lake.example:8020', 'dfs.replication': '2' }
  writeFileSync(join(folder, 'core-site.xml'), siteFile(properties))
  const message = `hdfs://lake.example:8020 is the cluster in ${folder}/core-site.xml`
  expect(await platform.call(filesystems['discovery-hdfs'], {})).toEqual({
    found: true,
    message,
    properties: { defaultFS: 'hdfs://lake.example:8020', 'dfs.replication': '2' },
  })
  const status = await migrator('GET', '/fs/sources/auto-discover-status')
  expect(status.body).toEqual({ errorCode: 0, message })
  const kinds = await platform.call(filesystems.kinds, {})
  expect(kinds.filter(({ autoconfigurable }) => autoconfigurable).map(({ fs }) => fs)).toEqual(['hdfs'])

  // Nobody may be led to an inner address by the files of the host either.
  const given = { defaultFS: 'webhdfs://127.0.0.1:1', user: 'mover' }
  await expect(platform.call(filesystems['discover-hdfs'], given)).rejects.toMatchObject({
    code: 'NOT_ACCEPTED',
    message: expect.stringMatching(/127\.0\.0\.1.*storeHosts/s),
  })
  expect(await platform.call(filesystems.list, {})).toEqual([])
})
