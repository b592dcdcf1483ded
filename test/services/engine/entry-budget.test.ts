import { expect, test } from 'vitest'
import { EntryBudget } from '../../../services/engine/tree/entry-budget.ts'

const never = new AbortController().signal
const atOnce = Promise.resolve()

/** Whether a promise is still pending once everything that can go on has done so. */
async function isPending(promise: Promise<unknown>): Promise<boolean> {
  let isSettled = false
  const settle = () => (isSettled = true)
  void promise.then(settle, settle)
  await new Promise(setImmediate)
  return !isSettled
}

test('beyond the budget one listing goes on at a time, and the next when it has ended', async () => {
  const budget = new EntryBudget(100)
  using small = budget.hold()
  await small.take(60, atOnce, never)
  using large = budget.hold()
  await large.take(60, atOnce, never)
  await large.take(1_000, atOnce, never)
  using next = budget.hold()
  const waiting = next.take(60, atOnce, never)
  expect(await isPending(waiting)).toBe(true)
  large[Symbol.dispose]()
  await waiting
  expect(budget.held).toBe(120)
  next[Symbol.dispose]()
  small[Symbol.dispose]()
  expect(budget.held).toBe(0)
})

test('a listing exceeds the budget in its turn alone: those before it in its job may need it first', async () => {
  const budget = new EntryBudget(100)
  using filled = budget.hold()
  await filled.take(100, atOnce, never)
  const before = Promise.withResolvers<void>()
  using later = budget.hold()
  const waiting = later.take(10, before.promise, never)
  using earlier = budget.hold()
  await earlier.take(10, atOnce, never)
  expect(await isPending(waiting)).toBe(true)
  earlier[Symbol.dispose]()
  before.resolve()
  await waiting
})

test('a listing that waits for room ends with its job', async () => {
  const budget = new EntryBudget(10)
  using large = budget.hold()
  await large.take(20, atOnce, never)
  using waiting = budget.hold()
  const stop = new AbortController()
  const taken = waiting.take(10, atOnce, stop.signal)
  expect(await isPending(taken)).toBe(true)
  stop.abort(new Error('stopped'))
  await expect(taken).rejects.toThrow('stopped')
  expect(budget.held).toBe(20)
})
