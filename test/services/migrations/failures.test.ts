import { expect, test } from 'vitest'
import type { Failure } from '../../../services/migrations/engine/counts.ts'
import { noteFailures, openFailures } from '../../../services/migrations/failures.ts'
import { type FailureDependencies, failureHandlers } from '../../../services/migrations/failure-handlers.ts'
import { contentsOf } from '../../../subjects/download.ts'
import { migrationRecord } from '../../support/migration-records.ts'
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

test('an export has all failures, in parts of which only the first has the names of the columns', async () => {
  await using broker = await startTestBroker()
  const ledger = await openFailures(await broker.connect('PLATFORM'), smallLimits.maxFileBytes)
  const paths = Array.from({ length: 4_100 }, (_, index) => `/${'long '.repeat(60)}${index}`)
  await noteFailures(ledger, 'one', { item: '1', failures: paths.map(failure) }, forever)
  const record = migrationRecord({ internalId: 'one' })
  const fakes = { failures: ledger, figures: { record: () => Promise.resolve(record) } }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- an export asks for no more
  const handlers = failureHandlers(fakes as unknown as FailureDependencies)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- nor of the call
  const ask = (from: number) => handlers['export-failures']({ migrationId: 'one', from }, {} as never)
  const texts: string[] = []
  for await (const text of contentsOf(await ask(0), async (from) => ask(from))) texts.push(text)
  expect(texts.length).toBeGreaterThan(2)
  const rows = texts.join('').trim().split('\r\n')
  expect(rows.filter((row) => row.startsWith('"id"'))).toHaveLength(1)
  expect(new Set(rows.slice(1).map((row) => row.split('","')[1]))).toEqual(new Set(paths))
})
