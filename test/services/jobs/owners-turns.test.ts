import { expect, test } from 'vitest'
import { nextOf, tooManyOf } from '../../../services/jobs/owners-turns.ts'

let made = 0
const job = (owner: string | undefined, status: 'QUEUED' | 'IN_PROGRESS' | 'COMPLETE', started?: string) => ({
  id: `${owner ?? 'nobody'}-${made}`,
  status,
  created: new Date(made++).toISOString(),
  ...(owner === undefined ? {} : { owner }),
  ...(started === undefined ? {} : { started }),
})
const isWaiting = ({ status }: { status: string }) => status === 'QUEUED'
const many = <T>(count: number, make: () => T) => Array.from({ length: count }, make)
const ownersOf = (jobs: readonly { owner?: string }[]) => jobs.map(({ owner = 'nobody' }) => owner)

test('nobody waits for all that another has asked for', () => {
  const jobs = [
    ...many(100, () => job('greedy', 'QUEUED')),
    job('modest', 'QUEUED'),
    job(undefined, 'QUEUED'),
  ]
  expect(ownersOf(nextOf(jobs, isWaiting, 4))).toEqual(['greedy', 'modest', 'nobody', 'greedy'])
})

test('an owner with nothing under way comes before one with something, then who has waited longer', () => {
  const jobs = [
    job('busy', 'IN_PROGRESS', '2026-01-01'),
    job('busy', 'QUEUED'),
    job('late', 'COMPLETE', '2026-01-03'),
    job('late', 'QUEUED'),
    job('early', 'COMPLETE', '2026-01-02'),
    job('early', 'QUEUED'),
  ]
  expect(ownersOf(nextOf(jobs, isWaiting, 2))).toEqual(['early', 'late'])
  expect(ownersOf(nextOf(jobs, isWaiting, 9))).toEqual(['early', 'late', 'busy'])
})

test('one that was begun a moment ago is under way, although its record does not say so yet', () => {
  const begun = job('busy', 'QUEUED')
  const jobs = [begun, job('busy', 'QUEUED'), job('other', 'QUEUED')]
  expect(ownersOf(nextOf(jobs, (one) => one !== begun, 1))).toEqual(['other'])
})

test('of one owner the oldest comes first', () => {
  const jobs = many(3, () => job('one', 'QUEUED')).toReversed()
  expect(nextOf(jobs, isWaiting, 3)).toEqual(jobs.toReversed())
})

test('what an owner has made many of is forgotten first, the oldest of it', () => {
  const kept = job('modest', 'COMPLETE')
  const jobs = many(4, () => job('greedy', 'COMPLETE'))
  expect(tooManyOf([kept, ...jobs], 3)).toEqual(jobs.slice(0, 3))
  expect(tooManyOf([kept], 3)).toEqual([kept])
  expect(tooManyOf([], 3)).toEqual([])
})
