import { Button, Progress, Select } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import type { Input } from '../../../subjects/kit/contract.ts'
import { maxPageLength } from '../../../subjects/kit/schemas.ts'
import { migrations } from '../../../subjects/migrations/migrations.ts'
import { type Migration, migrationStates } from '../../../subjects/migrations/model/model.ts'
import { shareOfMigration } from '../../../subjects/migrations/rate.ts'
import { type Verification, verifications } from '../../../subjects/migrations/verifications.ts'
import { mayCall, useAnswer } from '../../data/calls.ts'
import { useEvents } from '../../data/events.ts'
import { useMigrationEvents, useMigrations } from '../../data/migrations.ts'
import { useSession } from '../../data/session-context.ts'
import { Empty } from '../../kit/empty.tsx'
import { sizeText } from '../../../subjects/kit/binary-size.ts'
import { countText, durationText, wordsOf } from '../../kit/format.ts'
import { MigrationLink } from '../../kit/migration-link.tsx'
import { Named, Time } from '../../kit/named.tsx'
import { Page } from '../../kit/page.tsx'
import { MigrationStatus } from '../../kit/status.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { useParam } from '../../kit/use-param.ts'
import { ChosenActions, mayActOnChosen } from './chosen-actions.tsx'
import { isOutdated } from './verification-text.ts'

/** @param differing last verifications that found differences, by their migrations */
const columnsOf = (differing: ReadonlyMap<string, Verification>): readonly Column<Migration>[] => [
  {
    label: 'Name',
    cell: ({ migrationId }) => <MigrationLink name={migrationId} />,
    by: ({ migrationId }) => migrationId,
    width: 2,
  },
  {
    label: 'State',
    cell: (migration) => {
      const found = differing.get(migration.migrationId)
      return (
        <MigrationStatus
          of={migration}
          differs={found && (isOutdated(found, migration) ? 'before the last run' : 'now')}
        />
      )
    },
    by: ({ state }) => state,
    width: 1.2,
  },
  {
    label: 'Source and target',
    cell: ({ path, source, target }) => <Named>{`${path}: ${source} → ${target}`}</Named>,
    by: ({ source, target }) => `${source} ${target}`,
    width: 2,
  },
  {
    label: 'Copied',
    cell: (migration) => <Moved migration={migration} />,
    by: (migration) => copiedBytes(migration),
  },
  {
    label: 'Failures',
    cell: ({ failedPathCount }) => (failedPathCount > 0 ? countText(failedPathCount) : ''),
    by: ({ failedPathCount }) => failedPathCount,
  },
  {
    label: 'Lag, next scan',
    cell: ({ state, changeLagSeconds, nextRecurrenceTime }) =>
      nextRecurrenceTime !== undefined ? (
        <Time at={nextRecurrenceTime} />
      ) : state === 'LIVE' && changeLagSeconds !== undefined ? (
        durationText(changeLagSeconds)
      ) : (
        ''
      ),
    by: ({ changeLagSeconds }) => changeLagSeconds ?? -1,
    width: 1.8,
  },
  {
    label: 'Priority',
    cell: ({ migrationPriority }) => wordsOf(migrationPriority),
    by: ({ migrationPriority }) => migrationPriority,
  },
]

export default function MigrationsPage() {
  const session = useSession()
  const isHeard = useMigrationEvents()
  const { data, error, isPartial } = useMigrations()
  const differing = useDiffering()
  const columns = useMemo(() => columnsOf(differing), [differing])
  const [state, setState] = useParam('state')
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const shown = useMemo(
    () => (data ?? []).filter((one) => state === '' || one.state === state),
    [data, state],
  )
  return (
    <Page
      title="Migrations"
      error={error}
      contract={migrations.list}
      actions={
        mayCall(session, migrations.create) && (
          <Button component={Link} to="/new-migration">
            Create a migration
          </Button>
        )
      }
    >
      {data?.length === 0 && (
        <Empty>
          There are no migrations yet. A migration copies a folder from a source to a target: one-time, live
          or recurring. If there are no stores yet, you add them when you create it.
        </Empty>
      )}
      {data !== undefined && data.length > 0 && (
        <Table
          label="Migrations"
          rows={shown}
          isPartial={isPartial}
          columns={columns}
          idOf={idOf}
          searchedIn={searchedIn}
          filters={
            <>
              <Select
                label="State"
                placeholder="any"
                clearable
                data={migrationStates.map((value) => ({ value, label: wordsOf(value) }))}
                value={state === '' ? null : state}
                onChange={(value) => setState(value ?? '')}
              />
              {chosen.size > 0 && <ChosenActions chosen={chosen} onDone={() => setChosen(new Set())} />}
              {!isHeard && <span>Updated every 10 s, because your role cannot subscribe to events.</span>}
            </>
          }
          {...(mayActOnChosen(session) && { chosen, onChoose: setChosen })}
        />
      )}
    </Page>
  )
}

/** Of the newest verifications, one request for all migrations: older ones are told on the pages of theirs. */
const verificationsAsked = { states: ['COMPLETE'], limit: maxPageLength } satisfies Input<
  typeof verifications.list
>

/** Last verifications of migrations, where they found differences. */
function useDiffering(): ReadonlyMap<string, Verification> {
  useEvents(verifications.list.resource)
  const { data } = useAnswer(verifications.list, verificationsAsked)
  return useMemo(() => {
    const newest = new Map<string, Verification>()
    for (const one of data ?? []) if (!newest.has(one.migrationId)) newest.set(one.migrationId, one)
    return new Map([...newest].filter(([, { totalDiscrepancies }]) => totalDiscrepancies > 0))
  }, [data])
}

const idOf = ({ migrationId }: Migration) => migrationId
const searchedIn = ({ migrationId, path, source, target }: Migration) => [migrationId, path, source, target]

/** By the scan, by changes since, and of files that are not complete yet. */
const copiedBytes = ({ scannerSummary, clientActivitySummary, bytesInProgress }: Migration): number =>
  scannerSummary.contentSummary.byteCount + clientActivitySummary.byteCount + bytesInProgress

function Moved({ migration }: { readonly migration: Migration }) {
  const { migrationId, scannerSummary, state } = migration
  const moved = sizeText(copiedBytes(migration))
  const share = shareOfMigration(migration)
  if (state !== 'RUNNING' || share === undefined) return <>{moved}</>
  const all = sizeText(scannerSummary.progressSummary.bytesScanned)
  return (
    <Progress value={share} aria-label={`Progress of ${migrationId}`} title={`${moved} of ${all} found`} />
  )
}
