import { Group } from '@mantine/core'
import { useMemo } from 'react'
import { cleanups } from '../../../subjects/migrations/cleanups.ts'
import type { Output } from '../../../subjects/kit/contract.ts'
import type { Migration } from '../../../subjects/migrations/model/model.ts'
import { hasEnded } from '../../../subjects/migrations/model/jobs.ts'
import { type Verification, verifications } from '../../../subjects/migrations/verifications.ts'
import { jobsEveryMs, useAll, useAnswer } from '../../data/calls.ts'
import { useEvents } from '../../data/events.ts'
import { Action } from '../../kit/action.tsx'
import { Differences } from './differences.tsx'
import { Download } from '../../kit/download.tsx'
import { Empty } from '../../kit/empty.tsx'
import { sizeText } from '../../../subjects/kit/binary-size.ts'
import { countOf, localTime } from '../../kit/format.ts'
import { Status } from '../../kit/status.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { timeColumn } from '../../kit/time-column.tsx'
import { differencesText, sideText } from './verification-text.ts'
import { Verify } from './verify.tsx'

const verificationColumns = (path: string): readonly Column<Verification>[] => [
  timeColumn('Created', ({ createdAt }) => createdAt),
  {
    label: 'Status',
    cell: ({ status, totalDiscrepancies, unreadablePaths }) => (
      <Status
        of={status}
        but={
          totalDiscrepancies > 0
            ? 'with differences'
            : unreadablePaths > 0
              ? 'with unreadable paths'
              : undefined
        }
      />
    ),
    by: ({ status }) => status,
    width: 1.3,
  },
  { label: 'Level', cell: ({ level }) => level, by: ({ level }) => level, width: 0.85 },
  {
    label: 'Source',
    cell: (one) => sideText(one, one.filesOnSource, one.bytesOnSource),
  },
  {
    label: 'Target',
    cell: (one) => sideText(one, one.filesOnTarget, one.bytesOnTarget),
  },
  {
    label: 'Differences',
    cell: differencesText,
    by: ({ totalDiscrepancies }) => totalDiscrepancies,
    width: 1.15,
  },
  {
    label: 'Actions',
    cell: (verification) => {
      const { id, status } = verification
      return hasEnded({ status }) ? (
        <Group gap={4}>
          <Differences verification={verification} path={path} />
          <Download
            contract={verifications.report}
            input={{ verificationId: id, reportId: 'SUMMARY' }}
            isSmall
          >
            Download summary
          </Download>
          <Action
            contract={verifications.delete}
            input={{ verificationId: id }}
            isSmall
            confirm={{ name: 'verification', warning: 'The verification and its reports are deleted.' }}
          >
            Delete
          </Action>
        </Group>
      ) : (
        <Action contract={verifications.cancel} input={{ verificationId: id }} isSmall>
          Cancel
        </Action>
      )
    },
    width: 2,
  },
]

/** Whether the target has what the source has. */
export function Verifications({ migration: { migrationId, path } }: { readonly migration: Migration }) {
  const columns = useMemo(() => verificationColumns(path), [path])
  const { data } = useAll(verifications.list, ({ id }) => id, {
    filter: { migrationId },
    everyMs: jobsEveryMs,
  })
  return (
    <>
      <Group mb="sm">
        <Verify migrationId={migrationId} />
      </Group>
      {data?.length === 0 && (
        <Empty>
          There are no verifications yet. A verification compares source and target, and changes nothing.
        </Empty>
      )}
      {data !== undefined && data.length > 0 && (
        <Table label="Verifications" rows={data} columns={columns} idOf={({ id }) => id} />
      )}
    </>
  )
}

type Cleanup = Output<typeof cleanups.get>

const cleanupColumns: readonly Column<Cleanup>[] = [
  timeColumn('Created', ({ createdAt }) => createdAt),
  {
    label: 'Status',
    cell: ({ status, dryRun }) => (
      <>
        <Status of={status} />
        {dryRun && ' dry run'}
      </>
    ),
  },
  {
    label: 'Removed',
    cell: ({ filesRemoved, bytesRemoved }) => `${countOf(filesRemoved, 'file')}, ${sizeText(bytesRemoved)}`,
  },
  {
    label: 'Removable',
    cell: ({ filesRemovable, bytesRemovable }) =>
      `${countOf(filesRemovable, 'file')}, ${sizeText(bytesRemovable)}`,
  },
  {
    label: 'Kept',
    cell: ({ filesKept, bytesKept }) => `${countOf(filesKept, 'file')}, ${sizeText(bytesKept)}`,
  },
  {
    label: 'Actions',
    cell: ({ id, status }) =>
      hasEnded({ status }) ? (
        <Group gap={4}>
          <Download contract={cleanups.report} input={{ cleanupId: id, reportId: 'KEPT_CSV' }} isSmall>
            Download what is kept
          </Download>
          <Download contract={cleanups.report} input={{ cleanupId: id, reportId: 'REMOVED_CSV' }} isSmall>
            Download what is removed
          </Download>
          <Action
            contract={cleanups.delete}
            input={{ cleanupId: id }}
            isSmall
            confirm={{ name: 'cleanup', warning: 'The record of the cleanup and its reports are deleted.' }}
          >
            Delete
          </Action>
        </Group>
      ) : (
        <Action contract={cleanups.cancel} input={{ cleanupId: id }} isSmall>
          Cancel
        </Action>
      ),
    width: 2,
  },
]

/** What a cleanup would remove, as far as that is known. */
const foundText = (dryRun: Cleanup | undefined): string =>
  dryRun === undefined
    ? 'A dry run shows what would be removed.'
    : `The last dry run, of ${localTime(dryRun.createdAt)}, found ${countOf(dryRun.filesRemovable, 'file')} to remove, ${sizeText(dryRun.bytesRemovable)}.`

const verifiedText = (last: Verification | undefined): string =>
  last === undefined
    ? 'The migration was not verified yet.'
    : `The last verification (${last.level}) found ${countOf(last.totalDiscrepancies, 'difference')}; files that differ are kept.`

/** Removing at the source what is at the target. */
export function Cleanups({ migrationId }: { readonly migrationId: string }) {
  useEvents(cleanups.list.resource)
  const { data } = useAll(cleanups.list, ({ id }) => id, { filter: { migrationId }, everyMs: jobsEveryMs })
  const given = { migrationId, dryRun: true }
  const dryRun = data?.find((one) => one.dryRun && one.status === 'COMPLETE')
  const { data: verified } = useAnswer(verifications.list, { migrationId, limit: 1 })
  return (
    <>
      <Group mb="sm">
        <Action contract={cleanups.create} input={given}>
          Dry run
        </Action>
        <Action
          contract={cleanups.create}
          input={{ migrationId }}
          confirm={{
            name: migrationId,
            warning: `Files that were copied to the target are removed from the source. This cannot be undone. ${foundText(dryRun)} ${verifiedText(verified?.[0])}`,
          }}
        >
          Clean up the source
        </Action>
      </Group>
      {data?.length === 0 && (
        <Empty>
          There are no cleanups yet. A cleanup removes files from the source that a completed migration has
          copied. A dry run only reports what would be removed. Verify the migration first.
        </Empty>
      )}
      {data !== undefined && data.length > 0 && (
        <Table label="Cleanups" rows={data} columns={cleanupColumns} idOf={({ id }) => id} />
      )}
    </>
  )
}
