import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  restarted,
  MigrationRecord,
  recordUpcasters,
  recordVersion,
  workIdOf,
} from '../../../services/migrations/lifecycle/record.ts'
import { admitted } from '../../../services/migrations/lifecycle/admit.ts'
import { recordConditions } from '../../../services/migrations/progress/conditions.ts'
import { stateText } from '../../../services/migrations/reporting/state-text.ts'
import { next } from '../../../services/migrations/lifecycle/states.ts'
import { nextDueMs, admissionsOf } from '../../../services/scheduling/admission.ts'
import {
  type MigrationPriority,
  type MigrationState,
  migrationPriorities,
  migrationStates,
} from '../../../subjects/migrations/model/model.ts'
import { conditionReasons } from '../../../subjects/migrations/model/condition-terms.ts'
import type { Condition } from '../../../subjects/migrations/model/conditions.ts'
import { maxStateTextLength } from '../../../subjects/migrations/model/model.ts'
import { check } from '../../../subjects/kit/validate.ts'
import { migrationRecord } from '../../support/migration-records.ts'

const now = Date.parse('2026-02-01T00:00:00.000Z')

/** A migration by what it is called here: `high 3 running` came third. */
function record(text: string, fields: Partial<MigrationRecord> = {}): MigrationRecord {
  const [priority = '', order = '', state = 'scheduled'] = text.split(' ')
  return migrationRecord({
    migrationId: text,
    internalId: text.padEnd(36, '-'),
    priority: priority.toUpperCase() as MigrationPriority,
    state: state.toUpperCase() as MigrationRecord['state'],
    scheduled: new Date(now + Number(order)).toISOString(),
    ...fields,
  })
}

const turns = (records: MigrationRecord[], limit: number) =>
  admissionsOf(records, limit, now).map(({ migrationId, trigger }) => `${migrationId} ${trigger}`)

test('without a limit everybody runs', () => {
  expect(turns([record('low 1'), record('high 2'), record('normal 3 running')], 0)).toEqual([
    'high 2 admitted',
    'low 1 admitted',
  ])
})

test('who came first goes first', () => {
  expect(turns([record('normal 2'), record('normal 1'), record('normal 3')], 2)).toEqual([
    'normal 1 admitted',
    'normal 2 admitted',
  ])
})

test('a more urgent one takes the place of the least urgent, and of those of the last that came', () => {
  const running = [record('low 1 running'), record('normal 2 running'), record('normal 3 running')]
  expect(turns([...running, record('high 4')], 3)).toEqual(['low 1 running displaced', 'high 4 admitted'])
  expect(turns([...running.slice(1), record('high 4')], 2)).toEqual([
    'normal 3 running displaced',
    'high 4 admitted',
  ])
})

test('an equally urgent one waits, even if it was asked for earlier', () => {
  expect(turns([record('normal 2 running'), record('normal 1')], 1)).toEqual([])
})

test('who was displaced goes on before those that came after it', () => {
  expect(turns([record('normal 1'), record('normal 3')], 1)).toEqual(['normal 1 admitted'])
})

test('a lower limit makes room from the end', () => {
  const running = ['high 3 running', 'normal 1 running', 'normal 2 running'].map((text) => record(text))
  expect(turns(running, 1)).toEqual(['normal 1 running displaced', 'normal 2 running displaced'])
})

describe('live ones', () => {
  test('count until all that was there is copied', () => {
    expect(turns([record('normal 1 running', { kind: 'live' }), record('normal 2')], 1)).toEqual([])
  })

  test('that only follow changes do not, be it that they were stopped or scan a folder again', () => {
    const follows = { kind: 'live', scanned: '2026-01-31T13:00:00.000Z' } as const
    const all = [
      record('normal 1 running', follows),
      record('low 2', follows),
      record('low 3 live', follows),
      record('normal 4'),
    ]
    expect(turns(all, 1)).toEqual(['low 2 admitted', 'normal 4 admitted'])
  })
})

