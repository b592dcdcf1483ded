import { Group, Select, Text } from '@mantine/core'
import { useState } from 'react'
import type { Output } from '../../../subjects/kit/contract.ts'
import { exportFormats } from '../../../subjects/kit/table.ts'
import { migrations } from '../../../subjects/migrations/migrations.ts'
import { type FailureClass, failureClassNames } from '../../../subjects/migrations/model/failure-classes.ts'
import type { Migration, MigrationState } from '../../../subjects/migrations/model/model.ts'
import { exclusions } from '../../../subjects/rules/exclusions.ts'
import { mayCall, useAnswer, useCommand } from '../../data/calls.ts'
import { reportOutcome } from '../../data/outcomes.ts'
import type { Session } from '../../data/session.ts'
import { useSession } from '../../data/session-context.ts'
import { Action } from '../../kit/action.tsx'
import { AsCommand } from '../../kit/as-command.tsx'
import { Download } from '../../kit/download.tsx'
import { Empty } from '../../kit/empty.tsx'
import { Failure } from '../../kit/failure.tsx'
import { FormDialog } from '../../kit/form-dialog.tsx'
import { countOf, countText, wordsOf } from '../../kit/format.ts'
import { Named } from '../../kit/named.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { timeColumn } from '../../kit/time-column.tsx'
import { useParam } from '../../kit/use-param.ts'
import { areBeyondRetry } from './beyond-retry.ts'

type Failed = Output<typeof migrations.failures>['failedPaths'][number]

/** More nobody reads in a page: the export has them all. */
const mostShown = 5_000

const columns: readonly Column<Failed>[] = [
  { label: 'Path', cell: ({ path }) => <Named>{path}</Named>, by: ({ path }) => path, width: 2 },
  {
    label: 'Class',
    cell: ({ failureClass }) => wordsOf(failureClass),
    by: ({ failureClass }) => failureClass,
  },
  {
    label: 'Reason',
    cell: ({ failureMessage, excluded = false }) => (
      <>
        {excluded && <b>Excluded since then. </b>}
        <Named>{failureMessage}</Named>
      </>
    ),
    width: 2.5,
  },
  { label: 'Attempts', cell: ({ attempts }) => attempts, by: ({ attempts }) => attempts, width: 0.9 },
  timeColumn('Time', ({ dateFailed }) => dateFailed),
]

/** What did not arrive, and why. */
export function Failures({
  migration: { migrationId, failedPathCount, state },
}: {
  readonly migration: Migration
}) {
  const session = useSession()
  const [failureClass, setClass] = useParam('class')
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const { data, error } = useAnswer(migrations.failures, { migrationId, limit: mostShown })
  const excludedCount = (data?.failedPaths ?? []).filter(({ excluded = false }) => excluded).length
  if (error) return <Failure title="Failures" error={error} />
  if (failedPathCount === 0) return <Empty>There are no failed paths.</Empty>
  const shown = (data?.failedPaths ?? []).filter(
    (one) => failureClass === '' || one.failureClass === failureClass,
  )
  const retried = {
    migrationId,
    // The field offers no others.
    ...(failureClass !== '' && { failureClass: failureClass as FailureClass }),
  }
  return (
    <>
      <Group mb="sm">
        <Action contract={migrations['retry-failures']} input={retried} done="The retry was requested.">
          {failureClass === '' ? 'Retry all' : `Retry ${wordsOf(failureClass)}`}
        </Action>
        <Exclude
          migrationId={migrationId}
          state={state}
          paths={shown.filter((one) => chosen.has(idOf(one))).map(({ path }) => path)}
          onDone={() => setChosen(new Set())}
        />
        {(Object.keys(exportFormats) as (keyof typeof exportFormats)[]).map((format) => (
          <Download key={format} contract={migrations['export-failures']} input={{ migrationId, format }}>
            {`Export as ${format}`}
          </Download>
        ))}
      </Group>
      {excludedCount > 0 && (
        <Text size="sm" mb="sm">
          {`${countOf(excludedCount, 'path')} on this list ${excludedCount === 1 ? 'is' : 'are'} excluded by rules now. ${scanText(state)}`}
        </Text>
      )}
      {areBeyondRetry(shown.filter(({ excluded = false }) => !excluded)) && (
        <Text size="sm" mb="sm">
          A retry alone does not help with these failures: fix the cause first, or select paths and exclude
          them. {scanText(state)}
        </Text>
      )}
      <Table
        label="Failures"
        rows={shown}
        columns={columns}
        idOf={idOf}
        searchedIn={searchedIn}
        {...(mayExclude(session) && { chosen, onChoose: setChosen })}
        filters={
          <Select
            label="Class"
            placeholder="any"
            clearable
            data={failureClassNames.map((value) => ({ value, label: wordsOf(value) }))}
            value={failureClass === '' ? null : failureClass}
            onChange={(value) => setClass(value ?? '')}
          />
        }
      />
      {data !== undefined && data.failedPathCount > data.failedPaths.length && (
        <Text size="sm" mt="sm">
          {`Showing the first ${countText(data.failedPaths.length)} of ${countOf(data.failedPathCount, 'path')}. Export the list to see all of them.`}
        </Text>
      )}
    </>
  )
}

const idOf = ({ id }: Failed) => `${id}`

const mayExclude = (session: Session): boolean =>
  mayCall(session, exclusions['create-paths']) && mayCall(session, exclusions.attach)

/** When excluded paths leave the list: by a scan that comes by itself, or that somebody has to ask for. */
function scanText(state: MigrationState): string {
  if (state === 'COMPLETED') return 'To remove excluded paths from the list, choose “Run again”.'
  if (state === 'LIVE') return 'To remove excluded paths from the list, choose “Rescan a folder”.'
  return 'The next scan removes excluded paths from the list.'
}

/** A rule of the migration for the chosen paths, of whatever class: with the next scan they are no failures. */
function Exclude({
  migrationId,
  state,
  paths,
  onDone,
}: {
  readonly migrationId: string
  readonly state: MigrationState
  readonly paths: readonly string[]
  readonly onDone: () => void
}) {
  const attach = useCommand(exclusions.attach, { changes: [migrations.get.resource] })
  if (paths.length === 0) return null
  return (
    <FormDialog
      button={`Exclude ${countOf(paths.length, 'path')}`}
      title="Exclude paths from the migration"
      contract={exclusions['create-paths']}
      verb="Exclude"
      initial={{ paths: [...paths] }}
      then={({ id }) => <AsCommand contract={exclusions.attach} input={{ migrationId, id }} />}
      onDone={({ id }) => {
        attach.mutate(
          { migrationId, id },
          {
            onSuccess: () => reportOutcome(`Excluded. ${scanText(state)}`),
          },
        )
        onDone()
      }}
    />
  )
}

const searchedIn = ({ path, failureMessage }: Failed) => [path, failureMessage]
