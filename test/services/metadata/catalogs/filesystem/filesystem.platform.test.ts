import { startStores } from '../../../../support/stores.ts'
import { documentCatalogSuite } from './document-catalog-suite.ts'

/** In a container of Azurite. */
documentCatalogSuite('documents in a container', async () => {
  const stores = await startStores('adls2')
  return {
    spec: await stores.create('documents'),
    [Symbol.asyncDispose]: () => stores[Symbol.asyncDispose](),
  }
})
