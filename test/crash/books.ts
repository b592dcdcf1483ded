import { jetstreamManager } from '@nats-io/jetstream'
import { expect } from 'vitest'
import { audit } from '../../subjects/access/audit.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { eventSubject } from '../../subjects/kit/names.ts'
import { connectAsPlatform } from '../support/platform-account.ts'
import type { Victim } from './victim.ts'

/** A migration that is to start at once is in another state when its creation is told. */
const beforeStart = 'NONSCHEDULED'

interface Told {
  readonly event: string
  readonly migrationId: string
  readonly state: string
  readonly previous: string | undefined
  readonly messageId: string
}

/** What keeps a migration from moving, and what failed, is told as it is seen, and is no state of it. */
const seenOnly: readonly string[] = ['conditions-changed', 'failures-changed']

/**
 * That the events tell all that happened to the migrations, once and in order: each begins in the state that the one before
 * led to, and the last leads to the state that the migration has.
 */
export async function checkEvents(victim: Victim, migrationIds: readonly string[]): Promise<void> {
  const stored = (await migrationEventsOf(victim)).filter(({ event }) => !seenOnly.includes(event))
  const told = Map.groupBy(stored, ({ migrationId }) => migrationId)
  for (const migrationId of migrationIds) {
    const events = told.get(migrationId) ?? []
    const story = events.map(({ event, previous, state }) => `${event} ${previous ?? ''}>${state}`)
    expect(events[0]?.event, `${migrationId}: ${story.join(', ')}`).toBe('created')
    // Of what a killed process has written nothing is lost.
    expect(story.filter((one) => one.startsWith('work-lost'))).toEqual([])
    let state = beforeStart
    for (const { previous, state: next } of events.slice(1)) {
      if (previous === undefined) continue
      expect(previous, `${migrationId}: ${story.join(', ')}`).toBe(state)
      state = next
    }
    expect(
      new Set(events.map(({ messageId }) => messageId)).size,
      `${migrationId}: ${story.join(', ')}`,
    ).toBe(events.length)
    if (events.at(-1)!.event === 'deleted') continue
    const now = await victim.call(migrations.get, { migrationId })
    expect(state, `${migrationId}: ${story.join(', ')}`).toBe(now.state)
  }
}

/** All events about migrations that are kept. */
export async function migrationEventsOf(victim: Victim): Promise<Told[]> {
  const connection = await connectAsPlatform(victim)
  try {
    const manager = await jetstreamManager(connection)
    const told: Told[] = []
    for (let seq = 1; ; seq++) {
      const query = { seq, next_by_subj: eventSubject('migrations', '*', '*') }
      const message = await manager.streams.getMessage('EVENTS', query)
      if (message === null) return told
      seq = message.seq
      const payload = message.json<Omit<Told, 'event' | 'messageId'>>()
      const event = message.subject.split('.')[4]!
      told.push({ ...payload, event, messageId: message.header.get('Nats-Msg-Id') })
    }
  } finally {
    await connection.close()
  }
}

/** That the audit log is intact, and has each of these creations. */
export async function checkAudit(victim: Victim, created: readonly string[]): Promise<void> {
  for (let after: number | undefined; ;) {
    const { intact, problem, next } = await victim.call(audit.verify, after === undefined ? {} : { after })
    expect(intact, problem).toBe(true)
    if (next === undefined) break
    after = next
  }
  const recorded = new Set<string | undefined>()
  for (let after: number | undefined; ;) {
    const what = migrations.create.subject
    const page = await victim.call(audit.list, {
      what,
      result: 'ok',
      ...(after === undefined ? {} : { after }),
    })
    for (const { object } of page.records) recorded.add(object)
    if (page.next === undefined) break
    after = page.next
  }
  expect(created.filter((id) => !recorded.has(id))).toEqual([])
}
