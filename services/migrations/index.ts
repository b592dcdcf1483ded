import type { Collection } from '../../broker/collection.ts'
import type { Condition } from '../../subjects/conditions.ts'
import type { Handlers } from '../../subjects/contract.ts'
import type { migrationsInternal } from '../../subjects/migrations-internal.ts'
import type { migrations } from '../../subjects/migrations.ts'
import { maxPageLength } from '../../subjects/schemas.ts'
import type { Entry, StorePath } from '../drivers/driver.ts'
import type { ChangesView } from './changes/following.ts'
import { commandHandlers } from './commands.ts'
import { creator } from './create.ts'
import { failureHandlers } from './failure-handlers.ts'
import { Figures } from './figures.ts'
import { targetMatchHandlers } from './plans/target-match.ts'
import type { Plans } from './plans/plans.ts'
import type { PlaceDependencies } from './places.ts'
import type { MappingCollection } from './mappings/handlers.ts'
import { questionHandlers } from './questions.ts'
import type { MigrationRecord } from './record.ts'
import type { RollingStats } from './stats/rolling-stats.ts'
import type { RuleBook } from './rules/book.ts'
import type { WorkStores } from './work.ts'

export interface MigrationDependencies extends PlaceDependencies, WorkStores {
  readonly records: Collection<typeof MigrationRecord>
  readonly stats: RollingStats
  readonly rules: RuleBook
  readonly mappings: MappingCollection
  /** Why a target cannot hold something, or undefined when it can; nothing is asked of the store. */
  readonly refusalAt: (
    fileSystemId: string,
    path: StorePath,
    entry: Pick<Entry, 'type' | 'sizeBytes'>,
  ) => Promise<string | undefined>
  /** How a live migration that is worked on in this process follows its source. */
  readonly changesOf: (internalId: string) => ChangesView | undefined
  /** Why a migration does not move. */
  readonly conditionsOf: (record: MigrationRecord) => Condition[]
  /** Gives migrations their turn; resolves when that is done. */
  readonly look: () => Promise<void>
  /** Forgets the limit of a migration, if it has one. */
  readonly forgetLimit: (migrationId: string) => Promise<void>
  /** Removes from its target what writers that died had under construction for a migration. */
  readonly removeLeftovers: (record: MigrationRecord) => Promise<void>
  readonly plans: Pick<Plans, 'handlers'>
}

export function migrationHandlers(dependencies: MigrationDependencies): Handlers<typeof migrations> {
  const figures = new Figures(dependencies)
  return {
    create: creator(dependencies, figures),
    ...commandHandlers(dependencies, figures),
    ...questionHandlers(dependencies, figures),
    ...failureHandlers({ ...dependencies, figures }),
    ...targetMatchHandlers(dependencies, figures),
    ...dependencies.plans.handlers,
  }
}

/** For other services of the platform alone. */
export function migrationInternalHandlers({
  records,
}: MigrationDependencies): Handlers<typeof migrationsInternal> {
  return {
    uses: async ({ fileSystemId }) => {
      const all = await records.list({ limit: Number.POSITIVE_INFINITY })
      return all
        .filter(({ source, target }) => source === fileSystemId || target === fileSystemId)
        .slice(0, maxPageLength)
        .map(({ migrationId }) => migrationId)
    },
  }
}
