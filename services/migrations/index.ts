import type { Collection } from '../../broker/collection.ts'
import type { Emission } from '../../broker/events.ts'
import type { Handlers } from '../../subjects/contract.ts'
import type { migrationsInternal } from '../../subjects/migrations-internal.ts'
import type { migrations } from '../../subjects/migrations.ts'
import { maxPageLength } from '../../subjects/schemas.ts'
import { commandHandlers } from './commands.ts'
import { creator } from './create.ts'
import { Figures } from './figures.ts'
import type { PlaceDependencies } from './places.ts'
import { questionHandlers } from './questions.ts'
import type { MigrationRecord } from './record.ts'
import type { RollingStats } from './rolling-stats.ts'
import type { WorkStores } from './work.ts'

export interface MigrationDependencies extends PlaceDependencies, WorkStores {
  readonly records: Collection<typeof MigrationRecord>
  readonly stats: RollingStats
  /** Gives migrations their turn; resolves when that is done. */
  readonly look: () => Promise<void>
  /** Forgets the limit of a migration, if it has one. */
  readonly forgetLimit: (migrationId: string) => Promise<void>
  readonly publish: (emission: Emission) => Promise<void>
}

export function migrationHandlers(dependencies: MigrationDependencies): Handlers<typeof migrations> {
  const figures = new Figures(dependencies.records, dependencies)
  return {
    create: creator(dependencies, figures),
    ...commandHandlers(dependencies, figures),
    ...questionHandlers(dependencies, figures),
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
