import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { taskList } from '../../../broker/tasks/task-list.ts'
import { every, logTaskFailures, tasksHere, whenDue } from '../../../broker/tasks/tasks.ts'
import { platform } from '../../../subjects/platform/platform.ts'
import { check } from '../../../subjects/kit/validate.ts'

beforeEach(() => void vi.useFakeTimers({ now: Date.parse('2026-01-01T00:00:00.000Z') }))
afterEach(() => {
  vi.useRealTimers()
  logTaskFailures(undefined)
})

const seen = (name: string) => tasksHere().find((task) => task.name === name)!

test('the list has every task, whether or not it is running here', () => {
  const tasks = tasksHere()
  expect(tasks.map(({ name }) => name)).toEqual(Object.keys(taskList))
  expect(check(platform.tasks.output, tasks)).toEqual(tasks)
  expect(seen('agents.waiting')).toMatchObject({ owner: 'one-node', everySeconds: 60, running: 0, runs: 0 })
})

test('a periodic task tells when it ran, how long that took, and when it runs next', async () => {
  const before = seen('stats.keep').runs
  using task = every('stats.keep', () => vi.advanceTimersByTime(250))
  expect(seen('stats.keep')).toMatchObject({ running: 1, nextRun: '2026-01-01T00:01:00.000Z' })
  await vi.advanceTimersByTimeAsync(60_000)
  expect(seen('stats.keep')).toMatchObject({
    runs: before + 1,
    lastRun: '2026-01-01T00:01:00.000Z',
    durationMs: 250,
    nextRun: '2026-01-01T00:02:00.000Z',
  })
  task.stop()
  expect(seen('stats.keep')).toMatchObject({ running: 0 })
  expect(seen('stats.keep').nextRun).toBeUndefined()
})

test('a run that takes longer than the period is not begun a second time', async () => {
  const runs: PromiseWithResolvers<void>[] = []
  using _task = every('agents.silent', () => {
    runs.push(Promise.withResolvers())
    return runs.at(-1)!.promise
  })
  await vi.advanceTimersByTimeAsync(5_000)
  expect(runs).toHaveLength(1)
  runs[0]!.resolve()
  await vi.advanceTimersByTimeAsync(1_000)
  expect(runs).toHaveLength(2)
})

test('a task that becomes due while it runs runs once more after that', async () => {
  const runs: PromiseWithResolvers<void>[] = []
  using task = whenDue('extensions.logs', () => {
    runs.push(Promise.withResolvers())
    return runs.at(-1)!.promise
  })
  task.due(1_000)
  await vi.advanceTimersByTimeAsync(1_000)
  task.due(1_000)
  await vi.advanceTimersByTimeAsync(1_000)
  expect(runs).toHaveLength(1)
  runs[0]!.resolve()
  await vi.advanceTimersByTimeAsync(0)
  expect(runs).toHaveLength(2)
  runs[1]!.resolve()
  await vi.advanceTimersByTimeAsync(10_000)
  expect(runs).toHaveLength(2)
})

test('a failure is counted, logged and shown, and the task goes on', async () => {
  const logged: object[] = []
  logTaskFailures({ error: (details) => void logged.push(details) })
  const { runs, failures } = seen('alerts.rules')
  let fails = true
  using _task = every('alerts.rules', async () => {
    if (fails) throw new Error('no answer')
  })
  await vi.advanceTimersByTimeAsync(10_000)
  fails = false
  await vi.advanceTimersByTimeAsync(10_000)
  expect(seen('alerts.rules')).toMatchObject({
    runs: runs + 2,
    failures: failures + 1,
    lastError: 'Error: no answer',
  })
  expect(logged).toMatchObject([{ task: 'alerts.rules' }])
})

test('a task that is due at times of its own runs once for each, however far away', async () => {
  const month = 31 * 86_400_000
  let ran = 0
  using task = whenDue('alerts.webhooks', () => {
    ran++
  })
  expect(seen('alerts.webhooks').nextRun).toBeUndefined()
  task.due(5_000)
  task.due(1_000)
  expect(seen('alerts.webhooks').nextRun).toBe('2026-01-01T00:00:01.000Z')
  await vi.advanceTimersByTimeAsync(10_000)
  expect(ran).toBe(1)
  task.due(1_000)
  task.notDue()
  await vi.advanceTimersByTimeAsync(10_000)
  expect(ran).toBe(1)
  // Node's timers take at most 24 days: it runs then, and finds out that nothing is due.
  task.due(month)
  await vi.advanceTimersByTimeAsync(month)
  expect(ran).toBe(2)
})
