import { afterAll, beforeAll, expect } from 'vitest'
import { metadataCatalogs } from '../../../subjects/metadata/catalogs.ts'
import { type HiveMetastore, metastoreTest, noMetastore } from '../../support/hive-metastore.ts'
import type { TestPlatform } from '../../support/platform.ts'
import { startWarehouse, type Warehouse } from '../../support/warehouse.ts'

/** A whole platform with a real metastore. */
const release = '4.0.1'
const catalogId = 'warehouse'
let warehouse: Warehouse | undefined
let platform: TestPlatform
let metastore: HiveMetastore
if (noMetastore(release) === undefined) {
  beforeAll(async () => {
    warehouse = await startWarehouse(release, ['2026-11-24', '2026-11-25'])
    ;({ platform, metastore } = warehouse)
    await platform.call(metadataCatalogs['create-hive'], { catalogId, ...metastore.options })
  })
  afterAll(() => warehouse?.[Symbol.asyncDispose]())
}
const rest = async (path: string) => {
  const { status, body } = await platform.rest('platform', 'GET', `/api/v1/metadata/catalogs${path}`)
  return { status, body }
}

metastoreTest(release, 'what a metastore holds is seen over REST', async () => {
  expect(await rest('')).toMatchObject({
    body: [{ catalogId, kind: 'hive', properties: { user: 'tester' } }],
  })
  expect(await rest(`/${catalogId}/databases?like=def*`)).toEqual({
    status: 200,
    body: [{ name: 'default' }],
  })
  expect(await rest(`/${catalogId}/databases/default`)).toMatchObject({ body: { name: 'default' } })
  expect(await rest(`/${catalogId}/databases/default/tables`)).toEqual({
    status: 200,
    body: [{ name: 'days', type: 'EXTERNAL_TABLE' }],
  })
  expect(await rest(`/${catalogId}/databases/default/tables/days`)).toMatchObject({
    body: { partitionKeys: [{ name: 'day', type: 'date' }] },
  })
  const partitions = `/${catalogId}/databases/default/tables/days/partitions`
  expect(await rest(`${partitions}?limit=1&after=day=2026-11-24`)).toMatchObject({
    body: [{ name: 'day=2026-11-25', location: 'file:/tmp/days/2026-11-25' }],
  })
  expect(
    await rest(`/${catalogId}/databases/default/tables/days/partition?partition=day%3D2026-11-24`),
  ).toMatchObject({ status: 200, body: { values: ['2026-11-24'] } })
  for (const path of ['/default/tables/none', '/none', '/none/tables', '/default/tables/none/partitions'])
    expect(await rest(`/${catalogId}/databases${path}`), path).toMatchObject({
      status: 404,
      body: { code: 'NOT_FOUND' },
    })
  expect(
    await rest(`/${catalogId}/databases/default/tables/days/partition?partition=day%3D1999-01-01`),
  ).toMatchObject({ status: 404 })
})

metastoreTest(release, 'a catalog is checked, changed and forgotten', async () => {
  const { 'check-stored': check, 'update-hive': update, get } = metadataCatalogs
  expect(await platform.call(check, { catalogId })).toMatchObject({
    ok: true,
    checks: [
      { check: 'reach', result: 'yes', detail: expect.stringContaining('4.0.1') },
      { check: 'list', result: 'yes' },
      { check: 'read', result: 'yes', detail: 'table default.days' },
      { check: 'write', result: 'untried' },
    ],
  })
  const away = { catalogId, metastoreUris: 'thrift://127.0.0.1:1' }
  await expect(platform.call(update, away)).rejects.toMatchObject({ code: 'STORE_UNREACHABLE' })
  await platform.call(update, { catalogId, user: 'somebody' })
  expect(await platform.call(get, { catalogId })).toMatchObject({
    properties: { user: 'somebody', metastoreUris: metastore.options.metastoreUris },
  })
  await expect(
    platform.call(metadataCatalogs['create-hive'], { catalogId, ...metastore.options }),
  ).rejects.toMatchObject({ code: 'ALREADY_EXISTS' })
  await platform.call(metadataCatalogs.delete, { catalogId })
  await expect(platform.call(get, { catalogId })).rejects.toMatchObject({ code: 'NOT_FOUND' })
})
