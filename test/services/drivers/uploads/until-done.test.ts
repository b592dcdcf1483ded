import { expect, test } from 'vitest'
import { UntilDone } from '../../../../services/drivers/uploads/until-done.ts'
import { until } from '../../../support/until.ts'

/** Work that fails so many times, and what was made of it. */
function failing(times: number) {
  const tries: boolean[] = []
  const work = async () => {
    tries.push(tries.length >= times)
    if (tries.length <= times) throw new Error('the store is away')
  }
  return { tries, work }
}

test('what fails is tried again in the background, until it succeeds', async () => {
  const untilDone = new UntilDone([1, 1, 1, 1])
  const { tries, work } = failing(2)
  await untilDone.do(work)
  expect(tries).toEqual([false])
  await until('it has succeeded', () => tries.length === 3)
  expect(tries).toEqual([false, false, true])
})

test('what is to succeed twice is done twice, and no more', async () => {
  const untilDone = new UntilDone([1, 1, 1, 1])
  const { tries, work } = failing(0)
  await untilDone.do(work, 2)
  await until('it has succeeded twice', () => tries.length === 2)
  const once = failing(0)
  await untilDone.do(once.work)
  expect([tries.length, once.tries.length]).toEqual([2, 1])
})

test('nothing is tried after the end', async () => {
  const untilDone = new UntilDone([1])
  const { tries, work } = failing(10)
  const done = untilDone.do(work)
  untilDone.close()
  await done
  const last = failing(0)
  await new UntilDone([]).do(last.work)
  expect([tries.length, last.tries.length]).toEqual([1, 1])
})

test('settled waits for what is tried in the background, and for nothing else', async () => {
  const untilDone = new UntilDone([1, 1, 1, 1])
  await untilDone.settled()
  const { tries, work } = failing(3)
  await untilDone.do(work)
  await untilDone.settled()
  expect(tries).toEqual([false, false, false, true])
  const { signal } = new AbortController()
  const away = new UntilDone([3_600_000])
  await away.do(failing(10).work)
  await away.settled(AbortSignal.abort())
  const settled = away.settled(signal)
  away.close()
  await settled
})
