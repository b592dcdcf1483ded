import { expect, test } from 'vitest'
import type { StoreError } from '../../../../../services/drivers/contract/store-error.ts'
import type { DocumentCatalog } from '../../../../../services/metadata/catalogs/filesystem/filesystem.ts'
import { startStores } from '../../../../support/stores.ts'
import { database, documentCatalogSuite, never, openAt, table } from './document-catalog-suite.ts'

/** In a container of Azurite. */
documentCatalogSuite('documents in a container', async () => {
  const stores = await startStores('adls2')
  return {
    spec: await stores.create('documents'),
    [Symbol.asyncDispose]: () => stores[Symbol.asyncDispose](),
  }
})

test('of several that make the same object at once, one does', async () => {
  await using stores = await startStores('adls2')
  const spec = await stores.create('documents')
  const opened = await Promise.all(Array.from({ length: 4 }, () => openAt(spec, 'catalog')))
  const made = async (create: (catalog: DocumentCatalog) => Promise<void>) => {
    const outcomes = await Promise.allSettled(opened.map(({ catalog }) => create(catalog)))
    return outcomes
      .map((one) => (one.status === 'fulfilled' ? 'made' : (one.reason as StoreError).failure))
      .toSorted()
  }
  const once = ['changed', 'changed', 'changed', 'made']
  expect(await made(({ writer }) => writer.createDatabase(database('sales'), never))).toEqual(once)
  expect(await made(({ writer }) => writer.createTable(table('sales', 'orders'), never))).toEqual(once)
  for (const one of opened) one[Symbol.dispose]()
})
