import { expect, test, vi } from 'vitest'
import type { Emission } from '../../../../broker/state/events.ts'
import type { Deferral } from '../../../../subjects/migrations/model/condition-terms.ts'
import {
  Conditions,
  type WorkState,
  recordConditions,
} from '../../../../services/migrations/progress/conditions.ts'
import { Deferrals } from '../../../../services/migrations/execution/deferrals.ts'
import type { MigrationRecord } from '../../../../services/migrations/lifecycle/record.ts'
import { migrationRecord } from '../../../support/migration-records.ts'
import { testLog } from '../../../support/platform.ts'

const record = migrationRecord({ state: 'RUNNING' })
const failingSince = '2026-02-01T22:00:00.000Z'
const well: WorkState = { record, forStorage: false, deferrals: [], changes: undefined, problem: undefined }

/** Conditions of migrations whose work goes as the test says. */
function watched() {
  const now = {
    states: [well] as WorkState[],
    agent: false,
    limit: undefined as string | undefined,
    latest: record as MigrationRecord | undefined,
    failed: 0,
  }
  const told: Emission[] = []
  const conditions = new Conditions({
    damageOf: () => undefined,
    states: () => now.states,
    waitsForAgent: () => now.agent,
    limitsOf: () => now.limit,
    failedPaths: () => now.failed,
    failingSince: () => failingSince,
    latest: async () => now.latest,
    publish: async (emission) => void told.push(emission),
    log: testLog,
  })
  const reasons = () => conditions.of(record, 0).map(({ reason }) => reason)
  const look = () => {
    conditions.look()
    return reasons()
  }
  return { now, told, conditions, look }
}

const away: Deferral = { reason: 'TARGET_UNREACHABLE', message: '/a: target: connection refused' }

const comparing = {
  detection: 'comparing',
  reason: 'no room to watch',
  lagSeconds: 3,
  unscheduled: 1,
  scheduled: 0,
} as const

test.for<[string, Partial<WorkState>, { agent?: boolean; limit?: string }, string[]]>([
  ['nothing is in the way', {}, {}, []],
  ['there is no room', { forStorage: true }, {}, ['WAITS_FOR_STORAGE']],
  ['the target is away', { deferrals: [away] }, {}, ['TARGET_UNREACHABLE']],
  ['no agent is there', {}, { agent: true }, ['WAITS_FOR_AGENT']],
  ['a limit holds', {}, { limit: 'global, 1 B/s' }, ['BANDWIDTH_LIMITED']],
  ['the work breaks off', { problem: 'the source is gone' }, {}, ['CANNOT_GO_ON']],
  ['it fell back to comparing', { changes: comparing }, {}, ['COMPARING']],
  [
    'a file is written to all the time',
    { changes: { ...comparing, detection: 'watching', reason: undefined, writtenTo: '/file' } },
    {},
    ['BEING_WRITTEN'],
  ],
  [
    'a file with several names waits for a comparison',
    { changes: { ...comparing, detection: 'watching', reason: undefined, comparesAtMs: 0 } },
    {},
    ['HARD_LINKS'],
  ],
  ['it is told of changes', { changes: { ...comparing, detection: 'watching', reason: undefined } }, {}, []],
  ['several are', { deferrals: [away], forStorage: true }, {}, ['WAITS_FOR_STORAGE', 'TARGET_UNREACHABLE']],
])('what is known becomes reasons: %s', ([, state, others, expected]) => {
  const { now, look } = watched()
  now.states = [{ ...well, ...state }]
  Object.assign(now, others)
  expect(look()).toEqual(expected)
})

test('a source that was accepted is no condition any more, before anybody looks again', () => {
  const { now, conditions } = watched()
  const sourceChanged = { since: failingSince, difference: 'source: its folder /data is a different folder' }
  const changed = { ...record, sourceChanged }
  now.states = [{ ...well, record: changed }]
  conditions.look()
  expect(conditions.of(changed, 0)).toMatchObject([{ reason: 'SOURCE_CHANGED', since: failingSince }])
  expect(conditions.of(record, 0)).toEqual([])
})

test('what kept it from going on before it was started again is over, and is new when it is found again', () => {
  vi.useFakeTimers({ now: Date.parse('2026-02-01T22:00:00.000Z') })
  try {
    const { now, conditions } = watched()
    now.states = [{ ...well, problem: 'the target is gone', deferrals: [away] }]
    conditions.look()
    expect(conditions.of(record, 0)).toHaveLength(2)
    const scheduled = '2026-02-01T22:00:05.000Z'
    const resumed = { ...record, scheduled }
    expect(conditions.of(resumed, 0)).toEqual([])
    vi.setSystemTime(scheduled)
    now.states = [{ ...well, record: resumed, problem: 'the target is gone' }]
    conditions.look()
    expect(conditions.of(resumed, 0)).toMatchObject([{ reason: 'CANNOT_GO_ON', since: scheduled }])
  } finally {
    vi.useRealTimers()
  }
})

