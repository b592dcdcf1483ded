import { expect, test } from 'vitest'
import type { VerificationRecord } from '../../../../services/migrations/jobs/verifications/record.ts'
import { unresolved } from '../../../../services/migrations/jobs/verifications/unresolved.ts'

/** Complete ones of the whole migration, in the order in which they were made. */
const verifications = (...all: readonly Partial<VerificationRecord>[]): VerificationRecord[] =>
  all.map((one, index) => ({
    id: String(index),
    migrationId: 'a',
    internalId: 'internal',
    status: 'COMPLETE',
    level: 'size',
    created: new Date(index * 1_000).toISOString(),
    paths: ['/data'],
    originalPaths: [],
    ...one,
  }))
const ids = (...all: readonly Partial<VerificationRecord>[]) =>
  unresolved(verifications(...all)).map(({ id }) => id)
const different = { counts: { totalDiscrepancies: 2, unreadablePaths: 1 } }
const equal = { counts: { totalDiscrepancies: 0, unreadablePaths: 0 } }

test('the newest that found differences is told, until a later one finds none', () => {
  expect(unresolved(verifications(different, different))).toEqual([
    {
      id: '1',
      migrationId: 'a',
      internalId: 'internal',
      level: 'size',
      totalDiscrepancies: 2,
      unreadablePaths: 1,
    },
  ])
  expect(ids(different, equal)).toEqual([])
  expect(ids(equal, different)).toEqual(['1'])
  expect(ids(different, { ...equal, status: 'CANCELLED' })).toEqual(['0'])
  expect(ids(different, { ...equal, internalId: 'other' })).toEqual(['0'])
})

test('one that looked at less, or less closely, does not resolve it', () => {
  const folder = { paths: ['/data/a'] }
  expect(ids(different, { ...equal, ...folder })).toEqual(['0'])
  expect(ids({ ...different, ...folder }, equal)).toEqual([])
  expect(ids({ ...different, paths: ['/data/ab'] }, { ...equal, ...folder })).toEqual(['0'])
  expect(ids(different, { ...equal, depth: 3 })).toEqual(['0'])
  expect(ids({ ...different, depth: 2 }, { ...equal, depth: 3 })).toEqual([])
  expect(ids(different, { ...equal, ignoreAfterMs: 1 })).toEqual(['0'])
  expect(ids({ ...different, ignoreAfterMs: 1 }, { ...equal, ignoreAfterMs: 2 })).toEqual([])
  expect(ids({ ...different, level: 'digest' }, { ...equal, level: 'metadata' })).toEqual(['0'])
  expect(ids({ ...different, level: 'existence' }, { ...equal, level: 'digest' })).toEqual([])
})
