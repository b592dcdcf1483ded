import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { StoreError } from '../../../../services/drivers/contract/driver.ts'
import { DelegationTokens, type TokenService } from '../../../../services/drivers/hdfs/delegation-tokens.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const [intervalMs, lifetimeMs] = [1_000, 2_500]
const refused = new StoreError('refused', 'no ticket')

/** A cluster's part with the rules of Hadoop: a token is made longer by an interval, up to its lifetime. */
function service() {
  const madeMs = new Map<string, number>()
  const calls: string[] = []
  const state = { isAway: false }
  const its: TokenService = {
    get: async () => {
      if (state.isAway) throw refused
      const token = `token-${madeMs.size + 1}`
      calls.push(`get ${token}`)
      madeMs.set(token, Date.now())
      return token
    },
    renew: async (token) => {
      if (state.isAway) throw refused
      calls.push(`renew ${token}`)
      const untilMs = Math.min(Date.now() + intervalMs, madeMs.get(token)! + lifetimeMs)
      return { untilMs, leftMs: untilMs - Date.now() }
    },
    cancel: async (token) => void calls.push(`cancel ${token}`),
  }
  return { tokens: new DelegationTokens(its), calls, state }
}

test('many requests share one token, which is renewed once, and got anew at the end of its lifetime', async () => {
  const { tokens, calls } = service()
  const many = () => Promise.all(Array.from({ length: 10 }, () => tokens.current({})))
  expect(new Set(await many())).toEqual(new Set(['token-1']))
  expect(calls).toEqual(['get token-1', 'renew token-1'])
  vi.advanceTimersByTime(800)
  expect(new Set(await many())).toEqual(new Set(['token-1']))
  expect(calls.slice(2)).toEqual(['renew token-1'])
  for (let step = 0; step < 4; step++) {
    vi.advanceTimersByTime(600)
    await many()
  }
  expect(calls).toContain('get token-2')
  expect(calls).not.toContain('get token-3')
  await tokens.close()
  expect(calls.at(-1)).toBe('cancel token-2')
})

test('a token that was refused is got anew once, however many were refused it', async () => {
  const { tokens, calls } = service()
  await tokens.current({})
  await Promise.all([tokens.forget('token-1'), tokens.forget('token-1')])
  expect(await tokens.current({})).toBe('token-2')
  await tokens.forget('token-1')
  expect(await tokens.current({})).toBe('token-2')
  expect(calls.filter((call) => call.startsWith('get'))).toHaveLength(2)
})

test('a token is used to its end while no other is to be had; then the failure is told, and forgotten', async () => {
  const { tokens, state } = service()
  await tokens.current({})
  state.isAway = true
  vi.advanceTimersByTime(800)
  expect(await tokens.current({})).toBe('token-1')
  vi.advanceTimersByTime(300)
  await expect(tokens.current({})).rejects.toBe(refused)
  state.isAway = false
  expect(await tokens.current({})).toBe('token-2')
})

test('whoever leaves is not kept waiting, and ends nothing for others', async () => {
  const { tokens } = service()
  const controller = new AbortController()
  const leaving = tokens.current({ signal: controller.signal })
  const staying = tokens.current({})
  controller.abort(new Error('left'))
  await expect(leaving).rejects.toThrow('left')
  expect(await staying).toBe('token-1')
})
