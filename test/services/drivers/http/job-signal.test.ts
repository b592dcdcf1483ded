import { afterEach, expect, test, vi } from 'vitest'
import { FolderNames } from '../../../../services/drivers/buckets/folder-names.ts'
import type { ObjectPage } from '../../../../services/drivers/buckets/objects.ts'
import { beyondJobs, cleaningUp, jobSignal, withinJob } from '../../../../services/drivers/http/job-signal.ts'
import { Renewed } from '../../../../services/drivers/http/renewed.ts'
import { DelegationTokens } from '../../../../services/drivers/hdfs/delegation-tokens.ts'

const ended = new Error('the job was stopped')
afterEach(() => void vi.useRealTimers())

/** Two jobs that wait for the same, and what asks for it. */
function twoJobs<T>(ask: () => Promise<T>) {
  const first = new AbortController()
  return {
    end: () => first.abort(ended),
    first: withinJob(first.signal, ask).catch((error: unknown) => error),
    second: withinJob(new AbortController().signal, ask),
  }
}

test('what is asked within a job has its signal, and what is beyond it has none', () => {
  const { signal } = new AbortController()
  expect(jobSignal()).toBeUndefined()
  expect(withinJob(signal, () => [jobSignal(), beyondJobs(jobSignal)])).toEqual([signal, undefined])
})

test('a listing that two jobs wait for goes on when the one that asked has ended', async () => {
  const page = Promise.withResolvers<ObjectPage>()
  const signals: unknown[] = []
  const listPage = () => {
    signals.push(jobSignal())
    return page.promise
  }
  const names = new FolderNames({ listPage })
  const jobs = twoJobs(() => names.isFolder('folder/name', () => 'list'))
  jobs.end()
  expect(await jobs.first).toBe(ended)
  page.resolve({ objects: [], prefixes: ['folder/name/'], nextToken: '' })
  expect(await jobs.second).toBe(true)
  expect(signals).toEqual([undefined])
})

test('a token that two jobs wait for is got when the one that asked has ended', async () => {
  const lease = Promise.withResolvers<{ value: string; untilMs: number }>()
  const signals: unknown[] = []
  const tokens = new Renewed(() => {
    signals.push(jobSignal())
    return lease.promise
  })
  const jobs = twoJobs(() => tokens.get())
  jobs.end()
  expect(await jobs.first).toBe(ended)
  lease.resolve({ value: 'token', untilMs: Infinity })
  expect(await jobs.second).toBe('token')
  expect(signals).toEqual([undefined])
})

test('a delegation token is asked for beyond the job that needs it first', async () => {
  const signals: unknown[] = []
  const tokens = new DelegationTokens({
    get: async () => {
      signals.push(jobSignal())
      return 'token'
    },
    renew: async () => {
      signals.push(jobSignal())
      return { untilMs: Infinity, leftMs: 60_000 }
    },
    cancel: async () => undefined,
  })
  expect(await withinJob(new AbortController().signal, () => tokens.current({}))).toBe('token')
  expect(signals).toEqual([undefined, undefined])
})

test('a clean-up goes on after the end of its job, for some seconds', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const job = new AbortController()
  let signal: AbortSignal | undefined
  const never = Promise.withResolvers<void>()
  const cleaned = withinJob(job.signal, () =>
    cleaningUp(() => {
      signal = jobSignal()
      signal?.addEventListener('abort', () => never.reject(signal?.reason))
      return never.promise
    }),
  ).catch((error: unknown) => error)
  job.abort(ended)
  expect(signal?.aborted).toBe(false)
  vi.runAllTimers()
  expect(await cleaned).toBe(ended)
})
