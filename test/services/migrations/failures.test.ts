import { expect, test } from 'vitest'
import type { Failure } from '../../../services/migrations/engine/counts.ts'
import { KnownFailures } from '../../../services/migrations/changes/known-failures.ts'
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

test('a path that fails again and again is in the list of a live migration once, also when that begins anew', async () => {
  await using broker = await startTestBroker()
  const ledger = await openFailures(await broker.connect('PLATFORM'), smallLimits.maxFileBytes)
  const open = () => KnownFailures.open(ledger, 'live')
  const listed = async () =>
    (await ledger.page('live', { limit: 10 })).map(({ sequence, entry: { path, message } }) => ({
      sequence,
      path,
      message,
    }))
  const note = (known: KnownFailures, item: string, failures: Failure[], retried?: number) =>
    known.note({ item, failures, retried }, forever)
  const first = await open()
  await note(first, '1', [failure('/a'), failure('/b/c')])
  await note(first, '2', [failure('/a')])
  const known = await open()
  await note(known, '3', [failure('/a'), failure('/b/c')])
  expect(await listed()).toMatchObject([{ path: '/a' }, { path: '/b/c' }])

  // For another reason, which takes the place of the first.
  await note(known, '4', [{ ...failure('/a'), message: 'worse' }])
  const sequence = (await listed())[1]?.sequence
  expect(await listed()).toMatchObject([{ path: '/b/c' }, { path: '/a', message: 'worse' }])

  // One that was tried again is noted anew, before its caller forgets it, and is known no more when it has arrived.
  await note(known, '5', [{ ...failure('/a'), message: 'worse' }], sequence)
  await known.forget(sequence ?? 0)
  const [, again] = await listed()
  expect(again).toMatchObject({ path: '/a', message: 'worse' })
  await known.forget(again?.sequence ?? 0)
  await note(known, '6', [failure('/a')])
  expect(await listed()).toMatchObject([{ path: '/b/c' }, { path: '/a', message: 'broken' }])

  await known.gone(['/b', '/x'])
  expect(await listed()).toMatchObject([{ path: '/a' }])
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
