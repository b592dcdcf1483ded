import { Type } from 'typebox'
import { definitions } from '../kit/contract.ts'
import { command } from './commands.ts'
import { internalId, Migration, migrationId } from './model/model.ts'
import { type PlanAction, planActionNames, planActions, planCounts } from './model/plan-terms.ts'
import { countFields, list, model, Path, strict, Text, Timestamp, Uuid } from '../kit/schemas.ts'

export const planStatuses = ['IN_PROGRESS', 'COMPLETE', 'CANCELLED'] as const

/** Paths of each action that a plan shows. */
export const maxSamples = 20

const counts = countFields(planCounts)

const actionHelp = (Object.keys(planActions) as PlanAction[])
  .map((action) => `${action}: ${planActions[action].toLowerCase()}`)
  .join('; ')

export const Plan = model('MigrationPlan', {
  planId: Uuid('To ask how far it is'),
  migrationId,
  internalId,
  status: Type.Enum(planStatuses),
  message: Type.Optional(Text('Why it ended before its end')),
  startedAt: Timestamp('When it was begun'),
  ...counts,
  deletionsNeedApproval: Type.Boolean({
    description: 'Whether there are more deletions than the migration makes without being told to',
  }),
  samples: list(
    strict({
      action: Type.Enum(planActionNames, { description: actionHelp }),
      path: Path('Path in the source; of what is only at the target, where it would come from'),
      reason: Type.Optional(Text('Why')),
    }),
    maxSamples * planActionNames.length,
  ),
})

/** Longer than the longest wait for the end of a plan, by what an answer may take. */
const planDeadlineMs = 30_000

/** What a migration would do. */
export const migrationPlan = definitions({
  'approve-deletions': {
    summary: 'Go on with the deletions that a migration holds',
    description: 'It stops again when there are more by then.',
    input: strict({ migrationId }),
    output: Migration,
    ...command,
    http: [{ method: 'POST', path: '/api/v1/migrations/{migrationId}/deletions/approve' }],
    cli: { args: ['migrationId'] },
  },
  plan: {
    summary:
      'What a migration would copy, skip, leave out and delete as things are, without touching anything',
    description:
      'Answers at its end, or after 20 seconds with what is known by then: ask again with its id. Kept for an hour, and not over a restart. Of a live migration that was started it is what a comparison of everything does, and what waits to be deleted; before, what its first scan does.',
    input: strict({
      migrationId,
      planId: Type.Optional(Uuid('A plan that is under way or done; default: a new one')),
    }),
    output: Plan,
    errors: ['NOT_FOUND'],
    deadlineMs: planDeadlineMs,
    http: [{ method: 'GET', path: '/api/v1/migrations/{migrationId}/plan' }],
    cli: {
      args: ['migrationId'],
      columns: ['action', 'path', 'reason'],
      again: { field: 'planId', while: { field: 'status', is: 'IN_PROGRESS' } },
    },
  },
})
