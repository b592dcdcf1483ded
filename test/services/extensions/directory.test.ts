import { expect, test } from 'vitest'
import { HeartbeatBaseline } from '../../../services/extensions/heartbeat-baseline.ts'
import { Directory } from '../../../services/extensions/directory.ts'
import type { InstanceRecord } from '../../../services/extensions/record.ts'
import { heartbeatEveryMs, lostAfterMs } from '../../../subjects/extensions/model.ts'

const connection = { server: 'a', id: 7, started: '2026-01-31T12:00:00Z' }
const at = (ms: number) => new Date(ms).toISOString()
const beginningMs = Date.parse('2026-01-31T12:00:00Z')

const instance = (id: string, more: Partial<InstanceRecord> = {}): InstanceRecord => ({
  instance: id,
  prefix: 'weather',
  owner: 'ada',
  key: 'k1',
  registered: at(beginningMs),
  connection,
  registration: { prefix: 'weather', name: 'Weather', version: '1' },
  ...more,
})

test('who is silent for 30 seconds is lost, and three heartbeats may get lost before', () => {
  expect([heartbeatEveryMs, lostAfterMs]).toEqual([10_000, 30_000])
  const directory = new Directory()
  directory.record('one', instance('one'))
  expect(directory.silent(beginningMs + lostAfterMs, beginningMs)).toEqual([])
  expect(directory.silent(beginningMs + lostAfterMs + 1, beginningMs)).toHaveLength(1)
  directory.seen('one', at(beginningMs + 20_000))
  expect(directory.silent(beginningMs + 20_000 + lostAfterMs, beginningMs)).toEqual([])
  expect(directory.silent(beginningMs + 20_001 + lostAfterMs, beginningMs)).toHaveLength(1)
})

test('nobody is lost because the platform itself did not listen', () => {
  const directory = new Directory()
  directory.record('one', instance('one'))
  const attention = new HeartbeatBaseline(beginningMs)
  const lost = (afterMs: number) =>
    directory.silent(beginningMs + afterMs, attention.sinceMs(beginningMs + afterMs)).length
  expect(lost(5_000)).toBe(0)
  // It was stopped, or the machine was suspended.
  const pausedMs = 5_000 + 60_000
  expect(lost(pausedMs)).toBe(0)
  for (let afterMs = 1_000; afterMs <= lostAfterMs; afterMs += 1_000) expect(lost(pausedMs + afterMs)).toBe(0)
  expect(lost(pausedMs + lostAfterMs + 1)).toBe(1)
})

test('a sweep that is a little late changes nothing', () => {
  const attention = new HeartbeatBaseline(beginningMs)
  for (const afterMs of [1_000, 1_000 + heartbeatEveryMs, 15_000])
    expect(attention.sinceMs(beginningMs + afterMs)).toBe(beginningMs)
})

test('signs of life may come in any order', () => {
  const directory = new Directory()
  directory.record('one', instance('one'))
  directory.seen('one', at(beginningMs + 20_000))
  directory.seen('one', at(beginningMs + 10_000))
  directory.record('one', instance('one'))
  expect(directory.instances()[0]?.seenMs).toBe(beginningMs + 20_000)
})

test('a connection is known by its server, its number and its beginning', () => {
  const directory = new Directory()
  directory.record('one', instance('one'))
  expect(directory.on(connection)).toHaveLength(1)
  expect(directory.on({ ...connection, server: 'b' })).toEqual([])
  expect(directory.on({ ...connection, id: 8 })).toEqual([])
  // After a restart the server counts anew.
  expect(directory.on({ ...connection, started: '2026-01-31T13:00:00Z' })).toEqual([])
})

test('what the newest instance registered holds', () => {
  const directory = new Directory()
  directory.record('new', instance('new', { registered: at(beginningMs + 1) }))
  directory.record('old', instance('old'))
  expect(directory.instances('weather').map((one) => one.instance)).toEqual(['new', 'old'])
})

test('who listens is told which extension has changed, and of no heartbeat', () => {
  const directory = new Directory()
  const changed: string[] = []
  directory.onChange((prefix) => changed.push(prefix))
  directory.record('one', instance('one'))
  directory.record('two', instance('two', { prefix: 'tides' }))
  directory.seen('one', at(beginningMs + 20_000))
  directory.record('one', undefined)
  directory.record('unknown', undefined)
  expect(changed).toEqual(['weather', 'tides', 'weather'])
})
