import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Directory } from '../../../services/extensions/directory.ts'
import { Violations } from '../../../services/extensions/violations.ts'
import { recordingLog } from '../../support/log.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => void vi.useRealTimers())

type Answer = (keyId: string, prefix: string) => Promise<boolean>

/** Violations of keys without an instance, with what is asked about them and what is noted. */
function meeting(answer: Answer) {
  const asked: string[] = []
  const noted: { prefix: string; message: string; count: number }[] = []
  const { log, lines } = recordingLog()
  const violations = new Violations({
    directory: new Directory(),
    note: (prefix, { message, count = 1 }) => noted.push({ prefix, message, count }),
    ownsPrefix: (keyId, prefix) => {
      asked.push(`${keyId} ${prefix}`)
      return answer(keyId, prefix)
    },
    log,
  })
  const deny = (subject: string, keyId = 'k1') =>
    violations.note({ keyId, action: 'publish', subject, from: undefined })
  return { asked, noted, lines, deny, total: () => noted.reduce((sum, { count }) => sum + count, 0) }
}
const settled = () => new Promise(setImmediate)

test('whoever tries in a loop is asked about once in a while, while it is asked and afterwards', async () => {
  const { asked, noted, deny } = meeting(() => Promise.resolve(false))
  for (let n = 0; n < 1_000; n++) deny(`gantry.extensions.weather.x${n}`)
  await settled()
  for (let n = 0; n < 1_000; n++) deny(`gantry.extensions.weather.x${n}`)
  await settled()
  expect(asked).toEqual(['k1 weather'])
  vi.advanceTimersByTime(60_000)
  deny('gantry.extensions.weather.x')
  await settled()
  expect(asked).toHaveLength(2)
  expect(noted).toEqual([])
})

test('what the owner of a prefix was denied is noted, all of it', async () => {
  const { asked, noted, deny, total } = meeting(() => Promise.resolve(true))
  for (let n = 0; n < 100; n++) deny('gantry.extensions.weather.a')
  deny('gantry.extensions.weather.b')
  await settled()
  deny('gantry.extensions.weather.a')
  expect(asked).toEqual(['k1 weather'])
  expect(total()).toBe(102)
  expect(noted[0]).toEqual({
    prefix: 'weather',
    message:
      'permission denied: key k1 may not publish to gantry.extensions.weather.a, because no rule in its pub.allow covers it',
    count: 100,
  })
})

test('a key that makes prefixes up is not asked about for each, and others are', async () => {
  const { asked, deny } = meeting(() => Promise.resolve(false))
  for (let n = 0; n < 1_000; n++) {
    deny(`gantry.extensions.x${n}.y`)
    await settled()
  }
  expect(asked.length).toBeLessThanOrEqual(20)
  deny('gantry.extensions.weather.y', 'k2')
  expect(asked.at(-1)).toBe('k2 weather')
})

test('of many keys few questions are under way at a time', async () => {
  const answers: PromiseWithResolvers<boolean>[] = []
  const { asked, deny } = meeting(() => {
    const answer = Promise.withResolvers<boolean>()
    answers.push(answer)
    return answer.promise
  })
  for (let n = 0; n < 1_000; n++) deny('gantry.extensions.weather.x', `k${n}`)
  const first = asked.length
  expect(first).toBeLessThan(50)
  for (const { resolve } of answers) resolve(false)
  await settled()
  for (let n = 500; n < 1_000; n++) deny('gantry.extensions.weather.x', `k${n}`)
  expect(asked).toHaveLength(2 * first)
})

test('that it cannot be asked is logged now and then', async () => {
  const { asked, lines, deny } = meeting(() => Promise.reject(new Error('nobody answers')))
  for (let n = 0; n < 1_000; n++) {
    deny('gantry.extensions.weather.x', `k${n % 10}`)
    if (n % 100 === 0) await settled()
  }
  expect(asked).toHaveLength(10)
  expect(lines).toHaveLength(1)
  vi.advanceTimersByTime(600_000)
  deny('gantry.extensions.weather.x')
  await settled()
  expect(lines).toHaveLength(2)
})
