import { expect, test } from 'vitest'
import {
  maxRegionsOf,
  withMaxRegions,
  withRegionIn,
} from '../../../../services/migrations/execution/regions.ts'
import { changed } from '../../../../services/migrations/api/update.ts'
import { maxPendingRegions } from '../../../../subjects/migrations/model/model.ts'
import { migrationRecord } from '../../../support/migration-records.ts'

const now = new Date('2026-02-01T12:00:00Z')

test('a policy is changed, and notes are replaced; what is not given stays', () => {
  const noted = changed(
    migrationRecord(),
    {
      deletionMode: 'IMMEDIATE_DELETION',
      actionPolicy: 'SkipIfSizeMatch',
      additionalProperties: { ticket: '7' },
    },
    now.getTime(),
  )
  expect(noted).toMatchObject({
    policy: 'SkipIfSizeMatch',
    cleanup: { afterSeconds: 0 },
    additionalProperties: { ticket: '7' },
  })
  expect(changed(noted, { migrationPriority: 'HIGH' }, now.getTime())).toMatchObject({
    policy: 'SkipIfSizeMatch',
    additionalProperties: { ticket: '7' },
  })
})

test('no more folders wait than the limit says, and no limit is below what waits', () => {
  const two = ['/a', '/b'].reduce(
    (record, path) => withRegionIn(record, { path }, now),
    withMaxRegions(migrationRecord(), 2),
  )
  expect(maxRegionsOf(two)).toBe(2)
  // One that waits already is no further one.
  expect(withRegionIn(two, { path: '/a' }, now).pendingRegions).toHaveLength(2)
  expect(() => withRegionIn(two, { path: '/c' }, now)).toThrow(
    expect.objectContaining({ code: 'OVERLOADED' }) as Error,
  )
  expect(() => withMaxRegions(two, 1)).toThrow(
    expect.objectContaining({
      code: 'IN_USE',
      message: '2 rescans of folders are pending: a limit of 1 can be set when they are done',
    }) as Error,
  )
  // The existing product takes any number; more than a record holds never wait.
  const widened = withMaxRegions(two, 1_000_000)
  expect(widened.maxPendingRegions).toBe(1_000_000)
  expect(maxRegionsOf(widened)).toBe(maxPendingRegions)
})
