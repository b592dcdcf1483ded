import { afterAll, beforeAll } from 'vitest'
import { openCatalog } from '../../../services/metadata/catalogs/index.ts'
import { testCatalog } from '../../support/catalog-conformance.ts'
import {
  type HiveMetastore,
  type MetastoreRelease,
  metastoreReleases,
  noMetastore,
  startMetastore,
} from '../../support/hive-metastore.ts'

for (const release of Object.keys(metastoreReleases) as MetastoreRelease[]) {
  const missing = noMetastore(release)
  let metastore: HiveMetastore
  if (missing === undefined) {
    beforeAll(async () => {
      metastore = await startMetastore(release)
    })
    afterAll(() => metastore?.[Symbol.asyncDispose]())
  }
  testCatalog({
    name: `Hive ${release}`,
    missing,
    open: () => openCatalog({ kind: 'hive', options: metastore.options }),
    locationOf: async (catalog, path) =>
      `${(await catalog.database('default', new AbortController().signal))!.location}/${path}`,
    // Each in the bytes of UTF-8 as long as Hive takes them.
    oddNames: ['select', 'x'.repeat(128), 'with_underscore', '1st'],
    views: ['VIRTUAL_VIEW', 'MATERIALIZED_VIEW'],
    managed: true,
    partitions: true,
    functions: true,
    constraints: true,
    statistics: true,
    // What writes the log of 4.0.1 cannot be had.
    feed: release === '3.1.3',
    transactional: true,
  })
}
