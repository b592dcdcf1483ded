import type { ConditionReason } from '../../subjects/migrations/model/condition-terms.ts'
import type { Migration, MigrationState } from '../../subjects/migrations/model/model.ts'
import { product } from '../../subjects/kit/names.ts'
import { plural } from '../../subjects/kit/plural.ts'
import { shellArgument } from '../../subjects/kit/shell-word.ts'
import type { Observation } from './judge.ts'

/** Nothing is moved, or known to be, while one of these holds. */
const standstills: readonly ConditionReason[] = [
  'SOURCE_UNREACHABLE',
  'SOURCE_REFUSES',
  'SOURCE_THROTTLED',
  'TARGET_UNREACHABLE',
  'TARGET_REFUSES',
  'TARGET_THROTTLED',
  'CANNOT_GO_ON',
  'SOURCE_CHANGED',
]
/** What was found is copied by then, but for what failed. */
const doneStates: readonly MigrationState[] = ['COMPLETED', 'LIVE', 'WAITING_FOR_NEXT_RECURRENCE']

type Told = Pick<
  Migration,
  'migrationId' | 'abortReason' | 'conditions' | 'state' | 'stateText' | 'failedPathCount'
>

/** What is to be told of a migration that needs somebody to see to it. */
export function failed(migration: Told): Observation[] {
  const failure = failureOf(migration)
  const { migrationId } = migration
  return failure === undefined
    ? []
    : [{ object: migrationId, summary: `migration “${migrationId}” ${failure}` }]
}

function failureOf(migration: Told): string | undefined {
  const { migrationId, abortReason, conditions, state, stateText, failedPathCount } = migration
  const command = (verb: string) => `"${product} migrations ${verb} ${shellArgument(migrationId)}"`
  if (conditions.some(({ reason }) => reason === 'WAITS_FOR_APPROVAL'))
    return `waits for approval of its deletions at the target: see ${command('plan')}, then run ${command('approve-deletions')}`
  if (abortReason === 'AUTO_ABORTED') return `was ${stateText}`
  const standstill = conditions.find(({ reason }) => standstills.includes(reason))
  if (standstill !== undefined) return `is blocked: ${standstill.message}`
  if (doneStates.includes(state) && failedPathCount > 0)
    return `has ${plural(failedPathCount, 'path')} that ${failedPathCount === 1 ? 'was' : 'were'} not copied`
  return undefined
}
