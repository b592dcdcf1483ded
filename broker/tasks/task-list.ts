import type { TaskOwner } from '../../subjects/platform/platform.ts'

interface TaskDeclaration {
  /** Which processes run it when several nodes share the work. */
  readonly owner: TaskOwner
  /** For people, in `gantry platform tasks`. */
  readonly summary: string
  /** Milliseconds between two runs; undefined where the task itself says when it is due, or whoever starts it. */
  readonly everyMs?: number
}

/**
 * Everything that this program does by itself, periodically or in the background. Nothing else sets a repeating timer
 * (`test/tidy.test.ts`).
 */
export const taskList = {
  'access.bootstrap-warning': {
    owner: 'one-node',
    summary: 'Warns if everybody who signs in is an administrator',
    // Often enough to be seen in a log of today, not so often that it is filtered out.
    everyMs: 3_600_000,
  },
  'access.ended-sessions': {
    owner: 'one-node',
    summary: 'Deletes sessions that ended more than a day ago',
    everyMs: 3_600_000,
  },
  'access.refusals': { owner: 'every-node', summary: 'Records refused connections and denied subjects' },
  'agents.silent': {
    owner: 'one-node',
    summary: 'Drops agents that have stopped responding',
    everyMs: 1_000,
  },
  'agents.waiting': {
    owner: 'one-node',
    summary: 'Logs migrations that wait for an agent',
    everyMs: 60_000,
  },
  // As often as metrics are collected; whoever asks for alerts has the rules evaluated as well.
  'alerts.rules': { owner: 'one-node', summary: 'Evaluates all alert rules', everyMs: 10_000 },
  'alerts.webhooks': { owner: 'one-node', summary: 'Sends the messages to webhooks that are due' },
  // Time tables change by the minute; a second late is not noticed.
  'bandwidth.timetable': {
    owner: 'one-node',
    summary: 'Applies the bandwidth limits of the time of day',
    everyMs: 1_000,
  },
  'broker.log': {
    owner: 'per-host',
    summary: 'Reads permission violations from the log of nats-server',
  },
  // A flood brings some hundred MB in such a time; looking takes the server and us half a millisecond.
  'broker.pending': {
    owner: 'per-host',
    summary: 'Checks pending messages of connections that do not read, and closes the largest',
    everyMs: 250,
  },
  'platform.lease': { owner: 'one-node', summary: 'Renews the lease on the store' },
  'platform.lease-check': {
    owner: 'one-node',
    summary: 'Ends this process when its lease has ended, for example after a pause',
  },
  // One small request while nothing is stored. What a stream got after the last look is not missed when it is lost.
  'platform.streams': {
    owner: 'one-node',
    summary: 'Compares the contents of each stream with its record',
    everyMs: 5_000,
  },
  'platform.store-claim': {
    owner: 'per-host',
    summary: 'Renews the file that records which process uses the store',
  },
  // Callers are refused within 2 s of the broker's silence.
  'edge.broker-pulse': {
    owner: 'every-node',
    summary: 'Checks that the broker responds to the HTTP servers',
    everyMs: 500,
  },
  'edge.idle-connections': {
    owner: 'every-node',
    summary: 'Closes idle broker connections of HTTP callers',
  },
  'extensions.logs': { owner: 'every-node', summary: 'Stores log entries of extensions' },
  // Silence is noticed within this time of its end.
  'extensions.silent': {
    owner: 'one-node',
    summary: 'Removes extensions that have stopped sending heartbeats',
    everyMs: 1_000,
  },
  // A change that was missed while the broker was away is found by this.
  'extensions.storage-watches': {
    owner: 'every-node',
    summary: 'Checks again for changes that a storage watch waits for',
    everyMs: 5_000,
  },
  // A metastore is asked in a millisecond; what its users make is used by people, who do not notice two seconds.
  'metadata.agents': {
    owner: 'one-node',
    summary: 'Drops agents for catalogs that have stopped responding',
    everyMs: 1_000,
  },
  'metadata.changes': {
    owner: 'per-migration',
    summary: 'Polls the sources of metadata migrations for changes, and retries pending objects',
    everyMs: 2_000,
  },
  // All records are read for it.
  'metadata.metrics': {
    owner: 'one-node',
    summary: 'Counts metadata migrations and their objects, and measures their lag, for the metrics',
    everyMs: 60_000,
  },
  'migrations.comparisons': {
    owner: 'per-migration',
    summary: 'Compares source and target of live migrations whose source reports no changes',
  },
  'migrations.conditions': {
    owner: 'one-node',
    summary: 'Determines the conditions that block migrations',
    everyMs: 1_000,
  },
  // All records are read for it.
  'migrations.count': {
    owner: 'one-node',
    summary: 'Counts migrations by state for the metrics',
    everyMs: 60_000,
  },
  'migrations.failure-events': {
    owner: 'one-node',
    summary: 'Publishes changes of the lists of failures',
    everyMs: 1_000,
  },
  'migrations.snapshots': {
    owner: 'per-migration',
    summary: 'Creates HDFS snapshots for live migrations and reports the differences',
  },
  'migrations.change-feed': {
    owner: 'per-migration',
    summary: "Reads Azure's blob change feed for live migrations from containers",
  },
  // What was read since is compared or told again after a crash.
  'migrations.feed-positions': {
    owner: 'per-migration',
    summary: 'Stores the position of live migrations in the notifications of their sources',
    everyMs: 60_000,
  },
  // As often as metrics are collected: nothing is read for this one.
  'migrations.lag': {
    owner: 'one-node',
    summary: 'Measures the lag of live migrations for the metrics',
    everyMs: 10_000,
  },
  'migrations.progress-events': {
    owner: 'one-node',
    summary: 'Publishes the progress of migrations',
    everyMs: 1_000,
  },
  // As with storage watches: an event that was missed while the broker was away.
  'migrations.reported-changes': {
    owner: 'per-migration',
    summary: 'Checks again for reported changes of sources, and for reporters that have stopped',
    everyMs: 5_000,
  },
  'migrations.rescans': {
    owner: 'per-migration',
    summary: 'Compares everything in case a change was not reported',
    everyMs: 3_600_000,
  },
  'migrations.roots': {
    owner: 'per-migration',
    summary: 'Checks that source and target are still the same folders',
    everyMs: 1_000,
  },
  'migrations.schedule': { owner: 'one-node', summary: 'Starts migrations whose turn or time has come' },
  'migrations.under-way': {
    owner: 'every-node',
    summary: 'Publishes the progress of copies in progress, and detects clock changes',
    everyMs: 1_000,
  },
  // As often as the finest figures are kept (`tiers.ts`).
  'observability.collect': { owner: 'every-node', summary: 'Collects metrics' },
  'observability.keep': { owner: 'one-node', summary: 'Stores metrics', everyMs: 60_000 },
  'otlp.metrics': {
    owner: 'every-node',
    summary: 'Sends metrics to the OpenTelemetry collector',
    everyMs: 30_000,
  },
  'otlp.spans': {
    owner: 'every-node',
    summary: 'Sends spans to the OpenTelemetry collector',
    everyMs: 2_000,
  },
  // A pull request that the broker lost is noticed; see `lostAfterMs`.
  'queues.requests': {
    owner: 'per-migration',
    summary: 'Requests work again if the broker has lost the request',
    everyMs: 5_000,
  },
  // A third of `ackWaitMs`, so that two may be lost.
  'queues.work-in-progress': {
    owner: 'per-migration',
    summary: 'Extends the reservation of work items in progress',
    everyMs: 10_000,
  },
  'removals.guards': {
    owner: 'one-node',
    summary: 'Advances the hourly window of deletion limits of live migrations',
    everyMs: 60_000,
  },
  // Everything moved is in one document; a process that is killed loses what it counted since it was written.
  'stats.keep': { owner: 'one-node', summary: 'Stores statistics of migrations', everyMs: 60_000 },
} as const satisfies Record<string, TaskDeclaration>

export type TaskName = keyof typeof taskList

/** What the list says of a task. */
export const declarationOf = (name: TaskName): TaskDeclaration => taskList[name]

/** Tasks that run in equal periods, whoever starts them. */
export type PeriodicTaskName = {
  [Name in TaskName]: (typeof taskList)[Name] extends { readonly everyMs: number } ? Name : never
}[TaskName]
