import { Button, Text } from '@mantine/core'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { bandwidth } from '../../../subjects/migrations/bandwidth.ts'
import { cleanups } from '../../../subjects/migrations/cleanups.ts'
import type { Contract } from '../../../subjects/kit/contract.ts'
import { migrations } from '../../../subjects/migrations/migrations.ts'
import type { Migration } from '../../../subjects/migrations/model/model.ts'
import { verifications } from '../../../subjects/migrations/verifications.ts'
import { notifications } from '../../../subjects/observability/notifications.ts'
import { exclusions } from '../../../subjects/rules/exclusions.ts'
import { mayCall, pollMs, useAnswer } from '../../data/calls.ts'
import { useEvents } from '../../data/events.ts'
import { useMigrationEvents } from '../../data/migrations.ts'
import { useSession } from '../../data/session-context.ts'
import { Action } from '../../kit/action.tsx'
import { FormDialog } from '../../kit/form-dialog.tsx'
import { capitalized } from '../../kit/format.ts'
import { Later } from '../../kit/later.tsx'
import { Named } from '../../kit/named.tsx'
import { Page } from '../../kit/page.tsx'
import { MigrationStatus } from '../../kit/status.tsx'
import { Tabs } from '../../kit/tabs.tsx'
import { useParam } from '../../kit/use-param.ts'
import { ConditionAlert } from './condition-alert.tsx'
import { Events, useTold } from './events.tsx'
import { helpsOf, modeOf, unfitFields } from './draft.ts'
import { Failures } from './failures.tsx'
import { Overview } from './overview.tsx'
import { type MigrationPart, migrationParts } from './parts.ts'
import { Plan } from './plan.tsx'
import { MigrationRules } from './migration-rules.tsx'
import { Cleanups, Verifications } from './jobs.tsx'
import { Transfer } from './transfer.tsx'
import { isOutdated } from './verification-text.ts'

const going = ['RUNNING', 'LIVE', 'SCHEDULED', 'RECURRENCE_SCHEDULED', 'WAITING_FOR_NEXT_RECURRENCE']

/** What each part shows the answer of, or most of it. */
const shownBy = (
  migrationId: string,
  isCompleted: boolean,
): Readonly<Record<MigrationPart, readonly [Contract, object]>> => ({
  Overview: [migrations.progress, { migrationId }],
  Failures: [migrations.failures, { migrationId }],
  Plan: [migrations.plan, { migrationId, ...(isCompleted && runAgain) }],
  Rules: [exclusions.attached, { migrationId }],
  Transfer: [bandwidth.list, {}],
  Verifications: [verifications.list, { migrationId }],
  Cleanups: [cleanups.list, { migrationId }],
  Events: [notifications.list, { object: migrationId }],
})

const isPart = (tab: string): tab is MigrationPart => Object.hasOwn(migrationParts, tab)

/** The same as the field for the period, for programs. */
const ofPrograms = ['recurringPeriodSeconds']

/** Of the description of a change, what is about schedules alone. */
const ofSchedules = /\bschedule\b/

const all = { to: '/migrations', label: 'Migrations' } as const

/** One migration: how far it is, what is in its way, and all that can be done with it. */
export default function MigrationPage() {
  const { migrationId } = useParams({ strict: false }) as { readonly migrationId: string }
  useMigrationEvents()
  const { data, error } = useAnswer(migrations.get, { migrationId })
  // What its first part shows is asked for at the same time, and nothing moves when it comes.
  const progress = useAnswer(migrations.progress, { migrationId })
  const states = useAnswer(migrations.states, { migrationId })
  useEvents(verifications.list.resource)
  const verified = useAnswer(
    verifications.list,
    { migrationId, states: ['COMPLETE'], limit: 1 },
    { everyMs: pollMs },
  )
  const last = verified.data?.[0]
  const told = useTold(migrationId)
  const [tab] = useParam('tab')
  if (data === undefined || progress.isLoading || states.isLoading || verified.isLoading)
    return (
      <Page title={migrationId} of={all} error={error}>
        {null}
      </Page>
    )
  const { source, target, path, conditions } = data
  const isCompleted = data.state === 'COMPLETED'
  const isOld = last !== undefined && isOutdated(last, data)
  const differs =
    last === undefined || last.totalDiscrepancies === 0 ? undefined : isOld ? 'before the last run' : 'now'
  const parts = shownBy(migrationId, isCompleted)
  const [contract, input] = parts[isPart(tab) ? tab : 'Overview']
  return (
    <Page
      title={migrationId}
      of={all}
      beside={<MigrationStatus of={data} differs={differs} />}
      error={error}
      contract={contract}
      input={{ ...input }}
      actions={<Actions migration={data} />}
    >
      <Text>
        <Named>{`${path}: ${source} → ${target}`}</Named>. {capitalized(data.stateText)}
      </Text>
      {conditions.map((condition) => (
        <ConditionAlert key={condition.reason} migration={data} condition={condition} />
      ))}
      <Later>
        <Tabs
          label="Parts of the migration"
          parts={
            {
              Overview: <Overview migration={data} verified={last} isOutdated={isOld} />,
              Failures: <Failures migration={data} />,
              Plan: <Plan migrationId={migrationId} {...(isCompleted && runAgain)} />,
              Rules: <MigrationRules migration={data} />,
              Transfer: <Transfer migration={data} />,
              Verifications: <Verifications migration={data} />,
              Cleanups: <Cleanups migrationId={migrationId} />,
              Events: <Events migrationId={migrationId} told={told} />,
            } satisfies Record<MigrationPart, ReactNode>
          }
        />
      </Later>
    </Page>
  )
}

