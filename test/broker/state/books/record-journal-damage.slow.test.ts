import { expect, test } from 'vitest'
import type { TestBroker } from '../../../support/broker.ts'
import { crash, cutTail, flipAt, flipBit, recordsIn } from '../../../support/damage.ts'
import {
  acknowledged,
  createStore,
  fill,
  flipFirst,
  numbers,
  set,
  stop,
  type Things,
} from '../../../support/journal-store.ts'

const damages: Record<string, (block: string) => void> = {
  'a bit flipped in the first record': flipFirst,
  'a bit flipped in the last record': (block) => flipBit(block, 0.95),
  'the last kilobyte cut off': (block) => cutTail(block, 1_024),
  'all of it cut off': (block) => cutTail(block, 1e9),
}

const ends: Record<string, (broker: TestBroker) => Promise<void>> = {
  'after a kill': crash,
  'after a stop in order': stop,
}
const cases = Object.entries(ends).flatMap(([when, end]) =>
  Object.entries(damages).map(([what, damage]) => ({ name: `${what} ${when}`, end, damage })),
)

// Side by side: what was asked of a damaged store waits for its answer for seconds.
for (const { name, end, damage } of cases) {
  test.concurrent(`records are what was acknowledged, and the damage is told: ${name}`, async () => {
    using store = await createStore()
    await store.run(fill, end)
    damage(store.block())
    const log = await store.run(async (things, { losses }) => {
      expect(await numbers(things)).toEqual(acknowledged)
      expect(losses.all().map(({ store }) => store)).toContain('things')
    })
    expect(log.text()).toContain('Stored state was damaged')
    await store.run(async (things, { losses }) => {
      expect(await numbers(things)).toEqual(acknowledged)
      // Told until somebody has accepted it.
      const told = losses.all()
      expect(told.length).toBeGreaterThan(0)
      expect(losses.accept()).toEqual(told)
    })
    await store.run(async (_, { losses }) => expect(losses.all()).toEqual([]))
  })
}

/** Of the record of a message that is not read at a start: bytes from its beginning, or below zero from its end. */
const heads: Record<string, { subject: RegExp; at: number }> = {
  'the length of an outdated record': { subject: /changed$/, at: 2 },
  'the sequence of an outdated record, by 2^24': { subject: /changed$/, at: 7 },
  'the sequence of an outdated record, by 2^48': { subject: /changed$/, at: 10 },
  'the checksum of an entry of an index': { subject: /\.in\.[^.]+\.kept$/, at: -1 },
}

for (const [what, { subject, at }] of Object.entries(heads)) {
  test.concurrent(`a bucket is as it was, and takes changes, with a bit flipped in ${what}`, async () => {
    using store = await createStore({ groupOf: ({ n }) => `group ${n % 2}` })
    await store.run(fill, stop)
    const block = store.block()
    const record = recordsIn(block).findLast((one) => subject.test(one.subject))!
    flipAt(block, record.at + (at < 0 ? record.length + at : at))
    const look = async (things: Things) => {
      expect(await numbers(things)).toEqual(acknowledged)
      await set(things, 'later', 1)
      expect((await things.listGroup('group 1')).map(({ n }) => n)).toEqual([9, 1, 1, 1])
    }
    await store.run(look)
    await store.run(look)
  })
}
