import { expect, test } from 'vitest'
import { KnownExtension, KnownExtensions } from '../../../http-edge/extensions/known-extensions.ts'

/** Connections are only told apart here. */
const connection = () => ({})
const extension = (prefix: string, revision = '1') =>
  new KnownExtension(prefix, revision, [{ name: 'forecast', summary: 'The weather of a day' }])

test('an extension that a connection has seen needs no second look, until it changes', () => {
  const known = new KnownExtensions()
  const [one, other] = [connection(), connection()]
  const [weather, tides] = [extension('weather'), extension('tides')]
  expect(known.get(one, 'weather')).toBeUndefined()
  known.keep(one, weather, known.changes)
  known.keep(one, tides, known.changes)
  expect(known.get(one, 'weather')).toBe(weather)
  // Somebody else must be looked at, what it brings not any more.
  expect(known.get(other, 'weather')).toBeUndefined()
  expect(known.at('weather', '1')).toBe(weather)
  known.keep(other, weather, known.changes)
  expect(known.get(other, 'weather')).toBe(weather)
  known.changed('weather')
  expect(known.get(one, 'weather')).toBeUndefined()
  expect(known.get(other, 'weather')).toBeUndefined()
  expect(known.get(one, 'tides')).toBe(tides)
})

test('what was said before a change is not kept', () => {
  const known = new KnownExtensions()
  const one = connection()
  const { changes } = known
  known.changed('weather')
  known.keep(one, extension('weather'), changes)
  expect(known.get(one, 'weather')).toBeUndefined()
})

test('another revision takes the place of the one that was known', () => {
  const known = new KnownExtensions()
  const [one, other] = [connection(), connection()]
  known.keep(one, extension('weather'), known.changes)
  expect(known.at('weather', '2')).toBeUndefined()
  const newer = extension('weather', '2')
  known.keep(other, newer, known.changes)
  expect(known.get(one, 'weather')).toBeUndefined()
  expect(known.get(other, 'weather')).toBe(newer)
})

test('those that were used longest ago go when there are too many', () => {
  const known = new KnownExtensions(3_000)
  const one = connection()
  for (const prefix of ['a', 'b']) known.keep(one, extension(prefix), known.changes)
  known.get(one, 'a')
  known.keep(one, extension('c'), known.changes)
  expect(['a', 'b', 'c'].map((prefix) => known.get(one, prefix) !== undefined)).toEqual([true, false, true])
})

test('what it takes to call an endpoint is made once', () => {
  const weather = extension('weather')
  const forecast = weather.endpoint('forecast')
  expect(forecast?.contract.subject).toBe('gantry.extensions.weather.forecast')
  expect(weather.endpoint('forecast')).toBe(forecast)
  expect(weather.endpoint('Forecast')).toBeUndefined()
})
