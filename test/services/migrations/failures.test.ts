import { expect, test } from 'vitest'
import type { Failure } from '../../../services/migrations/engine/counts.ts'
import { noteFailures, openFailures } from '../../../services/migrations/failures.ts'
import { smallLimits, startTestBroker } from '../../support/broker.ts'

const failure = (path: string): Failure => ({ path, failure: 'io', message: 'broken', attempts: 3 })
const forever = new AbortController().signal

test('an item that comes again has other failures in another order: each path is noted, and once', async () => {
  await using broker = await startTestBroker()
  const ledger = await openFailures(await broker.connect('PLATFORM'), smallLimits.maxFileBytes)
  const fail = (item: number, ...paths: string[]) =>
    noteFailures(ledger, 'migration', { item: `${item}`, failures: paths.map(failure) }, forever)
  await fail(7, '/a', '/b')
  await fail(7, '/c', '/a')
  await fail(8, '/d')
  const entries = await ledger.page('migration', { limit: 10 })
  expect(entries.map(({ entry }) => entry.path).toSorted()).toEqual(['/a', '/b', '/c', '/d'])
})
