import { Alert, Group } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { migrations } from '../../../subjects/migrations/migrations.ts'
import { brokenReasons, type ConditionReason } from '../../../subjects/migrations/model/condition-terms.ts'
import type { Condition } from '../../../subjects/migrations/model/conditions.ts'
import type { Migration } from '../../../subjects/migrations/model/model.ts'
import { platform } from '../../../subjects/platform/platform.ts'
import { useAnswer } from '../../data/calls.ts'
import { Action } from '../../kit/action.tsx'
import { countOf, labelOf, saidText } from '../../kit/format.ts'
import { Named, Time } from '../../kit/named.tsx'
import { areBeyondRetry } from './beyond-retry.ts'

/** Pages where one sees more, or changes what is in the way. */
const settings = { to: '/administration/settings', label: 'Open the settings' } as const
const pages: Partial<Record<ConditionReason, { readonly to: string; readonly label: string }>> = {
  WAITS_FOR_TURN: settings,
  WAITS_FOR_AGENT: { to: '/agents', label: 'Open the agents' },
  WAITS_FOR_STORAGE: { to: '/administration/health', label: 'Open health and tasks' },
  BANDWIDTH_LIMITED: { to: '/bandwidth', label: 'Open the bandwidth limits' },
  RECORD_DAMAGED: { to: '/administration/health', label: 'Open health and tasks' },
}

/** The store that a condition is about. */
function storeOf(reason: ConditionReason, { source, target }: Migration) {
  if (reason.startsWith('SOURCE_')) return { role: 'source', fileSystemId: source }
  return reason.startsWith('TARGET_') ? { role: 'target', fileSystemId: target } : undefined
}

/** A message without the commands that it ends its advice with: beside it stands the button that does the same. */
const textOf = ({ reason, message }: Condition, { failedPathCount }: Migration): string =>
  reason === 'PATHS_FAILED' ? `${countOf(failedPathCount, 'path')} could not be copied` : saidText(message)

/** What is as it should be, and only takes its time. */
const notices: readonly ConditionReason[] = [
  'WAITS_FOR_TURN',
  'WAITS_FOR_WINDOW',
  'BANDWIDTH_LIMITED',
  'COMPARING',
  'HARD_LINKS',
]

/** So few are looked at one by one; among more there are some that a retry may help. */
const mostLookedAt = 100

/** Whether all that failed would fail again. */
function useBeyondRetry({ migrationId, failedPathCount }: Migration, { reason }: Condition): boolean {
  const { data } = useAnswer(
    migrations.failures,
    { migrationId, limit: mostLookedAt },
    { isWanted: reason === 'PATHS_FAILED' && failedPathCount <= mostLookedAt },
  )
  return data !== undefined && areBeyondRetry(data.failedPaths)
}

/** What is in the way of a migration, and what can be done about it. */
export function ConditionAlert({
  migration,
  condition,
}: {
  readonly migration: Migration
  readonly condition: Condition
}) {
  const { reason, since } = condition
  const page = pages[reason]
  const store = storeOf(reason, migration)
  const isBeyondRetry = useBeyondRetry(migration, condition)
  return (
    <Alert
      color={brokenReasons.includes(reason) ? 'red' : notices.includes(reason) ? 'blue' : 'yellow'}
      title={labelOf(reason)}
      mt="sm"
    >
      <Named>{textOf(condition, migration)}</Named> (since <Time at={since} />)
      {isBeyondRetry && '. A retry alone does not help: fix the cause, or exclude the paths.'}
      <Group mt="xs" gap="sm">
        {!isBeyondRetry && <Remedy migration={migration} reason={reason} />}
        {reason === 'PATHS_FAILED' && (
          <Link
            to="/migrations/$migrationId"
            params={{ migrationId: migration.migrationId }}
            {...({ search: { tab: 'Failures' } } as object)}
          >
            Show the failures
          </Link>
        )}
        {page && <Link to={page.to}>{page.label}</Link>}
        {store && (
          <Link to="/stores/$role/$fileSystemId" params={store}>
            Open <Named>{store.fileSystemId}</Named>
          </Link>
        )}
      </Group>
    </Alert>
  )
}

/** The button that does what the message has as a command. */
function Remedy({
  migration: { migrationId, deletions, scanOnlyMigration, recurringMigration, targetMatch },
  reason,
}: {
  readonly migration: Migration
  readonly reason: ConditionReason
}) {
  if (reason === 'SOURCE_CHANGED')
    return (
      <Action
        contract={migrations['accept-source']}
        input={{ migrationId }}
        confirm={{
          name: migrationId,
          warning:
            targetMatch || !(scanOnlyMigration || recurringMigration)
              ? 'The migration continues with the source as it is now, and then deletes at the target what is no longer at the source.'
              : 'The migration continues with the source as it is now. Nothing is deleted at the target.',
        }}
      >
        Accept the source
      </Action>
    )
  if (reason === 'WAITS_FOR_APPROVAL')
    return (
      <Action
        contract={migrations['approve-deletions']}
        input={{ migrationId }}
        confirm={{
          name: migrationId,
          warning: `${deletions === undefined ? 'The pending deletions' : `${countOf(deletions.files, 'file')} and ${countOf(deletions.folders, 'folder')}`} are deleted at the target. This cannot be undone.`,
        }}
      >
        Approve deletions
      </Action>
    )
  if (reason === 'PATHS_FAILED' || reason === 'TARGET_IN_DOUBT')
    return (
      <Action contract={migrations['retry-failures']} input={{ migrationId }}>
        Retry failed paths
      </Action>
    )
  if (reason === 'RECORD_DAMAGED') return <AcceptDamage />
  return null
}

const AcceptDamage = () => (
  <Action
    contract={platform['accept-losses']}
    input={{}}
    confirm={{
      name: 'damage',
      warning:
        'Check the state and settings of the migration first. All damage that is reported is accepted.',
    }}
  >
    Accept the damage
  </Action>
)
