import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { ClockSteps } from '../../../../services/migrations/live/clock-steps.ts'
import { HeldNames } from '../../../../services/migrations/live/held-names.ts'
import { momentOf, monotonicMs, timeOf } from '../../../../broker/common/monotonic.ts'
import { recordingLog } from '../../../support/log.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const step = (ms: number) => vi.setSystemTime(Date.now() + ms)

test('that the clock was stepped is said once, and by how much', () => {
  const recorded = recordingLog()
  const steps = new ClockSteps(recorded.log)
  const later = () => {
    vi.advanceTimersByTime(1_000)
    steps.look()
  }
  for (let i = 0; i < 5; i++) later()
  expect(recorded.text()).toBe('')
  step(-3_600_000)
  later()
  later()
  expect(recorded.text()).toContain('The clock of the host was set back by 3600 s')
  step(7_200_500)
  later()
  later()
  expect(recorded.text()).toContain('The clock of the host jumped 7200.5 s ahead')
  expect(recorded.lines.map(({ level, details }) => [level, details])).toEqual([
    ['warn', { stepSeconds: -3_600 }],
    ['warn', { stepSeconds: 7_200.5 }],
  ])
})

test('what waits is as old as it is, and a name is held no longer, whatever the clock is set to', () => {
  const released: string[] = []
  const names = new HeldNames(
    (_, name) => void released.push(name),
    () => expect.unreachable('there is room for names'),
  )
  const sinceMs = monotonicMs()
  names.hold({ folder: '', names: ['file'], trees: [], scope: 'names', sinceMs }, sinceMs + 10)
  step(-3_600_000)
  vi.advanceTimersByTime(10)
  expect(released).toEqual(['file'])
  expect(monotonicMs() - sinceMs).toBe(10)
  // By the clock as it is now, and back.
  expect(timeOf(sinceMs)).toBe(Date.now() - 10)
  expect(momentOf(timeOf(sinceMs))).toBe(sinceMs)
})
