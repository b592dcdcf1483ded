import { expect, test } from 'vitest'
import { retry } from '../../../broker/common/retry.ts'

test('what fails is done again until it succeeds', async () => {
  const attempts: number[] = []
  const result = await retry(async (attempt) => {
    attempts.push(attempt)
    if (attempt < 3) throw new Error('not yet')
    return 'done'
  })
  expect([result, attempts]).toEqual(['done', [1, 2, 3]])
})

test('an error that does not pass is thrown at once', async () => {
  const attempts: number[] = []
  const work = async (attempt: number) => {
    attempts.push(attempt)
    throw new Error(`failed ${attempt}`)
  }
  const mayPass = (_: unknown, attempt: number) => attempt < 2
  await expect(retry(work, { mayPass })).rejects.toThrow('failed 2')
  expect(attempts).toEqual([1, 2])
})

test('a signal ends it between two attempts, with its reason; the first attempt is made all the same', async () => {
  const ending = new AbortController()
  ending.abort(new Error('the platform is stopping'))
  let attempts = 0
  const work = async () => {
    attempts += 1
    throw new Error('not yet')
  }
  await expect(retry(work, { signal: ending.signal })).rejects.toThrow('the platform is stopping')
  expect(attempts).toBe(1)
  expect(await retry(async () => 'done', { signal: ending.signal })).toBe('done')
})
