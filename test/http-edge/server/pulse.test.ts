import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { BrokerPulse } from '../../../http-edge/server/pulse.ts'
import { GantryError } from '../../../subjects/kit/errors.ts'

// The clock is the test's; that a real broker is frozen is in server.test.ts.
beforeEach(
  () => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setImmediate', 'performance'] }),
)
afterEach(() => void vi.useRealTimers())

const timeout = new GantryError('TIMEOUT', 'keys.list did not answer in time', { requestId: 'one' })

test('silence is known by an answer that does not come, and ends with the next one', async () => {
  let answer = () => Promise.resolve()
  const pulse = new BrokerPulse({ flush: () => answer() })
  await vi.advanceTimersByTimeAsync(10_000)
  expect(pulse.isSilent).toBe(false)
  expect(pulse.explained(timeout)).toBe(timeout)

  const frozen = Promise.withResolvers<void>()
  answer = () => frozen.promise
  const waiting = pulse.orSilence(new Promise(() => undefined)).catch((error: unknown) => error)
  await vi.advanceTimersByTimeAsync(1_500)
  pulse.check()
  await vi.advanceTimersByTimeAsync(2_000)
  expect(pulse.isSilent).toBe(true)
  expect(await waiting).toMatchObject({ code: 'UNAVAILABLE' })
  expect(() => pulse.check()).toThrow(/the broker \(nats-server\) does not respond/)
  expect(pulse.explained(timeout)).toMatchObject({
    code: 'TIMEOUT',
    message: expect.stringContaining('the broker'),
    requestId: 'one',
  })

  frozen.resolve()
  await vi.advanceTimersByTimeAsync(0)
  expect(pulse.isSilent).toBe(false)
  pulse.stop()
})

test('a connection that is lost again and again is silence too', async () => {
  const pulse = new BrokerPulse({ flush: () => Promise.reject(new Error('disconnected')) })
  await vi.advanceTimersByTimeAsync(3_500)
  expect(pulse.isSilent).toBe(true)
  pulse.stop()
})