test('a recurrence is due when its time has come, also long ago', () => {
  const at = (iso: string) =>
    record('normal 1 waiting_for_next_recurrence', {
      kind: 'recurring',
      recurrence: { periodSeconds: 60, nextRun: iso, count: 1, iterations: [] },
    })
  expect(turns([at('2026-02-01T00:00:00.000Z')], 0)).toHaveLength(1)
  expect(turns([at('2025-02-01T00:00:00.000Z')], 0)).toHaveLength(1)
  expect(turns([at('2026-02-01T00:00:00.001Z')], 0)).toEqual([])
  expect(nextDueMs([at('2026-02-01T00:00:00.001Z'), at('2026-02-02T00:00:00.000Z')], now)).toBe(now + 1)
  expect(nextDueMs([], now)).toBeUndefined()
})

describe('a schedule with windows', () => {
  /** From ten in the evening to six. */
  const nightly = { schedule: '0 22 * * *', timeZone: 'UTC', windowSeconds: 8 * 3_600 }
  const ms = (iso: string) => Date.parse(`2026-02-${iso}:00.000Z`)
  const recurring = (state: string, scheduled: string, nextRun?: string) =>
    migrationRecord({
      kind: 'recurring',
      state: state as MigrationRecord['state'],
      scheduled: new Date(ms(scheduled)).toISOString(),
      recurrence: {
        ...nightly,
        count: 1,
        iterations: [],
        ...(nextRun === undefined ? {} : { nextRun: new Date(ms(nextRun)).toISOString() }),
      },
    })
  const at = (record: MigrationRecord, iso: string) =>
    admissionsOf([record], 0, ms(iso)).map(({ trigger }) => trigger)
  const nextAt = (record: MigrationRecord, iso: string) => nextDueMs([record], ms(iso))

  test('ends a run with its window, and goes on with the next', () => {
    const running = recurring('RUNNING', '01T22:00')
    expect(at(running, '02T05:59')).toEqual([])
    expect(nextAt(running, '01T23:00')).toBe(ms('02T06:00'))
    expect(at(running, '02T06:00')).toEqual(['displaced'])
    const waiting = recurring(next(running, 'displaced') as string, '01T22:00')
    expect(waiting.state).toBe('SCHEDULED')
    expect(at(waiting, '02T06:00')).toEqual([])
    expect(nextAt(waiting, '02T06:00')).toBe(ms('02T22:00'))
    expect(at(waiting, '02T22:00')).toEqual(['admitted'])
    expect(at(recurring('RUNNING', '01T22:00'), '03T06:00')).toEqual(['displaced'])
  })

  test('leaves its place to others meanwhile', () => {
    const other = record('low 1')
    const running = { ...recurring('RUNNING', '01T22:00'), priority: 'HIGH' } as const
    expect(admissionsOf([running, other], 1, ms('02T07:00')).map(({ trigger }) => trigger)).toEqual([
      'displaced',
      'admitted',
    ])
  })

  test('what was asked for outside of a window runs at once, to the end of the next', () => {
    const waiting = recurring('SCHEDULED', '01T12:00')
    expect(at(waiting, '01T12:00')).toEqual(['admitted'])
    const running = recurring('RUNNING', '01T12:00')
    for (const time of ['01T21:59', '01T22:00', '02T05:59']) expect(at(running, time)).toEqual([])
    expect(at(running, '02T06:00')).toEqual(['displaced'])
  })

  test('who did not get a turn in its window waits for the next', () => {
    const waiting = recurring('RECURRENCE_SCHEDULED', '01T22:00')
    expect(at(waiting, '02T05:00')).toEqual(['admitted'])
    expect(at(waiting, '02T07:00')).toEqual([])
  })

  test('a time that was missed is due with the next window, or in what is left of its own', () => {
    const missed = recurring('WAITING_FOR_NEXT_RECURRENCE', '01T06:00', '01T22:00')
    expect(at(missed, '02T03:00')).toEqual(['due'])
    expect(at(missed, '02T07:00')).toEqual([])
    expect(nextAt(missed, '02T07:00')).toBe(ms('02T22:00'))
    expect(nextAt(missed, '01T12:00')).toBe(ms('01T22:00'))
  })

  test('says in words when it goes on', () => {
    const waiting = recurring('SCHEDULED', '01T22:00')
    expect(stateText(waiting, { failed: 0, conditions: [] }, ms('02T07:00'))).toBe(
      'waits for its next window, at 2026-02-02T22:00:00.000Z',
    )
    expect(stateText(waiting, { failed: 0, conditions: [] }, ms('02T05:00'))).toBe('waits for its turn')
  })
})

