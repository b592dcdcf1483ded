import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Throttle } from '../../../broker/limits/throttle.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => void vi.useRealTimers())

let count = 0

/** Guesses one token after the other; how many were judged. */
function guess(throttle: Throttle, address: string, keyOf: (n: number) => string, times = 100): number {
  let judged = 0
  for (let n = 0; n < times; n++) {
    const token = `guess ${count++}`
    if (throttle.judge(address, keyOf(n), token) !== 'ask') continue
    judged += 1
    throttle.wasRefused(address, keyOf(n), token)
  }
  return judged
}

test('after twenty refusals an address waits a second for each guess, whichever keys it tries', () => {
  const throttle = new Throttle()
  expect(guess(throttle, 'a', (n) => `k${n}`)).toBe(20)
  vi.advanceTimersByTime(3_000)
  expect(guess(throttle, 'a', (n) => `k${n}`)).toBe(3)
  vi.advanceTimersByTime(60_000)
  expect(guess(throttle, 'a', (n) => `k${n}`)).toBe(20)
})

test('a network of IPv6 is one address', () => {
  const throttle = new Throttle()
  let judged = 0
  for (let n = 0; n < 100; n++)
    judged += guess(throttle, `2001:db8:0:1::${n.toString(16)}`, (m) => `k${m}`, 1)
  expect(judged).toBe(20)
  expect(throttle.judge('2001:db8:0:2::1', 'k', 'another')).toBe('ask')
})

test('a key that is guessed from many addresses is judged once from each, and no more', () => {
  const throttle = new Throttle()
  let judged = 0
  for (let n = 0; n < 200; n++) judged += guess(throttle, `address ${n}`, () => 'k', 10)
  // Until the allowance of the key is used up they have as many as they try.
  expect(judged).toBeLessThan(20 + 200)
})

test('its owner comes in meanwhile: from another address at once, and from the same with a token that was right before', () => {
  const throttle = new Throttle()
  guess(throttle, 'bad', () => 'k')
  expect(throttle.judge('bad', 'k', 'the right one')).toBe('wait')
  expect(throttle.judge('good', 'k', 'the right one')).toBe('ask')
  throttle.wasRight('the right one')
  expect(throttle.judge('bad', 'k', 'the right one')).toBe('ask')
  expect(throttle.judge('bad', 'k', 'another')).toBe('wait')
})

test('it remembers a bounded number of addresses', () => {
  const throttle = new Throttle()
  guess(throttle, 'first', (n) => `k${n}`)
  for (let n = 0; n < 10_000; n++) throttle.wasRefused(`address ${n}`, `k${n}`, `token ${n}`)
  expect(throttle.judge('first', 'k', 'guess')).toBe('ask')
})

test('guesses that are judged at once are paid back', () => {
  const throttle = new Throttle()
  for (let n = 0; n < 500; n++) throttle.wasRefused('a', `k${n}`, `token ${n}`)
  vi.advanceTimersByTime(60_000)
  expect(guess(throttle, 'a', (n) => `k${n}`)).toBe(0)
  vi.advanceTimersByTime(1_000)
  expect(guess(throttle, 'a', (n) => `k${n}`)).toBe(1)
})

test('a program that goes on with one wrong token is refused each time, and takes nothing from the others there', () => {
  const throttle = new Throttle()
  throttle.wasRefused('a', 'k', 'old token')
  for (let n = 0; n < 1_000; n++) expect(throttle.judge('a', 'k', 'old token')).toBe('refuse')
  expect(throttle.judge('a', 'other', 'new token')).toBe('ask')
  vi.advanceTimersByTime(10_001)
  expect(throttle.judge('a', 'k', 'old token')).toBe('ask')
  for (let n = 0; n < 100; n++) {
    throttle.wasRight(`revoked ${n}`)
    throttle.wasRefused('a', `k${n}`, `revoked ${n}`)
  }
  expect(throttle.judge('a', 'other', 'newer token')).toBe('ask')
})
