import { expect, test } from 'vitest'
import { type FoundEndpoint, KnownEndpoints } from '../../http-edge/known-endpoints.ts'
import type { NatsConnection } from '../../broker/connection.ts'

/** Connections are only told apart here. */
const connection = () => ({}) as NatsConnection
const found = (name: string, revision = '1'): FoundEndpoint => ({
  endpoint: { name, summary: 'What it was asked' },
  revision,
})

test('an extension that a connection has seen needs no second look, until it changes', () => {
  const known = new KnownEndpoints()
  const [one, other] = [connection(), connection()]
  expect(known.get(one, 'weather', 'forecast')).toBeUndefined()
  const kept = known.keep(one, 'weather', found('forecast'), known.changes)
  expect(known.get(one, 'weather', 'forecast')).toBe(kept)
  expect(known.get(one, 'weather', 'history')).toBeUndefined()
  expect(known.get(other, 'weather', 'forecast')).toBeUndefined()
  expect(known.keep(other, 'weather', found('forecast'), known.changes)).toBe(kept)
  known.keep(one, 'tides', found('forecast'), known.changes)
  known.changed('weather')
  expect(known.get(one, 'weather', 'forecast')).toBeUndefined()
  expect(known.get(other, 'weather', 'forecast')).toBeUndefined()
  expect(known.get(one, 'tides', 'forecast')).toBeDefined()
})

test('what was said before a change is not kept', () => {
  const known = new KnownEndpoints()
  const one = connection()
  const { changes } = known
  known.changed('weather')
  expect(known.keep(one, 'weather', found('forecast'), changes).contract.verb).toBe('forecast')
  expect(known.get(one, 'weather', 'forecast')).toBeUndefined()
})

test('another revision takes the place of the one that was known', () => {
  const known = new KnownEndpoints()
  const [one, other] = [connection(), connection()]
  known.keep(one, 'weather', found('forecast'), known.changes)
  const newer = known.keep(other, 'weather', found('forecast', '2'), known.changes)
  expect(known.get(one, 'weather', 'forecast')).toBeUndefined()
  expect(known.get(other, 'weather', 'forecast')).toBe(newer)
})

test('those that were used longest ago go when there are too many', () => {
  const known = new KnownEndpoints(3_000)
  const one = connection()
  for (const prefix of ['a', 'b']) known.keep(one, prefix, found('forecast'), known.changes)
  known.get(one, 'a', 'forecast')
  known.keep(one, 'c', found('forecast'), known.changes)
  const isThere = (prefix: string) => known.get(one, prefix, 'forecast') !== undefined
  expect(['a', 'b', 'c'].map(isThere)).toEqual([true, false, true])
})
