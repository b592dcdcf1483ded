import type { Handlers } from '../../../subjects/kit/contract.ts'
import type { migrationsInternal } from '../../../subjects/migrations/internal.ts'
import type { migrations } from '../../../subjects/migrations/migrations.ts'
import { maxPageLength } from '../../../subjects/kit/schemas.ts'
import { commandHandlers } from './commands.ts'
import { creator } from './create.ts'
import type { MigrationDependencies } from './dependencies.ts'
import { failureHandlers } from './failure-handlers.ts'
import { Figures } from '../reporting/figures.ts'
import { targetMatchHandlers } from './target-match.ts'
import { questionHandlers } from './questions.ts'
import { workingAt } from './working-at.ts'

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
  locate,
  forgetTargetLimit,
}: MigrationDependencies): Handlers<typeof migrationsInternal> {
  return {
    uses: async ({ fileSystemId }) => {
      const all = await records.all()
      return all
        .filter(({ source, target }) => source === fileSystemId || target === fileSystemId)
        .slice(0, maxPageLength)
        .map(({ migrationId }) => migrationId)
    },
    'working-at': async ({ fileSystemId, path }) => {
      const all = await records.all()
      const working = await workingAt({ locate }, all, { fileSystemId, path })
      return working.slice(0, maxPageLength).map(({ migrationId }) => migrationId)
    },
    'forget-target': async ({ fileSystemId }) => {
      await forgetTargetLimit(fileSystemId)
      return {}
    },
  }
}
