import { describe, expect, test } from 'vitest'
import { StoreError } from '../../../services/drivers/contract/driver.ts'
import { writingError } from '../../../services/drivers/local/errors.ts'
import { Outcome } from '../../../services/engine/run/outcome.ts'
import { targetError } from '../../../services/drivers/contract/store-error.ts'
import { asRemoval } from '../../../services/engine/tree/remove-tree.ts'
import { backoffMs, stillToWaitMs } from '../../../services/engine/run/retry.ts'
import { type FailureClass, failureClassNames } from '../../../subjects/migrations/model/failure-classes.ts'

const minutes = 60_000
const path = Buffer.from('folder/file')

/** What comes of a file that fails with this error at each try: the waits before the others, and why it is put off. */
function failingWith(error: Error) {
  const waitsMs: number[] = []
  const reasons = new Set<string | undefined>()
  for (let attempt = 1; ; attempt++) {
    const outcome = new Outcome(attempt)
    const nowMs = Date.now()
    const isAgain = outcome.failed(path, error)
    expect(outcome.next !== undefined).toBe(isAgain)
    if (outcome.next === undefined)
      return { waitsMs, reasons: [...reasons], ...outcome.result(undefined), tries: attempt }
    expect(outcome.next.attempt).toBe(attempt + 1)
    waitsMs.push(outcome.next.notBeforeMs - nowMs)
    reasons.add(outcome.deferral?.reason)
  }
}

/** Waits with their random third, and some for the clock. */
const between = (waitMs: number) => ({
  asymmetricMatch: (found: unknown) =>
    typeof found === 'number' && found >= waitMs && found <= waitMs * (4 / 3) + 1_000,
})

describe('tries of a file, by the reason why it fails', () => {
  const never = [1, []] as const
  const some = [5, ['TRYING_AGAIN']] as const
  const table: Record<FailureClass, readonly [tries: number, reasons: readonly string[]]> = {
    gone: never,
    changed: some,
    permission: never,
    refused: [60, ['SOURCE_REFUSES']],
    unreachable: [60, ['SOURCE_UNREACHABLE']],
    throttled: [60, ['SOURCE_THROTTLED']],
    name: never,
    'too-large': never,
    unsupported: never,
    full: [60, ['SOURCE_REFUSES']],
    corrupt: some,
    collision: never,
    crashed: never,
    io: some,
  }

  test.each(failureClassNames)('%s', (failure) => {
    const [tries, reasons] = table[failure]
    const found = failingWith(new StoreError(failure, 'no'))
    expect(found).toMatchObject({ tries, reasons, counts: { failures: 1 } })
    expect(found.failures).toEqual([
      { path: '/folder/file', failure, message: 'source: no', attempts: tries },
    ])
    const plain = [1, 4, 16, ...Array.from({ length: 56 }, () => 60)].slice(0, tries - 1)
    expect(found.waitsMs).toEqual(plain.map((seconds) => between(seconds * 1_000)))
    // A store that comes back within most of an hour costs no failure.
    const sumMs = found.waitsMs.reduce((sum, one) => sum + one, 0)
    if (tries === 60) expect(sumMs).toBeGreaterThan(56 * minutes)
    else expect(sumMs).toBeLessThan(2 * minutes)
  })

  test.each(failureClassNames)('%s of the target', (failure) => {
    // The folder is made again by the next try.
    const [tries, reasons] = table[failure === 'gone' ? 'io' : failure]
    const found = failingWith(targetError(new StoreError(failure, 'no')))
    const ofTarget = reasons.map((reason) => reason.replace('SOURCE', 'TARGET'))
    expect(found).toMatchObject({ tries, reasons: ofTarget, failures: [{ message: 'target: no' }] })
  })

  test('of a file that is read and written, only what is read is the source’s', () => {
    const sides = [
      new StoreError('changed', 'no'),
      new StoreError('io', 'no', { side: 'source' }),
      new StoreError('corrupt', 'no'),
      new Error('no'),
    ].map((error) => failingWith(writingError(error)).failures[0]?.message)
    expect(sides).toEqual(['source: no', 'source: no', 'target: no', 'target: no'])
  })

  test('what no driver foresaw is tried as often as one odd file', () => {
    expect(failingWith(new TypeError('odd'))).toMatchObject({ tries: 5, failures: [{ failure: 'io' }] })
  })

  test('of several that are put off together, the longest wait counts', () => {
    const outcome = new Outcome(1)
    outcome.failed(path, new StoreError('throttled', 'later', { retryAfterMs: 5 * minutes }))
    outcome.failed(path, new StoreError('io', 'no'))
    expect(outcome.next?.notBeforeMs).toBeGreaterThanOrEqual(Date.now() + 4 * minutes)
  })
})

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
  const away = new StoreError('unreachable', 'no route to host')
  expect([outcome.failed(path, away), outcome.failed(path, away)]).toEqual([true, true])
  const refused = asRemoval(Promise.reject(new StoreError('permission', 'not yours')))
  const error: unknown = await refused.catch((thrown: unknown) => thrown)
  expect(outcome.failed(path, error)).toBe(false)
  expect(outcome.result(undefined)).toMatchObject({
    counts: { pathsRequeued: 2, failures: 1 },
    failures: [{ path: '/folder/file', failure: 'permission', isRemoval: true }],
  })
})
