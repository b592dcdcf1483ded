import { EventEmitter } from 'node:events'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { stopSignals } from '../../cli/signals.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => void vi.useRealTimers())

test('the first Ctrl-C stops in order, the second ends at once; what npm repeats does not count', async () => {
  const process = new EventEmitter()
  const again = vi.fn<() => void>()
  const signals = stopSignals(again, process)
  process.emit('SIGINT', 'SIGINT')
  expect(await signals.first).toBe('SIGINT')
  vi.advanceTimersByTime(20)
  process.emit('SIGINT', 'SIGINT')
  expect(again).not.toHaveBeenCalled()
  vi.advanceTimersByTime(1_000)
  process.emit('SIGINT', 'SIGINT')
  expect(again).toHaveBeenCalledOnce()
})

test('nothing is left on the process', () => {
  const process = new EventEmitter()
  stopSignals(() => undefined, process).dispose()
  expect(process.eventNames()).toEqual([])
})
