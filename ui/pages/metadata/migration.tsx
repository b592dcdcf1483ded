import { Alert, Group, Select } from '@mantine/core'
import { useNavigate, useParams } from '@tanstack/react-router'
import type { Output } from '../../../subjects/kit/contract.ts'
import { hasEnded } from '../../../subjects/migrations/model/jobs.ts'
import { type MetadataComparison, metadataComparisons } from '../../../subjects/metadata/comparisons.ts'
import { type MetadataMigration, metadataMigrations } from '../../../subjects/metadata/migrations.ts'
import { metadataRules } from '../../../subjects/metadata/rules.ts'
import { useAll, useAnswer } from '../../data/calls.ts'
import { useEvents } from '../../data/events.ts'
import { Action } from '../../kit/action.tsx'
import { Download } from '../../kit/download.tsx'
import { Empty } from '../../kit/empty.tsx'
import { Fact, Facts } from '../../kit/facts.tsx'
import { FormDialog } from '../../kit/form-dialog.tsx'
import { countText, durationText, labelOf, wordsOf } from '../../kit/format.ts'
import { Named, Time } from '../../kit/named.tsx'
import { Page } from '../../kit/page.tsx'
import { Status } from '../../kit/status.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { timeColumn } from '../../kit/time-column.tsx'
import { Tabs } from '../../kit/tabs.tsx'
import { useParam } from '../../kit/use-param.ts'

const all = { to: '/metadata/migrations', label: 'Metadata migrations' } as const

/** One migration of metadata. */
export default function MetadataMigrationPage() {
  const { migrationName } = useParams({ strict: false }) as { readonly migrationName: string }
  useEvents(metadataMigrations.get.resource)
  const { data, error } = useAnswer(metadataMigrations.get, { migrationName })
  if (data === undefined)
    return (
      <Page title={migrationName} of={all} error={error}>
        {null}
      </Page>
    )
  return (
    <Page
      title={migrationName}
      of={all}
      beside={<Status of={data.state} />}
      error={error}
      contract={metadataMigrations.get}
      input={{ migrationName }}
      actions={<Actions migration={data} />}
    >
      <Named>{`${data.source} → ${data.target}, rules: ${data.ruleNames.join(', ')}`}</Named>
      {data.reason !== undefined && (
        <Alert color="yellow" mt="sm">
          {data.reason}
        </Alert>
      )}
      <Tabs
        label="Parts of the migration"
        parts={{
          Overview: <Overview migration={data} />,
          Objects: <Objects migrationName={migrationName} />,
          'Plans and verifications': <Comparisons migrationName={migrationName} />,
        }}
      />
    </Page>
  )
}

function Actions({ migration }: { readonly migration: MetadataMigration }) {
  const navigate = useNavigate()
  const { data: rules = [] } = useAll(metadataRules.list, ({ ruleName }) => ruleName)
  const { migrationName, state } = migration
  const input = { migrationName }
  const goes = state === 'RUNNING' ? 'Stop the migration first.' : undefined
  return (
    <>
      <Action
        contract={state === 'PAUSED' ? metadataMigrations.resume : metadataMigrations.start}
        input={input}
        unless={state === 'RUNNING' ? 'The migration is running already.' : undefined}
      >
        {state === 'PAUSED' ? 'Resume' : 'Start'}
      </Action>
      <Action
        contract={metadataMigrations.pause}
        input={input}
        unless={state === 'RUNNING' ? undefined : 'The migration is not running.'}
      >
        Pause
      </Action>
      <Action
        contract={metadataMigrations.stop}
        input={input}
        unless={state === 'RUNNING' || state === 'PAUSED' ? undefined : 'The migration is not running.'}
      >
        Stop
      </Action>
      {migration.held > 0 && (
        <Action
          contract={metadataMigrations['approve-drops']}
          input={input}
          confirm={{ name: migrationName, warning: 'The pending drops are carried out at the target.' }}
        >
          Approve drops
        </Action>
      )}
      <FormDialog
        button="Change"
        title={`Change ${migrationName}`}
        contract={metadataMigrations.update}
        verb="Save"
        given={input}
        initial={{ ruleNames: migration.ruleNames, onConflict: migration.onConflict }}
        choices={{ ruleNames: rules.map(({ ruleName }) => ruleName) }}
      />
      <Action
        contract={metadataMigrations.reset}
        input={input}
        unless={goes}
        confirm={{
          name: migrationName,
          warning:
            'At its next start, the migration compares everything as if it had never run. Objects at the target stay.',
        }}
      >
        Reset
      </Action>
      <Action
        contract={metadataMigrations.delete}
        input={input}
        unless={goes}
        confirm={{
          name: migrationName,
          warning: 'The migration is deleted from Gantry. Objects at the target stay.',
        }}
        onDone={() => void navigate({ to: all.to })}
      >
        Delete
      </Action>
    </>
  )
}