test('a change of reasons is told once, another message is not; a reason keeps its time', async () => {
  const { now, told, conditions, look } = watched()
  look()
  expect(told).toEqual([])
  now.states = [{ ...well, deferrals: [away] }]
  look()
  const [{ since } = { since: '' }] = conditions.of(record, 0)
  now.states = [{ ...well, deferrals: [{ ...away, message: '/b: target: timed out' }] }]
  look()
  expect(conditions.of(record, 0)).toEqual([{ ...away, message: '/b: target: timed out', since }])
  expect(told.map(({ payload }) => (payload as { conditions: unknown[] }).conditions.length)).toEqual([1])
  expect(told[0]?.subject).toContain('events.v1.migrations.conditions-changed.')
  // Its work has ended.
  now.states = []
  expect(look()).toEqual([])
  await vi.waitFor(() =>
    expect(told.map(({ payload }) => (payload as { conditions: unknown[] }).conditions.length)).toEqual([
      1, 0,
    ]),
  )
})

test.for(['COMPLETED', 'STOPPED', 'WAITING_FOR_NEXT_RECURRENCE', 'SCHEDULED'] as const)(
  'what was in the way of work that is over is neither shown nor kept: %s',
  async (state) => {
    const { now, told, conditions, look } = watched()
    now.states = [{ ...well, deferrals: [away] }]
    now.limit = 'global, 1 B/s'
    look()
    const over = migrationRecord({ state })
    const reasons = () => conditions.of(over, 0).map(({ reason }) => reason)
    const itsOwn = recordConditions(over, Date.now()).map(({ reason }) => reason)
    // Before anybody has looked again, and while its work is still being put away.
    expect(reasons()).toEqual(itsOwn)
    now.latest = over
    now.states = [{ ...well, record: over, deferrals: [away] }]
    look()
    expect(reasons()).toEqual(itsOwn)
    await vi.waitFor(() => expect(told).toHaveLength(2))
    expect(told[1]?.payload).toMatchObject({ state, conditions: itsOwn.map((reason) => ({ reason })) })
  },
)

test('paths that did not arrive are a condition, whether the work goes on or is over, and are told', () => {
  const { now, told, conditions, look } = watched()
  const since = failingSince
  const failed = (paths: string) => ({
    reason: 'PATHS_FAILED',
    message: expect.stringMatching(new RegExp(`"migrations retry-failures" retries them: ${paths}$`)),
    since,
  })
  now.failed = 2
  look()
  expect(told.map(({ payload }) => payload)).toMatchObject([{ conditions: [{ reason: 'PATHS_FAILED' }] }])
  // What is asked for is as it is by now.
  expect(conditions.of(record, 3)).toEqual([failed('3 paths')])
  expect(conditions.of(record, 0)).toEqual([])
  expect(conditions.of(migrationRecord({ state: 'COMPLETED' }), 1)).toEqual([failed('1 path')])
})

test('a record says by itself that it waits for its turn, or for approval', () => {
  const { conditions } = watched()
  const scheduled = '2026-02-01T22:00:00.000Z'
  expect(conditions.of(migrationRecord({ state: 'SCHEDULED', scheduled }), 0)).toMatchObject([
    { reason: 'WAITS_FOR_TURN', since: scheduled },
  ])
  const deletions = { isHeld: true, files: 3, folders: 1, bytes: 9, percent: 50, time: scheduled }
  expect(conditions.of(migrationRecord({ state: 'STOPPED', deletions }), 0)).toMatchObject([
    { reason: 'WAITS_FOR_APPROVAL', message: expect.stringContaining('3 files and 1 folder') },
  ])
})

test('a record says that it waits for the next window of its schedule, and not for its turn', () => {
  const recurrence = {
    schedule: '0 22 * * *',
    timeZone: 'UTC',
    windowSeconds: 3_600,
    count: 1,
    iterations: [],
  }
  const scheduled = '2026-02-01T22:00:00.000Z'
  const record = migrationRecord({ state: 'SCHEDULED', scheduled, recurrence })
  const at = (time: string) => recordConditions(record, Date.parse(time))
  expect(at('2026-02-01T22:59:59.000Z')).toMatchObject([{ reason: 'WAITS_FOR_TURN' }])
  expect(at('2026-02-01T23:00:00.000Z')).toEqual([
    {
      reason: 'WAITS_FOR_WINDOW',
      message: expect.stringMatching(/: next window at 2026-02-02T22:00:00.000Z$/),
      since: scheduled,
    },
  ])
})

test('what was put off is known until it is done; of each reason what was said last', () => {
  const deferrals = new Deferrals()
  deferrals.note('1.retry', away)
  deferrals.note('2.retry', { ...away, message: 'later' })
  deferrals.note('region', { reason: 'TRYING_AGAIN', message: 'one' })
  expect(deferrals.reasons).toEqual([
    { ...away, message: 'later' },
    { reason: 'TRYING_AGAIN', message: 'one' },
  ])
  deferrals.settle('region')
  deferrals.settle('1.retry')
  deferrals.settle(undefined)
  expect(deferrals.reasons).toEqual([{ ...away, message: 'later' }])
  deferrals.settle('2.retry')
  expect(deferrals.reasons).toEqual([])
})

test('a target that is in doubt after a scan with failures is told until they are over', () => {
  const scanned = '2026-02-01T23:00:00.000Z'
  const over = migrationRecord({ migrationId: 'my files', state: 'COMPLETED', inDoubt: true, scanned })
  expect(recordConditions(over, Date.now())).toMatchObject([
    {
      reason: 'TARGET_IN_DOUBT',
      message: expect.stringMatching(/gantry migrations retry-failures 'my files'/),
      since: scanned,
    },
  ])
  // While it is worked on, its work says so.
  expect(recordConditions({ ...over, state: 'RUNNING' }, Date.now())).toEqual([])
})
