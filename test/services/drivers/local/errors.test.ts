import { expect, test } from 'vitest'
import { StoreError } from '../../../../services/drivers/contract/driver.ts'
import { targetError } from '../../../../services/drivers/contract/store-error.ts'
import { belowRoot, listError, localError } from '../../../../services/drivers/local/errors.ts'
import { isOutage, isWorthRetry } from '../../../../services/engine/run/retry.ts'

/** As Node throws it; no file system here has stale handles. */
const stale = () => Object.assign(new Error('ESTALE'), { code: 'ESTALE', errno: -116, syscall: 'open' })
const classed = (error: unknown): StoreError => {
  const known = localError(error)
  return known instanceof StoreError ? known : expect.unreachable(String(known))
}

test('a stale handle of one file is a failure of that file, which is tried again', () => {
  const error = classed(belowRoot(stale(), () => undefined))
  expect(isOutage(error)).toBe(false)
  expect([isWorthRetry(error, 1), isWorthRetry(error, 5)]).toEqual([true, false])
})

test('where the handle of the root is stale too, the store is out of reach', () => {
  const error = classed(
    belowRoot(stale(), () => {
      throw stale()
    }),
  )
  expect(error.failure).toBe('unreachable')
  expect(isOutage(error)).toBe(true)
})

test('of a source nobody is told to allow writing', () => {
  const denied = Object.assign(new Error('EACCES'), { code: 'EACCES', errno: -13, syscall: 'open' })
  const listed = listError(denied)
  expect(listed).toMatchObject({
    message: 'permission denied: allow the user that runs Gantry to read and enter it (EACCES in open)',
  })
  expect(targetError(listed).message).toBe(
    'target: permission denied: allow the user that runs Gantry to enter, read and write it (EACCES in open)',
  )
  expect(localError(denied, 'source')).toMatchObject({
    message: expect.not.stringContaining('write') as string,
  })
})
