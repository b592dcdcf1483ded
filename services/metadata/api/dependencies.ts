import type { Sealer } from '../../../broker/identity/seal.ts'
import type { Owners } from '../../../broker/rpc/owners.ts'
import type { Collection } from '../../../broker/state/collection.ts'
import type { CatalogSpec } from '../../../subjects/metadata/kinds.ts'
import type { Asker } from '../../questions/question-threads.ts'
import type { CatalogQuestions, QuestionKind } from '../catalogs/questions.ts'
import type { MetadataMigrationRecord } from '../migrations/record.ts'
import type { CatalogRecord } from './record.ts'

export interface MetadataDependencies {
  readonly owners: Owners
  readonly catalogs: Collection<typeof CatalogRecord>
  readonly records: Collection<typeof MetadataMigrationRecord>
  readonly sealer: Sealer
  /** Throws GantryError NOT_ACCEPTED for one that there is not; where none is given, there is nothing to look for. */
  readonly requireFilesystem: (fileSystemId: string | undefined) => Promise<void>
  /** Asks a catalog, in a thread of its own. Throws GantryError NOT_ACCEPTED for its options, StoreError. */
  readonly ask: <K extends QuestionKind>(
    kind: K,
    spec: CatalogSpec,
    asked: CatalogQuestions[K]['asked'],
    asker: Asker,
  ) => Promise<CatalogQuestions[K]['answer']>
}
