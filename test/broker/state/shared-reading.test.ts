import { expect, test } from 'vitest'
import { SharedReading } from '../../../broker/state/shared-reading.ts'
import { until } from '../../support/until.ts'

test('many who ask at once share two readings, and each gets one that began after it asked', async () => {
  let begun = 0
  let stored = 'before'
  const gates: PromiseWithResolvers<void>[] = []
  const reading = new SharedReading(async () => {
    begun += 1
    const seen = stored
    const gate = Promise.withResolvers<void>()
    gates.push(gate)
    await gate.promise
    return seen
  })
  const first = reading.read()
  stored = 'after'
  const others = Array.from({ length: 100 }, () => reading.read())
  gates[0]!.resolve()
  expect(await first).toBe('before')
  await until('the next one has begun', () => gates.length === 2)
  gates[1]!.resolve()
  expect(new Set(await Promise.all(others))).toEqual(new Set(['after']))
  expect(begun).toBe(2)
})

test('a reading that fails fails for those who share it, and the next one begins', async () => {
  const outcomes = [Promise.reject(new Error('away')), Promise.reject(new Error('still')), Promise.resolve(3)]
  for (const outcome of outcomes) outcome.catch(() => undefined)
  const reading = new SharedReading(() => outcomes.shift()!)
  const asked = [reading.read(), reading.read(), reading.read()]
  const results = await Promise.allSettled(asked)
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
  expect(await reading.read()).toBe(3)
})