test('a reason of any length is told, as far as it fits', () => {
  const conditions: Condition[] = [
    {
      reason: 'CANNOT_GO_ON',
      message: `the folder ${'x'.repeat(900)} is not there`,
      since: '2026-02-02T00:00:00Z',
    },
  ]
  const text = stateText(migrationRecord({ state: 'LIVE' }), { failed: 1_000_000, conditions }, now)
  expect(text.length).toBeLessThanOrEqual(maxStateTextLength)
  expect(text).toMatch(/^Live, blocked: the work failed: the folder x+…, but 1000000 paths were not copied$/)
})

test('one that is blocked says so first, and by what', () => {
  const said = (state: MigrationState, reason: Condition['reason'], message: string) =>
    stateText(
      migrationRecord({ state }),
      { failed: 0, conditions: [{ reason, message, since: '2026-02-02T00:00:00Z' }] },
      now,
    )
  const moved = `${conditionReasons.SOURCE_CHANGED}: source: its folder /data is not there`
  expect(said('LIVE', 'SOURCE_CHANGED', moved)).toBe(
    'Live, blocked: the source has changed: its folder /data is not there',
  )
  expect(said('RUNNING', 'TARGET_UNREACHABLE', 'target: its folder does not answer')).toBe(
    'Running, blocked: the target does not answer: its folder does not answer',
  )
  expect(said('RUNNING', 'TARGET_UNREACHABLE', '/a: target: timed out')).toBe(
    'Running, blocked: the target does not answer: /a: target: timed out',
  )
  const kept = 'what was copied from it is not removed at the target'
  expect(said('LIVE', 'SOURCE_EMPTY', `the source is empty: ${kept}`)).toBe(
    `Live, blocked: the source is empty: ${kept}`,
  )
  expect(said('LIVE', 'SOURCE_EMPTY', 'the source is empty')).toBe('Live, blocked: the source is empty')
  expect(said('RUNNING', 'WAITS_FOR_STORAGE', conditionReasons.WAITS_FOR_STORAGE)).toBe(
    'Running, blocked: the storage of the platform is nearly full',
  )
  expect(said('LIVE', 'COMPARING', 'It is compared')).toBe('follows changes')
  expect(said('STOPPED', 'SOURCE_CHANGED', moved)).toBe('stopped')
})

test('a source that has changed is told with the command that accepts it, and what that removes', () => {
  const since = '2026-02-02T00:00:00.000Z'
  const sourceChanged = { since, difference: 'source: its folder /data is a different folder' }
  const messageOf = (changes: Partial<MigrationRecord>) =>
    recordConditions({ ...migrationRecord({ state: 'STOPPED' }), sourceChanged, ...changes }, now)[0]?.message
  expect(messageOf({ migrationId: 'nightly', kind: 'live' })).toBe(
    `${conditionReasons.SOURCE_CHANGED}: source: its folder /data is a different folder. Restore the original source, or accept the current one with "gantry migrations accept-source nightly"; files that are not at the source are then removed at the target`,
  )
  expect(messageOf({ migrationId: 'my own', kind: 'once' })).toMatch(
    / with "gantry migrations accept-source 'my own'"; nothing is then removed at the target$/,
  )
  expect(messageOf({ kind: 'once', targetMatch: {} })).toMatch(/are then removed at the target$/)
  // One that is gone nobody can accept.
  const gone = { since, difference: 'source: its folder /data is not there', isGone: true }
  expect(messageOf({ kind: 'live', sourceChanged: gone })).toBe(
    `${conditionReasons.SOURCE_CHANGED}: ${gone.difference}. Mount it or restore it`,
  )
})