/** How a completed migration runs again: all files are compared, and what differs is copied. */
const runAgain = { actionPolicy: 'SkipIfSizeAndTimeMatch' } as const

function Actions({ migration }: { readonly migration: Migration }) {
  const session = useSession()
  const navigate = useNavigate()
  const { migrationId, state, resumable, migrationPriority, targetActionPolicy } = migration
  const isGoing = going.includes(state)
  const isStopping = state === 'STOPPING'
  const isWaiting = state === 'WAITING_FOR_NEXT_RECURRENCE'
  const isBusy = isGoing && !isWaiting
  const goes = isStopping ? 'The migration is stopping.' : isBusy ? 'Stop the migration first.' : undefined
  const started = isStopping ? goes : isBusy ? 'The migration is started already.' : undefined
  // One that was never started could be resumed too, as far as the platform is concerned.
  const goesOn = resumable && state !== 'NONSCHEDULED' && !isWaiting
  const input = { migrationId }
  const mode = modeOf(migration)
  return (
    <>
      {state === 'COMPLETED' ? (
        <Action
          contract={migrations['add-pending-region']}
          input={{ migrationId, path: migration.path, ...runAgain }}
        >
          Run again
        </Action>
      ) : (
        <Action contract={goesOn ? migrations.resume : migrations.start} input={input} unless={started}>
          {goesOn ? 'Resume' : isWaiting ? 'Scan now' : 'Start'}
        </Action>
      )}
      <Action
        contract={migrations.stop}
        input={input}
        unless={isGoing ? undefined : (goes ?? 'The migration is not running.')}
      >
        Stop
      </Action>
      <FormDialog
        button="Change"
        title={`Change ${migrationId}`}
        contract={migrations.update}
        verb="Save"
        given={input}
        hidden={() => [...ofPrograms, ...unfitFields(mode, migration)]}
        helps={() => helpsOf(mode)}
        {...(mode !== 'recurring' && { unsaid: ofSchedules })}
        beside={({ actionPolicy = targetActionPolicy }) =>
          mode === 'once' &&
          actionPolicy === 'Overwrite' && (
            <Text size="sm" mt="sm">
              “Run again” on a completed migration is the exception: it copies only what differs in size or
              time, also with Overwrite.
            </Text>
          )
        }
        initial={{ migrationPriority, actionPolicy: targetActionPolicy }}
      />
      <FormDialog
        button="Rescan a folder"
        contract={migrations['add-pending-region']}
        verb="Rescan"
        done="Rescan requested"
        given={input}
        initial={{ path: migration.path }}
        beside={({ actionPolicy = targetActionPolicy }) => actionPolicy === 'Overwrite' && <OverwriteHint />}
      />
      {mayCall(session, migrations.create) && (
        <Button
          component={Link}
          to="/new-migration"
          {...({ search: { from: migrationId } } as object)}
          variant="default"
        >
          Clone
        </Button>
      )}
      <Action
        contract={migrations.reset}
        input={input}
        unless={goes}
        confirm={{
          name: migrationId,
          warning: `The migration starts over at once, with a new scan. Its queue, statistics and failures are deleted; copied files stay${targetActionPolicy === 'Overwrite' ? ', and are all copied again, as the migration overwrites existing files' : ''}.`,
        }}
      >
        Reset
      </Action>
      <Action
        contract={migrations.delete}
        input={input}
        unless={goes}
        confirm={{
          name: migrationId,
          warning:
            'The migration is deleted with its statistics and failures. Files at source and target stay.',
        }}
        onDone={() => void navigate({ to: all.to })}
      >
        Delete
      </Action>
    </>
  )
}

const OverwriteHint = () => (
  <Text size="sm" mt="sm">
    With Overwrite, all files in the folder are copied again, also those that have not changed. To copy only
    what differs, choose another way for files that already exist at the target.
  </Text>
)
