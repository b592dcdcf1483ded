import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { metadataMigrations } from '../../subjects/metadata/migrations.ts'
import { metadataRules } from '../../subjects/metadata/rules.ts'
import { plainStorage } from '../support/catalog-conformance.ts'
import { DocumentLake } from '../support/document-lake.ts'
import { startTestPlatform, type TestPlatform } from '../support/platform.ts'
import { until } from '../support/until.ts'

/** Migrations from documents to documents, each beside its data. */
const never = new AbortController().signal
const rootFolder = '/metadata'
const lake = new DocumentLake()
let platform: TestPlatform
beforeAll(async () => {
  platform = await startTestPlatform()
  await lake.addFilesystems(platform)
  await lake.addCatalogs(platform, rootFolder)
  await platform.call(metadataRules.create, { ruleName: 'all', databasePattern: '*', tablePattern: '*' })
})
afterAll(async () => {
  await platform?.[Symbol.asyncDispose]()
  lake[Symbol.dispose]()
})

/** Texts of all files below a folder, by path. */
const textsIn = (folder: string): Map<string, string> =>
  new Map(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name))
      .map((file) => [file.slice(folder.length), readFileSync(file, 'utf8')]),
  )

const once = async (migrationName: string) => {
  await platform.call(metadataMigrations.create, {
    migrationName,
    source: 'source',
    target: 'target',
    ruleNames: ['all'],
    autoStart: true,
    once: true,
  })
  return until(migrationName, async () => {
    const migration = await platform.call(metadataMigrations.get, { migrationName })
    return migration.state === 'COMPLETED' || migration.state === 'FAILED' ? migration : undefined
  })
}

test('all arrives with its locations changed, and a second time changes no document', async () => {
  const catalog = await lake.open('source', rootFolder)
  const { writer } = catalog
  const at = (path: string) => lake.at(path)
  await writer!.createDatabase({ name: 'sales', location: at('sales'), parameters: {} }, never)
  await writer!.createTable(
    {
      database: 'sales',
      name: 'days',
      type: 'EXTERNAL_TABLE',
      columns: [{ name: 'id', type: 'bigint' }],
      partitionKeys: [{ name: 'day', type: 'string' }],
      storage: plainStorage(at('sales/days')),
      parameters: {},
    },
    never,
  )
  const partitions = Array.from({ length: 500 }, (_, index) => ({
    values: [`d${index}`],
    columns: [],
    storage: plainStorage(at(`sales/days/day=d${index}`)),
    parameters: {},
  }))
  await writer!.addPartitions({ database: 'sales', name: 'days' }, partitions, never)
  catalog.close()
  expect(await once('first')).toMatchObject({
    state: 'COMPLETED',
    databases: 1,
    tables: 1,
    partitions: 500,
    failed: 0,
  })
  const wanted = textsIn(join(lake.root, 'source/metadata'))
  const arrived = textsIn(join(lake.root, 'target/metadata'))
  expect(wanted.size).toBeGreaterThan(3)
  const moved = (text: string) => text.replaceAll(/"file:[^"]*\/source\//g, '"at:')
  const placed = (text: string) => text.replaceAll(/"file:[^"]*\/(?:source|target)\//g, '"at:')
  expect(new Map([...arrived].map(([file, text]) => [file, placed(text)]))).toEqual(
    new Map([...wanted].map(([file, text]) => [file, moved(text)])),
  )
  for (const text of arrived.values()) expect(text).toContain(`${lake.root}/target`)
  expect(await once('second')).toMatchObject({ state: 'COMPLETED', failed: 0 })
  expect(textsIn(join(lake.root, 'target/metadata'))).toEqual(arrived)
})