test('what was gone before it was copied is told when the scan is over, and how what was renamed arrives', () => {
  const vanished = { filesVanished: 600, foldersVanished: 1 }
  const textOf = (state: MigrationState, failed: number, gone: Partial<typeof vanished> = vanished) =>
    stateText(migrationRecord({ state }), { failed, conditions: [], ...gone }, now)
  const told = '600 files and 1 folder were gone from the source before they were copied'
  expect(textOf('COMPLETED', 0)).toBe(`completed; ${told}: to copy renamed files, use add-pending-region`)
  expect(textOf('COMPLETED', 1, { filesVanished: 1, foldersVanished: 0 })).toBe(
    'completed, but 1 path was not copied; 1 file was gone from the source before it was copied: to copy renamed files, use add-pending-region',
  )
  expect(textOf('WAITING_FOR_NEXT_RECURRENCE', 0)).toBe(
    `waits for its next scan; ${told}: renamed files are copied by the next scan`,
  )
  expect(textOf('COMPLETED', 0, { filesVanished: 0, foldersVanished: 0 })).toBe('completed')
  expect(textOf('RUNNING', 0)).toBe('scans and copies')
})

test('a held deletion is told in words that fit its numbers', () => {
  const deletions = {
    isHeld: true,
    files: 2,
    folders: 1,
    bytes: 3,
    percent: 50,
    time: new Date(now).toISOString(),
  }
  const held = { ...migrationRecord({ state: 'STOPPED', resumable: true }), deletions }
  expect(stateText(held, { failed: 1, conditions: [] }, now)).toBe(
    'stopped before deleting 2 files and 1 folder at the target: see plan, then approve-deletions, but 1 path was not copied',
  )
  expect(recordConditions(held, now)[0]?.message).toMatch(/: 2 files and 1 folder$/)
  const ofLive = {
    ...held,
    deletions: { ...deletions, removedWithinHour: 100, samples: ['/a/b', '/c', '/d', '/e'] },
  }
  expect(stateText(ofLive, { failed: 0, conditions: [] }, now)).toBe(
    'stopped before deleting 2 files and 1 folder more at the target, after 100 within an hour: see plan, then approve-deletions',
  )
  expect(recordConditions(ofLive, now)[0]?.message).toMatch(
    /: 2 files and 1 folder, such as \/a\/b, \/c, \/d$/,
  )
})

const anyRecord = fc
  .record({
    priority: fc.constantFrom(...migrationPriorities),
    state: fc.constantFrom(...migrationStates),
    kind: fc.constantFrom('once', 'recurring', 'live'),
    scheduled: fc.integer({ min: 0, max: 5 }).map((ms) => new Date(now + ms).toISOString()),
    scanned: fc.constantFrom(undefined, '2026-01-31T13:00:00.000Z'),
  })
  .map(({ scanned, ...fields }) => ({ ...fields, ...(scanned === undefined ? {} : { scanned }) }))

