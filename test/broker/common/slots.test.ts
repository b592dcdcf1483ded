import { expect, test } from 'vitest'
import { Slots } from '../../../broker/common/slots.ts'

test('so many pieces of work go on at once, in the order in which they came, and one that fails makes room', async () => {
  const slots = new Slots(2)
  const begun: number[] = []
  const ends = Array.from({ length: 5 }, () => Promise.withResolvers<void>())
  const all = ends.map(({ promise }, index) =>
    slots.run(() => {
      begun.push(index)
      return promise
    }),
  )
  const outcomes = Promise.allSettled(all)
  await new Promise(setImmediate)
  expect(begun).toEqual([0, 1])
  ends[1]!.reject(new Error('it failed'))
  await new Promise(setImmediate)
  expect(begun).toEqual([0, 1, 2])
  for (const { resolve } of ends) resolve()
  expect((await outcomes).map(({ status }) => status)).toEqual([
    'fulfilled',
    'rejected',
    ...Array.from({ length: 3 }, () => 'fulfilled'),
  ])
  expect(begun).toEqual([0, 1, 2, 3, 4])
})
