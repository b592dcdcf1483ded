import { Alert, Progress, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { migrations } from '../../../subjects/migrations/migrations.ts'
import { type Verification, verifications } from '../../../subjects/migrations/verifications.ts'
import type { Migration } from '../../../subjects/migrations/model/model.ts'
import { type Info, RateMeter } from '../../../subjects/migrations/rate.ts'
import { defaultTimeZone } from '../../../subjects/migrations/model/recurrence.ts'
import { stats } from '../../../subjects/migrations/stats.ts'
import { pollMs, useAnswer } from '../../data/calls.ts'
import { Chart, ChartSpace } from '../../kit/chart.tsx'
import { Fact, Facts } from '../../kit/facts.tsx'
import { rateText, sizeText } from '../../../subjects/kit/binary-size.ts'
import { countOf, countText, durationText, labelOf, optionText, wordsOf } from '../../kit/format.ts'
import { Later } from '../../kit/later.tsx'
import { Named, Time } from '../../kit/named.tsx'
import { Section } from '../../kit/page.tsx'
import { isBlocked } from '../../kit/status.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { timeColumn } from '../../kit/time-column.tsx'
import { type Curve, grown } from './curve.ts'
import { excludedText, filesText } from './figures-text.ts'
import { MovedBy } from './moved-by.tsx'
import { StateTimeline } from './state-timeline.tsx'
import { targetState } from './target-state.ts'
import { differenceKinds, outcomeText } from './verification-text.ts'
import { NextVerify } from './verify.tsx'

type Progress = Info['progress']

/** How far a migration is, and how it is set up. */
export function Overview({
  migration,
  verified,
  isOutdated,
}: {
  readonly migration: Migration
  /** Its last verification that is complete. */
  readonly verified: Verification | undefined
  /** Whether it has copied since. */
  readonly isOutdated: boolean
}) {
  const { migrationId } = migration
  const { data } = useAnswer(migrations.progress, { migrationId })
  const progress = data?.progress
  const at =
    data &&
    targetState({
      ...data,
      isBlocked: isBlocked(migration),
      isScanned: migration.scannerSummary.progressSummary.baseScanCompletionTime !== undefined,
      scans: migration.recurringMigrationTracker?.recurringCount ?? 0,
    })
  return (
    <>
      {verified !== undefined && verified.totalDiscrepancies > 0 && (
        <Differs verified={verified} isOutdated={isOutdated} />
      )}
      <NextVerify migration={migration} verified={verified} />
      {progress && at && (
        <>
          {at.percentage !== undefined && (
            <Progress value={at.percentage} size="lg" aria-label="Progress of the migration" />
          )}
          <Facts>
            <Fact label="Progress">{at.says}</Fact>
            <Fact label="Failed paths">{countText(progress.failedPaths)}</Fact>
            {moving.includes(data.state) && <Speed key={migrationId} info={data} />}
            {progress.changeDetection !== undefined && (
              <Fact label="Change detection">
                {wordsOf(progress.changeDetection)}
                {progress.changeDetectionReason !== undefined && `: ${progress.changeDetectionReason}`}
              </Fact>
            )}
            {progress.changeLagSeconds !== undefined &&
              (migration.state === 'STOPPED' ? (
                <Fact label="Changes not followed for">{durationText(progress.changeLagSeconds)}</Fact>
              ) : (
                <Fact label="Lag">{durationText(progress.changeLagSeconds)}</Fact>
              ))}
          </Facts>
          <Section title="Totals">
            <Text size="sm">
              {migration.recurringMigration
                ? 'Of the current or last scan.'
                : 'Of all scans since the first start. A file that is found or copied again is counted again.'}
            </Text>
            <Facts>
              <Fact label={migration.recurringMigration ? 'Found' : 'Found in all scans'}>
                {filesText(progress.filesScanned, progress.totalBytes)}
              </Fact>
              <Fact label="Copied">{filesText(progress.filesMigrated, progress.totalMigratedBytes)}</Fact>
              <Fact label="Already at the target">{countOf(progress.filesSkipped, 'file')}</Fact>
              {progress.filesSuperseded > 0 && (
                <Fact label="Changed, deleted or retried since they were found">
                  {filesText(progress.filesSuperseded, progress.bytesSuperseded)}
                </Fact>
              )}
              <Excluded summary={migration.scannerSummary.progressSummary} />
              <Deleted progress={progress} migration={migration} />
            </Facts>
          </Section>
          <History migration={migration} bytesNow={progress.totalMigratedBytes} />
        </>
      )}
      <Later>
        <Facts>
          <Fact label="Created">
            <Time at={migration.migrationCreatedTime} />
          </Fact>
          <Fact label="First started">
            <Time at={migration.migrationStartTime} />
          </Fact>
          <Fact label="Completed">
            <Time at={migration.migrationCompleteTime} />
          </Fact>
          <Fact label="Next scan">
            <Time at={migration.nextRecurrenceTime} />
          </Fact>
          {migration.recurringPeriodSeconds !== undefined && (
            <Fact label="Period">{durationText(migration.recurringPeriodSeconds)}</Fact>
          )}
          {migration.recurringSchedule !== undefined && (
            <Fact label="Schedule">
              <Named>{`${migration.recurringSchedule} (${migration.recurringTimeZone ?? defaultTimeZone})`}</Named>
            </Fact>
          )}
          <Fact label="Priority">{wordsOf(migration.migrationPriority)}</Fact>
          <Fact label={labelOf('actionPolicy')}>
            {optionText(migration.targetActionPolicy)}
            {migration.targetActionPolicy === 'Overwrite' &&
              migration.scanOnlyMigration &&
              !migration.recurringMigration &&
              '; “Run again” copies only what differs'}
          </Fact>
          <Fact label="Moved by">
            <MovedBy migration={migration} />
          </Fact>
          <Fact label="Mode">{modeOf(migration)}</Fact>
          <LastVerification migrationId={migrationId} />
        </Facts>
        <StateTimeline migrationId={migrationId} />
        <Recurrences migration={migration} />
        <UnderWay migrationId={migrationId} isDone={isDone(data)} />
      </Later>
    </>
  )
}

/** That the target is not as the source, whatever the state. */
function Differs({
  verified,
  isOutdated,
}: {
  readonly verified: Verification
  readonly isOutdated: boolean
}) {
  const { says, advice } = differenceKinds(verified)
  return (
    <Alert
      color="yellow"
      title={`The last verification${isOutdated ? ', from before the last run,' : ''} found ${says}`}
      mb="md"
    >
      {isOutdated ? 'Verify again to see what still differs. ' : `${advice} `}
      This notice goes away once a verification finds none.{' '}
      <Link
        to="/migrations/$migrationId"
        params={{ migrationId: verified.migrationId }}
        {...({ search: { tab: 'Verifications' } } as object)}
      >
        Show the verifications
      </Link>
    </Alert>
  )
}

const moving = ['RUNNING', 'LIVE']
const measuredEveryMs = 1_000

/** How fast it goes, measured over the last seconds that one sees it, and how long it would still take so. */
function Speed({ info }: { readonly info: Info }) {
  const [meter] = useState(() => new RateMeter())
  const [rate, setRate] = useState(() => meter.add(info, performance.now()))
  useEffect(() => {
    const measure = () => setRate(meter.add(info, performance.now()))
    measure()
    // Nothing is told while nothing moves.
    const timer = setInterval(measure, measuredEveryMs)
    return () => clearInterval(timer)
  }, [meter, info])
  const { bytesPerSecond, filesPerSecond, etaSeconds } = rate
  return (
    <>
      <Fact label="Speed">{`${rateText(bytesPerSecond)}, ${countText(Math.round(filesPerSecond))} files/s`}</Fact>
      {etaSeconds !== undefined && <Fact label="Time left">{durationText(etaSeconds)}</Fact>}
    </>
  )
}

/** What is known of the target beyond what was copied. */
function LastVerification({ migrationId }: { readonly migrationId: string }) {
  const { data } = useAnswer(verifications.list, { migrationId, limit: 1 }, { everyMs: pollMs })
  const last = data?.[0]
  if (data === undefined) return null
  return (
    <Fact label="Last verification">
      {last === undefined ? (
        'none'
      ) : (
        <>
          {`${last.level}, ${outcomeText(last)}, `}
          <Time at={last.createdAt} />
        </>
      )}
    </Fact>
  )
}

/** What its rules have left out. */
function Excluded({
  summary: { filesExcluded, bytesExcluded, dirsExcluded },
}: {
  readonly summary: Migration['scannerSummary']['progressSummary']
}) {
  if (filesExcluded + dirsExcluded === 0) return null
  return <Fact label="Excluded">{excludedText(filesExcluded, bytesExcluded, dirsExcluded)}</Fact>
}

/** What the migration has deleted at the target: as it followed its source, or to match it. */
function Deleted({
  progress: { filesDeleted, foldersDeleted },
  migration: { deletions },
}: {
  readonly progress: Pick<Progress, 'filesDeleted' | 'foldersDeleted'>
  readonly migration: Migration
}) {
  const matched = deletions?.isHeld === false ? deletions : { files: 0, folders: 0 }
  const [files, folders] = [Math.max(filesDeleted, matched.files), Math.max(foldersDeleted, matched.folders)]
  if (files + folders === 0) return null
  return (
    <Fact label="Deleted at the target">{`${countOf(files, 'file')}, ${countOf(folders, 'folder')}`}</Fact>
  )
}

const modeOf = ({ scanOnlyMigration, recurringMigration }: Migration): string =>
  recurringMigration ? 'recurring' : scanOnlyMigration ? 'one-time' : 'live'

/** Points of a curve that one has watched: more are too close to be told apart. */
const mostSeen = 600

/** The curve that was watched last, in this tab of the browser until it is closed: the platform keeps a point a minute. */
const seenKey = 'gantry.seen-curve'

function keptCurve(id: string): Curve | undefined {
  const text = sessionStorage.getItem(seenKey)
  if (text === null) return undefined
  // Written by this page alone.
  const kept = JSON.parse(text) as { readonly id: string; readonly seen: Curve }
  return kept.id === id ? kept.seen : undefined
}

/**
 * A figure as it has grown while one watched it, and is now; from the beginning where it has become smaller.
 * @param id of what it is a figure of
 */
function useSeen(id: string, figure: number): Curve {
  const [seen, setSeen] = useState<Curve>(() => keptCurve(id) ?? [[Date.now(), figure]])
  useEffect(() => sessionStorage.setItem(seenKey, JSON.stringify({ id, seen })), [id, seen])
  useEffect(() => {
    setSeen((before) =>
      (before.at(-1)?.[1] ?? 0) > figure
        ? [[Date.now(), figure]]
        : [...before, [Date.now(), figure] as const].slice(-mostSeen),
    )
  }, [figure])
  return [...seen, [Date.now(), figure]]
}

/** Bytes over time: what the platform has kept, and now. */
function History({
  migration: { migrationId, internalId, migrationStartTime, recurringMigration },
  bytesNow,
}: {
  readonly migration: Migration
  readonly bytesNow: number
}) {
  const { data } = useAnswer(stats.history, { migrationId }, { everyMs: 6 * pollMs })
  const seen = useSeen(internalId, bytesNow)
  if (data === undefined) return <ChartSpace />
  // Once it was reset, what was copied before belongs to another curve. What came before the first sample was not there at first.
  const startMs = migrationStartTime === undefined || recurringMigration ? 0 : Date.parse(migrationStartTime)
  const begun = startMs === 0 ? [] : [[startMs, 0] as const]
  const kept = data
    .map(({ timeStamp, migrationStats }) => [timeStamp, migrationStats.successfulBytesMigrated] as const)
    .filter(([timeMs]) => timeMs >= startMs)
    .toSorted(([one], [other]) => one - other)
  const lastMs = kept.at(-1)?.[0] ?? startMs
  return (
    <Chart
      label="Bytes copied over time"
      series={[
        {
          label: 'Copied',
          points: recurringMigration
            ? [...kept, ...seen.filter(([timeMs]) => timeMs > lastMs)]
            : grown([...begun, ...kept, ...seen.filter(([timeMs]) => timeMs >= startMs)]),
        },
      ]}
      format={sizeText}
      isStepped
    />
  )
}

type Iteration = NonNullable<Migration['recurringMigrationTracker']>['iterations'][number]

const iterationColumns: readonly Column<Iteration>[] = [
  { label: 'Scan', cell: ({ iteration }) => countText(iteration), by: ({ iteration }) => iteration },
  timeColumn('Started', ({ startTime }) => startTime),
  {
    label: 'Duration',
    cell: ({ durationInSeconds }) =>
      durationInSeconds === undefined ? '–' : durationText(durationInSeconds),
  },
  {
    label: 'Files',
    cell: ({ filesMigrated }) => countText(filesMigrated),
    by: ({ filesMigrated }) => filesMigrated,
  },
  {
    label: 'Bytes',
    cell: ({ bytesMigrated }) => sizeText(bytesMigrated),
    by: ({ bytesMigrated }) => bytesMigrated,
  },
  { label: 'Failures', cell: ({ failedPathCount }) => countText(failedPathCount) },
]

function Recurrences({ migration: { recurringMigrationTracker } }: { readonly migration: Migration }) {
  if (recurringMigrationTracker === undefined || recurringMigrationTracker.iterations.length === 0)
    return null
  return (
    <Section title="Scans">
      <Table
        label="Scans"
        rows={recurringMigrationTracker.iterations}
        columns={iterationColumns}
        idOf={({ iteration }) => `${iteration}`}
      />
    </Section>
  )
}

/** Whether everything that was found has arrived. */
function isDone(info: Info | undefined): boolean {
  if (info?.state === 'COMPLETED') return true
  const { unscheduledEvents = 0, scheduledEvents = 0, changeLagSeconds } = info?.progress ?? {}
  return info?.state === 'LIVE' && changeLagSeconds === 0 && unscheduledEvents + scheduledEvents === 0
}

/** What has waited longest, and what is to be scanned again. */
function UnderWay({
  migrationId,
  isDone: isOver,
}: {
  readonly migrationId: string
  /** Whether nothing waits, as is known sooner than what waited last. */
  readonly isDone: boolean
}) {
  const oldest = useAnswer(migrations['oldest-work'], { migrationId }, { everyMs: pollMs })
  const regions = useAnswer(migrations['pending-regions'], { migrationId }, { everyMs: pollMs })
  const waits = oldest.data?.path !== undefined && !isOver
  if (!waits && (regions.data ?? []).length === 0) return null
  return (
    <Section title="Pending work">
      <Facts>
        {waits && (
          <Fact label="Oldest pending item">
            <Named>{oldest.data!.path!}</Named> since <Time at={oldest.data!.queuedDate} />
          </Fact>
        )}
        {regions.data?.map(({ pendingRegionId, path, dateCreated }) => (
          <Fact key={pendingRegionId} label="Pending rescan">
            <Named>{path}</Named> since <Time at={dateCreated} />
          </Fact>
        ))}
      </Facts>
    </Section>
  )
}
