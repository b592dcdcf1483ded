import { XMLParser, XMLValidator } from 'fast-xml-parser'
import { describe, expect, test } from 'vitest'
import type { StoredFact } from '../../../broker/state/events.ts'
import { atomFeed } from '../../../services/notifications/atom.ts'
import { NotificationFold } from '../../../services/notifications/fold.ts'
import type { EventContract, Payload } from '../../../subjects/kit/contract.ts'
import { maxPartLength } from '../../../subjects/kit/download.ts'
import { matches } from '../../../subjects/kit/validate.ts'
import { migrationEvents } from '../../../subjects/migrations/events.ts'
import type { ConditionReason } from '../../../subjects/migrations/model/condition-terms.ts'
import { alertEvents } from '../../../subjects/observability/alerts.ts'
import { Notification } from '../../../subjects/observability/notifications.ts'

const startMs = Date.parse('2026-05-01T00:00:00Z')
const fact = <E extends EventContract>(sequence: number, event: E, payload: Payload<E>): StoredFact => ({
  sequence,
  storedMs: startMs + sequence * 1_000,
  event,
  payload,
})
const internalId = '0b6cfc1a-9d3f-4a51-8d24-5c8e1f3f9f10'
const one = { migrationId: 'one', internalId, state: 'RUNNING' as const }
const conditions = (sequence: number, ...reasons: ConditionReason[]) =>
  fact(sequence, migrationEvents['conditions-changed'], {
    ...one,
    conditions: reasons.map((reason) => ({
      reason,
      message: `why: ${reason}`,
      since: '2026-05-01T00:00:00Z',
    })),
  })
const fold = (facts: readonly StoredFact[], most = 100) => {
  const made = new NotificationFold(most)
  for (const each of facts) made.take(each)
  return made
}
const short = (made: NotificationFold) =>
  made.all().map(({ type, level, resolved, facts }) => ({
    type,
    level,
    resolved,
    reason: facts['reason'],
  }))

describe('facts', () => {
  test('become notifications, the newest first, each as its schema has it', () => {
    const made = fold([
      fact(1, migrationEvents.created, one),
      fact(2, migrationEvents.completed, { ...one, previous: 'RUNNING', failedPathCount: 0 }),
      fact(3, migrationEvents.completed, { ...one, previous: 'RUNNING', failedPathCount: 3 }),
    ]).all()
    expect(made.map(({ message, level, created }) => ({ message, level, created }))).toEqual([
      {
        message: 'Migration “one” has completed, but 3 paths were not copied',
        level: 'warning',
        created: '2026-05-01T00:00:03.000Z',
      },
      { message: 'Migration “one” has completed', level: 'info', created: '2026-05-01T00:00:02.000Z' },
      { message: 'Migration “one” was created', level: 'info', created: '2026-05-01T00:00:01.000Z' },
    ])
    expect(made.every((each) => matches(Notification, each))).toBe(true)
  })

  test('about a condition open a problem once, and resolve it; ordinary ones are none', () => {
    const facts = [
      conditions(1, 'WAITS_FOR_TURN', 'SOURCE_UNREACHABLE'),
      conditions(2, 'SOURCE_UNREACHABLE', 'PATHS_FAILED'),
      conditions(3, 'PATHS_FAILED'),
      conditions(4, 'SOURCE_UNREACHABLE', 'PATHS_FAILED'),
    ]
    const made = fold(facts)
    const of = (reason: ConditionReason, level: string, resolved: boolean) => ({
      type: 'migration-condition',
      level,
      resolved,
      reason,
    })
    expect(short(made)).toEqual([
      of('SOURCE_UNREACHABLE', 'error', false),
      of('PATHS_FAILED', 'warning', false),
      of('SOURCE_UNREACHABLE', 'error', true),
    ])
    expect(made.all()[2]).toMatchObject({
      created: '2026-05-01T00:00:01.000Z',
      updated: '2026-05-01T00:00:03.000Z',
    })
    made.take(fact(5, migrationEvents.deleted, one))
    expect(made.all().every(({ resolved }) => resolved)).toBe(true)
  })

  test('tell a migration that stops by itself from one that is asked to, until it goes on', () => {
    const stopped = (sequence: number, previous: 'RUNNING' | 'STOPPING') =>
      fact(sequence, migrationEvents.stopped, { ...one, state: 'STOPPED', previous })
    const made = fold([stopped(1, 'STOPPING'), stopped(2, 'RUNNING')])
    expect(short(made)).toEqual([
      { type: 'migration-auto-stopped', level: 'error', resolved: false, reason: undefined },
    ])
    made.take(fact(3, migrationEvents.started, { ...one, previous: 'SCHEDULED' }))
    expect(made.all()).toMatchObject([{ resolved: true }])
  })

  test('about alerts say what events say of them', () => {
    const alert = { id: internalId, rule: 'disk', kind: 'storage-file', severity: 'critical' } as const
    const made = fold([
      fact(1, alertEvents.fired, { ...alert, state: 'firing' }),
      fact(2, alertEvents.resolved, { ...alert, state: 'resolved' }),
    ])
    expect(made.all()).toMatchObject([{ type: 'alert', level: 'error', object: internalId, resolved: true }])
  })

  test('about an alert of a migration name the migration', () => {
    const alert = { id: internalId, rule: 'late', kind: 'migration-lagging', severity: 'warning' } as const
    const made = fold([fact(1, alertEvents.fired, { ...alert, state: 'firing', migration: 'sales' })])
    expect(made.all()).toMatchObject([
      {
        message: 'Alert rule “late” (migration-lagging) has fired for migration “sales”',
        facts: { migration: 'sales' },
      },
    ])
    // A built-in rule has the name of its kind, which is not said twice.
    const builtIn = { ...alert, rule: alert.kind, state: 'firing', migration: 'sales' } as const
    expect(fold([fact(1, alertEvents.fired, builtIn)]).all()).toMatchObject([
      { message: 'Alert rule “migration-lagging” has fired for migration “sales”' },
    ])
  })

  test('make the same notifications again, ids included, and different ones for each that a fact makes', () => {
    const facts = [conditions(7, 'SOURCE_CHANGED', 'TARGET_REFUSES'), conditions(9, 'TARGET_REFUSES')]
    const ids = fold(facts)
      .all()
      .map(({ id }) => id)
    expect(
      fold(facts)
        .all()
        .map(({ id }) => id),
    ).toEqual(ids)
    expect(new Set(ids).size).toBe(2)
    for (const id of ids)
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(fold(facts).get(ids[0]!)?.id).toBe(ids[0])
  })

  test('leave the newest when there are many, and go with their events', () => {
    const facts = Array.from({ length: 30 }, (_, index) => fact(index + 1, migrationEvents.created, one))
    const made = fold(facts, 10)
    expect(made.all()).toHaveLength(10)
    expect(made.all()[9]?.created).toBe('2026-05-01T00:00:21.000Z')
    expect(made.forgetBefore(28)).toBe(true)
    expect(made.all()).toHaveLength(3)
  })

  test('of a problem that goes on have to be read anew when the first of them is gone', () => {
    const facts = [conditions(1, 'SOURCE_CHANGED'), conditions(2, 'SOURCE_CHANGED', 'PATHS_FAILED')]
    expect(fold(facts).forgetBefore(2)).toBe(false)
    expect(short(fold(facts.slice(1))).map(({ reason }) => reason)).toEqual([
      'PATHS_FAILED',
      'SOURCE_CHANGED',
    ])
  })
})