test('turns are allowed, keep the limit, leave no place empty, and settle at once', () => {
  fc.assert(
    fc.property(fc.array(anyRecord, { maxLength: 12 }), fc.integer({ min: 0, max: 4 }), (list, limit) => {
      const records = list.map((fields, index) =>
        migrationRecord({ ...fields, internalId: `${index}`.padEnd(36) }),
      )
      const after = new Map(records.map((one) => [one.internalId, one]))
      for (const { internalId, trigger } of admissionsOf(records, limit, now)) {
        const to = next(after.get(internalId)!, trigger)
        expect(to).toBeDefined()
        after.set(internalId, { ...after.get(internalId)!, state: to as MigrationRecord['state'] })
      }
      const all = [...after.values()]
      const counts = (one: MigrationRecord) => one.kind !== 'live' || one.scanned === undefined
      const running = all.filter((one) => one.state === 'RUNNING' && counts(one))
      const waiting = all.filter(({ state }) => state === 'SCHEDULED' || state === 'RECURRENCE_SCHEDULED')
      if (limit === 0) expect(waiting).toEqual([])
      else {
        expect(running.length).toBeLessThanOrEqual(limit)
        if (waiting.length > 0) expect(running).toHaveLength(limit)
      }
      const rank = ({ priority }: MigrationRecord) => migrationPriorities.indexOf(priority)
      const least = Math.max(...running.map(rank))
      for (const one of waiting) expect(rank(one)).toBeGreaterThanOrEqual(least)
      expect(admissionsOf(all, limit, now)).toEqual([])
    }),
  )
})

describe('who is admitted', () => {
  test('begins from the root with each recurrence, under a work id of its own', () => {
    const recurrence = { periodSeconds: 60, nextRun: '2026-02-01T00:00:00.000Z', count: 1, iterations: [] }
    const before = record('normal 1 recurrence_scheduled', {
      kind: 'recurring',
      seeded: true,
      scanned: '2026-01-31T13:00:00.000Z',
      counts: { filesScanned: 3 },
      recurrence,
    })
    const after = admitted(before, new Date(now))
    expect(after).toMatchObject({ generation: 2, seeded: false, recurrence: { count: 2 } })
    expect(after.recurrence?.iterations).toMatchObject([
      { iteration: 2, started: '2026-02-01T00:00:00.000Z' },
    ])
    expect(after.recurrence?.nextRun).toBeUndefined()
    expect([after.scanned, after.counts]).toEqual([undefined, undefined])
    expect(workIdOf(after)).not.toBe(workIdOf(before))
    // Displaced and admitted again it goes on with the same.
    expect(admitted({ ...after, state: 'SCHEDULED' }, new Date(now + 1))).toEqual({
      ...after,
      state: 'SCHEDULED',
    })
  })

  test('goes on where it was after it was displaced', () => {
    const before = record('normal 1', { seeded: true, started: '2026-01-31T13:00:00.000Z' })
    expect(admitted(before, new Date(now))).toEqual(before)
  })
})

test('leftovers are looked for after a generation that was cut short, until one was not', () => {
  const running = migrationRecord({ state: 'RUNNING', seeded: true })
  expect(restarted(running).cutShort).toBe(true)
  // Nothing was begun since.
  expect(restarted(restarted(running)).cutShort).toBe(true)
  expect(
    restarted({ ...restarted(running), seeded: true, scanned: running.created }).cutShort,
  ).toBeUndefined()
  expect(restarted(migrationRecord()).cutShort).toBeUndefined()
})

test('the first generation has the name that it always had', () => {
  const first = migrationRecord()
  expect(workIdOf(first)).toBe(first.internalId)
  expect(workIdOf(restarted(first))).toBe(`${first.internalId}-2`)
})

/** A record of an earlier version as it is read. */
function upcast(version: number, old: object): unknown {
  let document: unknown = old
  for (let from = version; from < recordVersion; from++) document = recordUpcasters[from]?.(document)
  return check(MigrationRecord, document, 'record')
}

test('a record of the first version is one of a one-time migration', () => {
  const {
    kind: _kind,
    priority: _priority,
    generation: _first,
    pendingRegions: _none,
    ...old
  } = migrationRecord()
  expect(upcast(1, old)).toEqual(migrationRecord())
})

test('a record of the second version has one sample of held deletions at most', () => {
  const deletions = { isHeld: true, files: 1, folders: 0, bytes: 1, time: new Date(now).toISOString() }
  const old = (held: object) => upcast(2, { ...migrationRecord(), deletions: { ...deletions, ...held } })
  expect(old({ example: '/a' })).toMatchObject({ deletions: { ...deletions, samples: ['/a'] } })
  expect(old({})).toEqual({ ...migrationRecord(), deletions })
})