function Overview({ migration }: { readonly migration: MetadataMigration }) {
  const counts = Object.entries(migration).filter(
    (pair): pair is [string, number] => typeof pair[1] === 'number',
  )
  return (
    <Facts>
      <Fact label="Created">
        <Time at={migration.created} />
      </Fact>
      <Fact label="Started">
        <Time at={migration.started} />
      </Fact>
      <Fact label="Last full comparison">
        <Time at={migration.compared} />
      </Fact>
      <Fact label="Completed">
        <Time at={migration.completed} />
      </Fact>
      {migration.changeDetection !== undefined && (
        <Fact label="Change detection">
          {`${migration.changeDetection}${migration.changeDetectionReason === undefined ? '' : `: ${migration.changeDetectionReason}`}`}
        </Fact>
      )}
      {counts.map(([name, count]) => (
        <Fact key={name} label={labelOf(name)}>
          {name.endsWith('Seconds') ? durationText(count) : countText(count)}
        </Fact>
      ))}
    </Facts>
  )
}

type MetadataObject = Output<(typeof metadataMigrations)['objects']>[number]

const objectStates = ['arrived', 'failed', 'conflict', 'waiting', 'held'] as const
const idOfObject = ({ kind, database, name = '' }: MetadataObject) => `${kind} ${database} ${name}`

const objectColumns: readonly Column<MetadataObject>[] = [
  { label: 'Kind', cell: ({ kind }) => kind, by: ({ kind }) => kind },
  {
    label: 'Object',
    cell: ({ database, name }) => <Named>{name === undefined ? database : `${database}.${name}`}</Named>,
    by: idOfObject,
    width: 2,
  },
  { label: 'State', cell: ({ state }) => <Status of={state} />, by: ({ state }) => state },
  { label: 'Message', cell: ({ message = '' }) => <Named>{message}</Named>, width: 3 },
  timeColumn('Time', ({ time }) => time),
]

/** What became of each database, table, view and function. */
function Objects({ migrationName }: { readonly migrationName: string }) {
  const [state, setState] = useParam('state')
  const wanted = objectStates.find((one) => one === state)
  const { data } = useAnswer(metadataMigrations.objects, {
    migrationName,
    ...(wanted !== undefined && { state: wanted }),
  })
  return (
    <Table
      label="Objects"
      rows={data ?? []}
      columns={objectColumns}
      idOf={idOfObject}
      searchedIn={({ database, name = '', message = '' }) => [database, name, message]}
      filters={
        <Select
          label="State"
          placeholder="any"
          clearable
          data={[...objectStates]}
          value={wanted ?? null}
          onChange={(value) => setState(value ?? '')}
        />
      }
    />
  )
}

const comparisonColumns: readonly Column<MetadataComparison>[] = [
  timeColumn('Created', ({ createdAt }) => createdAt),
  { label: 'Purpose', cell: ({ purpose }) => purpose, by: ({ purpose }) => purpose },
  {
    label: 'Status',
    // Of a plan they are what it is for.
    cell: ({ status, purpose, totalDifferences }) => (
      <Status
        of={status}
        but={purpose === 'verification' && totalDifferences > 0 ? 'with differences' : undefined}
      />
    ),
  },
  {
    label: 'Differences',
    cell: ({
      same,
      toCreate,
      toChange,
      toDrop,
      onlyAtTarget,
      conflicts,
      waiting,
      refused,
      totalDifferences,
    }) =>
      totalDifferences === 0
        ? `none (${countText(same)} equal)`
        : Object.entries({ toCreate, toChange, toDrop, onlyAtTarget, conflicts, waiting, refused })
            .filter(([, count]) => count > 0)
            .map(([name, count]) => `${countText(count)} ${wordsOf(labelOf(name))}`)
            .join(', '),
    width: 3,
  },
  {
    label: 'Actions',
    cell: ({ id, status }) =>
      hasEnded({ status }) ? (
        <Group gap={4}>
          <Download
            contract={metadataComparisons.report}
            input={{ comparisonId: id, reportId: 'DIFFERENCES_CSV' }}
            isSmall
          >
            Download differences
          </Download>
          <Action contract={metadataComparisons.delete} input={{ comparisonId: id }} isSmall>
            Delete
          </Action>
        </Group>
      ) : (
        <Action contract={metadataComparisons.cancel} input={{ comparisonId: id }} isSmall>
          Cancel
        </Action>
      ),
    width: 2,
  },
]

/** What it would do, and whether the target has what the source has. */
function Comparisons({ migrationName }: { readonly migrationName: string }) {
  useEvents(metadataComparisons.list.resource)
  const { data } = useAll(metadataComparisons.list, ({ id }) => id, { filter: { migrationName } })
  return (
    <>
      <Group mb="sm">
        <Action contract={metadataComparisons.create} input={{ migrationName, purpose: 'plan' }}>
          Plan
        </Action>
        <Action contract={metadataComparisons.create} input={{ migrationName, purpose: 'verification' }}>
          Verify
        </Action>
      </Group>
      {data?.length === 0 && (
        <Empty>
          There are no plans or verifications yet. A plan shows what the migration would do. A verification
          shows the differences between source and target. Neither changes anything.
        </Empty>
      )}
      {data !== undefined && data.length > 0 && (
        <Table
          label="Plans and verifications"
          rows={data}
          columns={comparisonColumns}
          idOf={({ id }) => id}
        />
      )}
    </>
  )
}
