import { Card, SimpleGrid, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { metadataMigrations } from '../../../subjects/metadata/migrations.ts'
import { migrations } from '../../../subjects/migrations/migrations.ts'
import { stats } from '../../../subjects/migrations/stats.ts'
import { alerts } from '../../../subjects/observability/alerts.ts'
import { platform } from '../../../subjects/platform/platform.ts'
import { mayCall, pollMs, useAll, useAnswer } from '../../data/calls.ts'
import { useEvents } from '../../data/events.ts'
import { metricNames } from '../../data/metrics.ts'
import { useSession } from '../../data/session-context.ts'
import { Empty } from '../../kit/empty.tsx'
import { Fact, Facts } from '../../kit/facts.tsx'
import { sizeText, rateText } from '../../../subjects/kit/binary-size.ts'
import { countOf, countText, durationText, wordsOf } from '../../kit/format.ts'
import { Components } from '../../kit/health.tsx'
import { MetricChart } from '../../kit/metric-chart.tsx'
import { MigrationLink } from '../../kit/migration-link.tsx'
import { Named, Time } from '../../kit/named.tsx'
import { Page, Section } from '../../kit/page.tsx'
import { isBlocked, Status } from '../../kit/status.tsx'
import { Widgets } from './widgets.tsx'

const counted = [
  ['running', 'running', ['RUNNING']],
  ['live', 'live', ['LIVE']],
  ['waitingForNextRecurrence', 'waiting for the next scan', ['WAITING_FOR_NEXT_RECURRENCE']],
  ['stopped', 'stopped', ['STOPPED']],
  ['completed', 'completed', ['COMPLETED']],
  ['ready', 'not started', ['NONSCHEDULED']],
] as const

/** More than a glance takes in; the lists have them all. */
const mostShown = 10

/** What runs, how fast, and what needs somebody. */
export default function HomePage() {
  const session = useSession()
  useEvents(migrations.summary.resource)
  useEvents(alerts.list.resource)
  const summary = useAnswer(migrations.summary, {})
  const firing = useAnswer(alerts.list, { state: 'firing', limit: 10 })
  const all = counted.flatMap(([name]) => summary.data?.[name].migrations ?? [])
  const blocked = all.filter(isBlocked)
  const failed = all.reduce((sum, { progress }) => sum + progress.failedPaths, 0)
  // Who stopped one knows that it does not follow.
  const following = all.filter(({ state }) => state !== 'STOPPED')
  const lag = Math.max(0, ...following.map(({ progress }) => progress.changeLagSeconds ?? 0))
  if (summary.isLoading) return <Page title="Home">{null}</Page>
  return (
    <Page title="Home" error={summary.error} contract={migrations.summary}>
      {summary.data && (
        <SimpleGrid cols={{ base: 2, sm: 3, lg: 6 }}>
          {counted.map(([name, label, [state]]) => (
            <Card
              key={name}
              withBorder
              component={Link}
              to="/migrations"
              {...({ search: { state } } as object)}
              className="link"
            >
              <Text size="xl" fw={700}>
                {countText(summary.data[name].count)}
              </Text>
              <Text size="sm">{label}</Text>
            </Card>
          ))}
        </SimpleGrid>
      )}
      {summary.data?.overallCount === 0 && (
        <Empty>
          There are no migrations yet. <Link to="/stores">Add a source and a target</Link>, then{' '}
          <Link to="/new-migration">create a migration</Link>.
        </Empty>
      )}
      {firing.data !== undefined && firing.data.length > 0 && (
        <Section title="Alerts">
          {firing.data.map(({ id, severity, summary: said, fired }) => (
            <Text key={id} component="div">
              <Status of={severity} /> <Named>{said}</Named> · firing since <Time at={fired} />
            </Text>
          ))}
        </Section>
      )}
      {blocked.length > 0 && (
        <Section title="Blocked migrations">
          {blocked.slice(0, mostShown).map(({ id, conditions }) => (
            <Text key={id} component="div">
              <MigrationLink name={id} />
              {`: ${conditions.map(({ reason }) => wordsOf(reason)).join(', ')}`}
            </Text>
          ))}
          {blocked.length > mostShown && <Text>{`and ${blocked.length - mostShown} more`}</Text>}
        </Section>
      )}
      <RunningMetadata />
      {mayCall(session, stats.throughput) && <Throughput failed={failed} lag={lag} />}
      <Widgets />
      <Section
        title="Health"
        actions={
          mayCall(session, platform.tasks) && <Link to="/administration/health">Health and tasks</Link>
        }
      >
        <Components />
      </Section>
    </Page>
  )
}

/** Metadata migrations that run: they are none of the counts. */
function RunningMetadata() {
  useEvents(metadataMigrations.list.resource)
  const { data = [] } = useAll(metadataMigrations.list, ({ migrationName }) => migrationName)
  const running = data.filter(({ state }) => state === 'RUNNING')
  if (running.length === 0) return null
  return (
    <Section
      title="Running metadata migrations"
      actions={<Link to="/metadata/migrations">All metadata migrations</Link>}
    >
      {running.slice(0, mostShown).map(({ migrationName, phase, tables, lagSeconds, reason }) => (
        <Text key={migrationName} component="div">
          <MigrationLink name={migrationName} of="metadata" />
          {`: ${[
            ...(phase === undefined ? [] : [phase]),
            countOf(tables, 'table'),
            ...(lagSeconds === undefined ? [] : [`lag ${durationText(lagSeconds)}`]),
          ].join(', ')}`}
          {reason !== undefined && (
            <>
              {', blocked: '}
              <Named>{reason}</Named>
            </>
          )}
        </Text>
      ))}
      {running.length > mostShown && <Text>{`and ${running.length - mostShown} more`}</Text>}
    </Section>
  )
}

const nowSeconds = 10

function Throughput({ failed, lag }: { readonly failed: number; readonly lag: number }) {
  const { data } = useAnswer(stats.throughput, {}, { everyMs: pollMs })
  return (
    <Section title="Throughput">
      <Facts>
        <Fact label="Now">
          {data === undefined ? '–' : rateText(data.last10Secs.totalBytes / nowSeconds)}
        </Fact>
        <Fact label="Files in the last minute">
          {data === undefined ? '–' : countText(data.last60Secs.totalFiles)}
        </Fact>
        <Fact label="Failed paths">{countText(failed)}</Fact>
        <Fact label="Longest lag">{durationText(lag)}</Fact>
      </Facts>
      <SimpleGrid cols={{ base: 1, lg: 2 }}>
        <MetricChart
          label="Throughput, averaged over each minute"
          query={{ name: metricNames.bytesMigrated, aggregate: 'rate', combine: true }}
          format={rateText}
        />
        <MetricChart
          label="Broker storage"
          query={{ name: metricNames.storageBytes }}
          format={sizeText}
          names={{ file: 'On disk', memory: 'In memory' }}
        />
      </SimpleGrid>
    </Section>
  )
}
