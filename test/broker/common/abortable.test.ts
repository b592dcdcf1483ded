import { setImmediate as turn } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { abortable } from '../../../broker/common/abortable.ts'

const reason = new Error('it was stopped')

test('it comes to what the promise comes to', async () => {
  const { signal } = new AbortController()
  expect(await abortable(Promise.resolve(1), signal)).toBe(1)
  await expect(abortable(Promise.reject(reason), signal)).rejects.toBe(reason)
})

test('it rejects with the reason of the signal, whatever the promise is up to', async () => {
  const stop = new AbortController()
  const waiting = abortable(new Promise(() => undefined), stop.signal)
  stop.abort(reason)
  await expect(waiting).rejects.toBe(reason)
  await expect(abortable(Promise.resolve(1), stop.signal)).rejects.toBe(reason)
})

test('a promise that fails after a signal that had aborted before harms nobody', async () => {
  const unhandled: unknown[] = []
  const note = (error: unknown) => unhandled.push(error)
  // Vitest's own would fail the run.
  const others = process.listeners('unhandledRejection')
  process.removeAllListeners('unhandledRejection').on('unhandledRejection', note)
  onTestFinished(() => {
    process.off('unhandledRejection', note)
    for (const other of others) process.on('unhandledRejection', other)
  })
  const late = Promise.withResolvers<never>()
  await expect(abortable(late.promise, AbortSignal.abort(reason))).rejects.toBe(reason)
  late.reject(new Error('too late'))
  await turn()
  await turn()
  expect(unhandled).toEqual([])
})