describe('the feed', () => {
  const parsed = (text: string) => {
    expect(XMLValidator.validate(text)).toBe(true)
    const parser = new XMLParser({ ignoreAttributes: false, isArray: (name) => name === 'entry' })
    return parser.parse(text) as { feed: Record<string, unknown> & { entry?: Record<string, unknown>[] } }
  }
  const uuid = /^urn:uuid:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

  test('has what RFC 4287 asks for', () => {
    const all = fold([fact(1, migrationEvents.created, one), conditions(2, 'SOURCE_CHANGED')]).all()
    const { feed } = parsed(atomFeed(all, 'instance'))
    expect(feed).toMatchObject({
      '@_xmlns': 'http://www.w3.org/2005/Atom',
      id: expect.stringMatching(uuid) as string,
      title: 'Gantry notifications',
      updated: '2026-05-01T00:00:02.000Z',
      author: { name: 'Gantry' },
    })
    expect(feed.entry).toHaveLength(2)
    expect(feed.entry?.[0]).toMatchObject({
      id: `urn:uuid:${all[0]?.id}`,
      title: 'Migration “one”: why: SOURCE_CHANGED',
      published: '2026-05-01T00:00:02.000Z',
      updated: '2026-05-01T00:00:02.000Z',
      content: { '@_type': 'text', '#text': expect.stringContaining('reason: SOURCE_CHANGED') as string },
    })
    expect(parsed(atomFeed([], 'instance')).feed['id']).toBe(feed['id'])
    expect(parsed(atomFeed([], 'another')).feed['id']).not.toBe(feed['id'])
  })

  test.each([
    ['a <b> & "c" \'d\' ]]>', 'a <b> & "c" \'d\' ]]>'],
    ['</title><script>alert(1)</script>', '</title><script>alert(1)</script>'],
    [
      'nul \u0000, bell \u0007, half \uD800, none \uFFFF',
      'nul \uFFFD, bell \uFFFD, half \uFFFD, none \uFFFD',
    ],
    ['päth 😀', 'päth 😀'],
  ])('has any text for what it is: %j', (message, expected) => {
    const [made] = fold([fact(1, migrationEvents.created, one)]).all()
    const { feed } = parsed(atomFeed([{ ...made!, message, facts: { name: message } }], 'instance'))
    expect(feed.entry?.[0]).toMatchObject({ title: expected })
    expect(feed.entry?.[0]).toMatchObject({
      content: { '#text': expect.stringContaining(`name: ${expected}`) as string },
    })
  })

  test('is one part, however long its texts are', () => {
    const [made] = fold([fact(1, migrationEvents.created, one)]).all()
    const long = { ...made!, message: '"'.repeat(2_000) }
    const text = atomFeed(
      Array.from({ length: 100 }, () => long),
      'instance',
    )
    expect(text.length).toBeLessThanOrEqual(maxPartLength)
    expect(parsed(text).feed.entry!.length).toBeGreaterThan(30)
  })
})
