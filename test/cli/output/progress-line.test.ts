import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { endedJob, endedState } from '../../../cli/commands/job-end.ts'
import type { Verification } from '../../../subjects/migrations/verifications.ts'
import { verifications } from '../../../subjects/migrations/verifications.ts'
import { migrations } from '../../../subjects/migrations/migrations.ts'
import { testTerminal } from '../support.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const id = '0a1b2c3d-0000-4000-8000-000000000000'

/** Waits for a job that is looked at `looks` times before it has ended. */
async function waitFor(isTty: boolean, looks: number): Promise<string> {
  const terminal = testTerminal({ isTty })
  // Only what is shown.
  const job = (status: Verification['status'], filesOnSource: number) =>
    ({ id, status, filesOnSource, filesOnTarget: 7, totalDiscrepancies: 0 }) as Verification
  let looked = 0
  const session = {
    call: async () => job(++looked < looks ? 'IN_PROGRESS' : 'COMPLETE', 1000 + looked),
  } as unknown as Parameters<typeof endedJob>[0]
  const ended = endedJob(session, terminal, job('QUEUED', 0), verifications.get, { verificationId: id })
  await vi.runAllTimersAsync()
  expect(await ended).toMatchObject({ status: 'COMPLETE' })
  return terminal.written.err
}

test('on a terminal one line is written over, and is gone at the end', async () => {
  const lines = (await waitFor(true, 3)).split('\r\u001b[K')
  expect(lines).toEqual([
    '',
    'verification waiting for its turn',
    'verification: 1,001 files on source, 7 files on target, 0 discrepancies',
    'verification: 1,002 files on source, 7 files on target, 0 discrepancies',
    '',
  ])
})

test('elsewhere a line comes every five seconds, and none of what is done sooner', async () => {
  expect(await waitFor(false, 5)).toBe('')
  expect((await waitFor(false, 25)).trimEnd().split('\n')).toEqual([
    'verification: 1,010 files on source, 7 files on target, 0 discrepancies',
    'verification: 1,020 files on source, 7 files on target, 0 discrepancies',
  ])
})

test('a state is waited for until it is over, of a list one after the other', async () => {
  const terminal = testTerminal({ isTty: true })
  const looks: Record<string, number> = {}
  const session = {
    call: async (_: unknown, { migrationId }: { migrationId: string }) => {
      looks[migrationId] = (looks[migrationId] ?? 0) + 1
      return { migrationId, state: looks[migrationId] < 2 ? 'STOPPING' : 'STOPPED' }
    },
  } as unknown as Parameters<typeof endedState>[0]
  const outcomes = [
    { migrationId: 'first', done: true, state: 'STOPPING' },
    { migrationId: 'new', done: false, state: 'NONSCHEDULED' },
    { migrationId: 'second', done: true, state: 'STOPPING' },
  ]
  const waits = { by: 'migrationId', field: 'state', is: 'STOPPING' }
  const ended = endedState(session, terminal, outcomes, migrations.get, waits)
  await vi.runAllTimersAsync()
  expect(await ended).toEqual([
    { migrationId: 'first', done: true, state: 'STOPPED' },
    { migrationId: 'new', done: false, state: 'NONSCHEDULED' },
    { migrationId: 'second', done: true, state: 'STOPPED' },
  ])
  expect(new Set(terminal.written.err.split('\r\u001b[K'))).toEqual(
    new Set(['', 'first is STOPPING', 'second is STOPPING']),
  )
})
