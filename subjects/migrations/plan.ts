import { type Static, Type } from 'typebox'
import { definitions } from '../kit/contract.ts'
import { command } from './commands.ts'
import { actionPolicy, internalId, Migration, migrationId } from './model/model.ts'
import { type PlanAction, planActionNames, planActions, planCounts } from './model/plan-terms.ts'
import { maxRules, ruleHead } from './model/rules.ts'
import {
  Count,
  countFields,
  list,
  model,
  OneOf,
  Path,
  strict,
  Text,
  Timestamp,
  Uuid,
} from '../kit/schemas.ts'

export const planStatuses = ['IN_PROGRESS', 'COMPLETE', 'CANCELLED'] as const

/** Paths of each action that a plan shows. */
export const maxSamples = 20

const counts = countFields(planCounts)

const actionMeanings = Object.fromEntries(
  planActionNames.map((action) => [action, planActions[action].toLowerCase()]),
) as Record<PlanAction, string>

const ExcludedByRule = strict({
  id: ruleHead.id,
  files: Count('Files that it excludes'),
  folders: Count('Folders that it excludes, with all their contents'),
})
export type ExcludedByRule = Static<typeof ExcludedByRule>

export const Plan = model('MigrationPlan', {
  planId: Uuid('Id of the plan, to query its progress'),
  migrationId,
  internalId,
  status: Type.Enum(planStatuses),
  message: Type.Optional(Text('Why the plan ended early')),
  startedAt: Timestamp('Start time'),
  ...counts,
  excludedByRule: Type.Array(ExcludedByRule, {
    maxItems: maxRules,
    description:
      'What each exclusion of the plan excludes. A path counts for the first exclusion that matches it; the contents of an excluded folder are not counted',
  }),
  deletionsNeedApproval: Type.Boolean({
    description: 'Whether there are more deletions than the migration makes without approval',
  }),
  targetFreeBytes: Type.Optional(
    Count('Free space at the target in bytes; absent if the store does not tell'),
  ),
  warning: Type.Optional(
    Text('Why the migration may not complete, such as less free space at the target than it needs'),
  ),
  samples: list(
    strict({
      action: OneOf(actionMeanings),
      path: Path(
        'Path in the source; for a path that exists only at the target, the corresponding path in the source',
      ),
      reason: Type.Optional(Text('Reason for the action')),
    }),
    maxSamples * planActionNames.length,
  ),
})

/** Longer than the longest wait for the end of a plan, by what an answer may take. */
const planDeadlineMs = 30_000

/** What a migration would do. */
export const migrationPlan = definitions({
  'approve-deletions': {
    summary: 'Approve the deletions that a migration holds',
    description: 'If there are more deletions when the migration continues, it stops again.',
    input: strict({ migrationId }),
    output: Migration,
    ...command,
    http: [{ method: 'POST', path: '/api/v1/migrations/{migrationId}/deletions/approve' }],
    cli: { args: ['migrationId'] },
  },
  plan: {
    summary: 'Show what a migration would copy, skip, exclude and delete, without changing anything',
    description:
      'Replies when the plan is complete, or after 20 seconds with the results so far; call again with its id. Plans are kept for an hour, unless the platform restarts. For a live migration that was started, the plan shows what a full comparison would do and which deletions are pending. Before its start, it shows what the first scan would do.',
    input: strict({
      migrationId,
      planId: Type.Optional(Uuid('Id of an existing plan; default: a new plan')),
      actionPolicy: actionPolicy('the policy of the migration'),
      exclusions: Type.Optional(
        Type.Array(ruleHead.id, {
          maxItems: maxRules,
          description: 'Exclusions to plan with; default: those of the migration',
        }),
      ),
      inclusions: Type.Optional(
        Type.Array(ruleHead.id, {
          maxItems: maxRules,
          description: 'Inclusions to plan with; default: those of the migration',
        }),
      ),
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
