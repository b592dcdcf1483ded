import { describe, expect, test } from 'vitest'
import { windowAt } from '../../../services/bandwidth/timetable.ts'
import { type Bucket, newBucket, noRates, setRates } from '../../../services/engine/run/bucket.ts'
import { isSlow, Pace } from '../../../services/engine/run/pace.ts'
import { Stop } from '../../../services/engine/run/stop.ts'
import type { BandwidthSchedule } from '../../../subjects/migrations/bandwidth.ts'

const limited = (bytesPerSecond?: number, requestsPerSecond?: number): Bucket => {
  const bucket = newBucket()
  setRates(bucket, { bytesPerSecond, requestsPerSecond })
  return bucket
}
const paceOf = (buckets: Bucket[], stop = new Stop(new Int32Array(1))) => new Pace(buckets, stop)

/** Seconds that a work takes. */
async function seconds(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now()
  await work()
  return (performance.now() - begun) / 1_000
}

describe('a pace', () => {
  test('without limits is no wait at all', async () => {
    const pace = paceOf([newBucket(), newBucket()])
    expect(pace.isLimited).toBe(false)
    expect(await seconds(() => pace.pay(1e12))).toBeLessThan(0.05)
    expect(pace.pieceBytes(7)).toBe(7)
  })

  test('is that of the narrowest limit, for all who share it', async () => {
    const buckets = [limited(1e9), limited(1_000), newBucket()]
    const both = [paceOf(buckets), paceOf(buckets)]
    // What a fifth of a second allows is free at the beginning.
    const taken = await seconds(() => Promise.all(both.map((pace) => pace.pay(350))))
    expect(taken).toBeGreaterThan(0.45)
    expect(taken).toBeLessThan(0.8)
  })

  test('holds for requests of any size', async () => {
    const pace = paceOf([limited(undefined, 20)])
    const taken = await seconds(async () => {
      for (let count = 0; count < 12; count++) await pace.pay(0)
    })
    expect(taken).toBeGreaterThan(0.35)
    expect(taken).toBeLessThan(0.7)
  })

  test('changes at once, also for who waits already', async () => {
    const bucket = limited(10)
    const waiting = seconds(() => paceOf([bucket]).pay(1_000))
    setRates(bucket, { bytesPerSecond: 100_000, requestsPerSecond: undefined })
    expect(await waiting).toBeLessThan(0.5)
    const lifted = seconds(() => paceOf([limited(10), bucket]).pay(100))
    setRates(bucket, noRates)
    expect(paceOf([bucket]).isLimited).toBe(false)
    expect(await Promise.race([lifted.then(() => 'over'), Promise.resolve('waits')])).toBe('waits')
  })

  test('ends with the job', async () => {
    const flag = new Int32Array(1)
    const stop = new Stop(flag)
    const paying = paceOf([limited(1)], stop).pay(1e6)
    stop.abort()
    await expect(paying).rejects.toThrow('stopped')
  })

  test('makes parts of what a second allows, and none that are mostly requests', () => {
    const MiB = 1024 * 1024
    expect(paceOf([limited(2 * MiB), limited(MiB)]).pieceBytes(16 * MiB)).toBe(MiB)
    expect(paceOf([limited(1)]).pieceBytes(16 * MiB)).toBe(MiB / 4)
    expect(isSlow([newBucket()])).toBe(false)
    expect(isSlow([newBucket(), limited(MiB)])).toBe(true)
    expect(isSlow([limited(1024 * MiB)])).toBe(false)
  })
})

describe('a table of times of day', () => {
  const at = (schedule: BandwidthSchedule, time: string) => windowAt(schedule, new Date(time))?.from
  const office: BandwidthSchedule = {
    timeZone: 'Europe/Berlin',
    windows: [
      { days: ['MON', 'FRI'], from: '08:00', to: '18:00' },
      { days: ['FRI'], from: '22:00', to: '06:00' },
      { from: '12:00', to: '13:00' },
    ],
  }

  test.each([
    // 2026-01-30 is a Friday; Berlin is an hour ahead of UTC in winter, two in summer.
    ['2026-01-30T06:59:59Z', undefined],
    ['2026-01-30T07:00:00Z', '08:00'],
    ['2026-01-30T11:30:00Z', '08:00'],
    ['2026-01-30T17:00:00Z', undefined],
    ['2026-01-30T21:00:00Z', '22:00'],
    ['2026-01-31T04:59:00Z', '22:00'],
    ['2026-01-31T05:00:00Z', undefined],
    ['2026-01-31T11:30:00Z', '12:00'],
    ['2026-01-29T22:00:00Z', undefined],
    ['2026-07-03T06:00:00Z', '08:00'],
  ])('at %s: %s', (time, from) => {
    expect(at(office, time)).toBe(from)
  })

  test('a day may end at 24:00, and a window may last a whole day', () => {
    const evening = { timeZone: 'UTC', windows: [{ from: '20:00', to: '24:00' }] }
    expect(at(evening, '2026-01-30T23:59:59Z')).toBe('20:00')
    expect(at(evening, '2026-01-31T00:00:00Z')).toBeUndefined()
    const always = { timeZone: 'UTC', windows: [{ from: '00:00', to: '00:00' }] }
    expect(at(always, '2026-01-31T00:00:00Z')).toBe('00:00')
  })
})
