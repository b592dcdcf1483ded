import { expect, test } from 'vitest'
import { StoreError } from '../../../../services/drivers/driver.ts'
import { Outcome } from '../../../../services/migrations/engine/outcome.ts'
import { asRemoval } from '../../../../services/migrations/engine/remove-tree.ts'
import { backoffMs, stillToWaitMs } from '../../../../services/migrations/engine/retry.ts'

const minutes = 60_000

test('waits grow, and a store may ask for more, but not for ever', () => {
  const wait = (attempt: number, askedMs?: number) => backoffMs(attempt, askedMs)
  expect(wait(1)).toBeGreaterThanOrEqual(1_000)
  expect(wait(1)).toBeLessThan(1_400)
  expect(wait(50)).toBeLessThanOrEqual(80_000)
  expect(wait(1, 5 * minutes)).toBeGreaterThanOrEqual(5 * minutes)
  expect(wait(1, 24 * 60 * minutes)).toBeLessThanOrEqual(20 * minutes)
})

test.for([
  ['a moment to come', 10_000, 10_000],
  ['a moment gone', -10_000, 0],
  ['the longest wait that there is', 20 * minutes, 20 * minutes],
  ['the clock was set back by an hour meanwhile', 60 * minutes, 0],
] as const)('an item waits for %s', ([, aheadMs, waitMs]) => {
  const nowMs = Date.now()
  expect(stillToWaitMs(nowMs + aheadMs, nowMs)).toBe(waitMs)
})

test('each try that is put off is counted, and what is given up is no retry; a removal says that it is one', async () => {
  const outcome = new Outcome(1)
  const path = Buffer.from('file')
  const away = new StoreError('unreachable', 'no route to host')
  expect([outcome.failed(path, away), outcome.failed(path, away)]).toEqual([true, true])
  const refused = asRemoval(Promise.reject(new StoreError('permission', 'not yours')))
  const error: unknown = await refused.catch((thrown: unknown) => thrown)
  expect(outcome.failed(path, error)).toBe(false)
  expect(outcome.result(undefined)).toMatchObject({
    counts: { pathsRequeued: 2, failures: 1 },
    failures: [{ path: '/file', failure: 'permission', isRemoval: true }],
  })
})
