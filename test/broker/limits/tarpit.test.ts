import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { burst } from '../../../broker/limits/allowances.ts'
import { authTimeoutSeconds } from '../../../broker/server/configuration.ts'
import { maxLateMs, maxLateOfAll, maxLateOfOne, Tarpit } from '../../../broker/limits/tarpit.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

let answered = 0
beforeEach(() => (answered = 0))
const guess = (tarpit: Tarpit, address: string, keyId?: string) =>
  tarpit.refuse({ address, keyId }, () => (answered += 1))
const times = (count: number, one: (index: number) => unknown) => {
  for (let index = 0; index < count; index++) one(index)
}

test('who mistakes a token is answered at once, who guesses once a second', () => {
  const tarpit = new Tarpit()
  times(burst, () => guess(tarpit, 'a'))
  expect(answered).toBe(burst)
  for (let second = 1; second <= 30; second++) {
    guess(tarpit, 'a')
    expect(answered).toBe(burst + second - 1)
    vi.advanceTimersByTime(1_000)
    expect(answered).toBe(burst + second)
  }
  guess(tarpit, 'b')
  expect(answered).toBe(burst + 31)
  vi.advanceTimersByTime(60_000)
  guess(tarpit, 'a')
  expect(answered).toBe(burst + 32)
})

test('of many at once a few are answered late, and the others not at all', () => {
  const tarpit = new Tarpit()
  const willBe = Array.from({ length: 1_000 }, () => guess(tarpit, 'a'))
  expect(answered).toBe(burst)
  expect(willBe.filter(Boolean)).toHaveLength(burst + maxLateOfOne)
  vi.advanceTimersByTime(maxLateMs)
  expect(answered).toBe(burst + maxLateOfOne)
  expect(maxLateMs).toBeLessThan(authTimeoutSeconds * 900)
  guess(tarpit, 'a')
  vi.advanceTimersByTime(maxLateMs)
  expect(answered).toBe(burst + maxLateOfOne + 1)
})

test('a key that is guessed from many addresses counts as one, and all together have a bound', () => {
  const tarpit = new Tarpit()
  times(1_000, (n) => guess(tarpit, `10.0.${n >> 8}.${n & 255}`, 'k'))
  expect(answered).toBe(burst)
  vi.advanceTimersByTime(maxLateMs)
  expect(answered).toBe(burst + maxLateOfOne)
  guess(tarpit, '10.1.0.1', 'another')
  expect(answered).toBe(burst + maxLateOfOne + 1)
  answered = 0
  const crowd = new Tarpit()
  times(200, (n) => times(100, () => guess(crowd, `10.2.0.${n}`)))
  expect(answered).toBe(200 * burst)
  vi.advanceTimersByTime(maxLateMs)
  expect(answered).toBe(200 * burst + maxLateOfAll)
})

test('a network of IPv6 is one address', () => {
  const tarpit = new Tarpit()
  times(100, (n) => guess(tarpit, `2001:db8::${n}`))
  expect(answered).toBe(burst)
  guess(tarpit, '2001:db8:0:1::1')
  expect(answered).toBe(burst + 1)
})

test('when it closes nothing comes after', () => {
  const tarpit = new Tarpit()
  times(100, () => guess(tarpit, 'a'))
  tarpit.close()
  vi.advanceTimersByTime(maxLateMs)
  expect(answered).toBe(burst)
  expect(vi.getTimerCount()).toBe(0)
})
