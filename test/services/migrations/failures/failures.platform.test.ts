import { expect, test } from 'vitest'
import type { Failure } from '../../../../services/engine/run/counts.ts'
import { decodeItem } from '../../../../services/engine/items/item-decode.ts'
import { encodeItem, startRegion } from '../../../../services/engine/items/items.ts'
import type { ChangeScope } from '../../../../services/drivers/feeds/dirty-folders.ts'
import { joinPath } from '../../../../services/engine/items/paths.ts'
import { KnownFailures } from '../../../../services/migrations/live/known-failures.ts'
import { noteFailures, openFailures } from '../../../../services/migrations/failures/failures.ts'
import { retryItems } from '../../../../services/migrations/failures/retries.ts'
import {
  type FailureDependencies,
  failureHandlers,
} from '../../../../services/migrations/api/failure-handlers.ts'
import { contentsOf } from '../../../../subjects/kit/download.ts'
import { migrationRecord } from '../../../support/migration-records.ts'
import { smallLimits, startTestBroker, type TestBroker } from '../../../support/broker.ts'

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
  const open = () => KnownFailures.open(ledger, 'live', Buffer.alloc(0))
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

  using work = known.begin(startRegion())
  await known.settle({ item: '7', failures: [] }, { gone: ['/b', '/x'] }, work, forever)
  expect(await listed()).toMatchObject([{ path: '/a' }])
})

/** An item that compares, in the folder `in` of a migration of `/root`. */
const comparing = (folder: string, names: string[], scope: ChangeScope = 'names'): Uint8Array => {
  const group = {
    folder: Buffer.from(folder),
    names: names.map((name) => Buffer.from(name)),
    trees: [],
    scope,
  }
  return encodeItem({ kind: 'reconcile', attempt: 1, notBeforeMs: 0, groups: [group] })
}

/** The failures of a live migration of `/root`, and the items of work that they come of. */
async function followFailures(broker: TestBroker) {
  const ledger = await openFailures(await broker.connect('PLATFORM'), smallLimits.maxFileBytes)
  const known = await KnownFailures.open(ledger, 'live', Buffer.from('root'))
  let count = 0
  type Result = Parameters<KnownFailures['settle']>[1] & { failures?: Failure[]; made?: Uint8Array[] }
  /** Settling resolves with paths that are to be looked at again. */
  const begin = (item: Uint8Array) => {
    const work = known.begin(item)
    return {
      settle: async ({ failures = [], made = [], ...result }: Result = {}): Promise<string[]> => {
        work.handOn(made)
        using _ = work
        const again = await known.settle({ item: `${++count}`, failures }, result, work, forever)
        return again.flatMap(pathsOf)
      },
    }
  }
  return {
    begin,
    work: (item: Uint8Array, result?: Result) => begin(item).settle(result),
    listed: async () => (await ledger.page('live', { limit: 10 })).map(({ entry }) => entry.path),
  }
}

function pathsOf(bytes: Uint8Array): string[] {
  const item = decodeItem(bytes)
  if (item.kind !== 'reconcile') throw new Error(`a ${item.kind}`)
  return item.groups.flatMap(({ folder, trees, scope }) => [
    ...trees.map((name) => joinPath(folder, name).toString()),
    ...(scope === 'names' ? [] : [`${folder.toString()}:${scope}`]),
  ])
}

test('a failure leaves the list of a live migration when an item is done that dealt with its path, and did not fail', async () => {
  await using broker = await startTestBroker()
  const { begin, work, listed } = await followFailures(broker)
  const paths = ['/root/a', '/root/in/b', '/root/in/c', '/root/in/%0A']
  const folder = { ...failure('/root/in'), isFolder: true } as const
  await work(startRegion(), { failures: [...paths.map(failure), folder] })
  const all = [...paths, '/root/in']
  expect(await listed()).toEqual(all)

  // Others, and what is still under way or did not come to an end, stay.
  await work(comparing('other', ['b'], 'tree'))
  const one = comparing('in', ['b'])
  await work(one, { failures: [failure('/root/in/b')] })
  await work(one, { made: [one] })
  await work(one, { again: [one] })
  await work(one, { vanished: ['/root/in/b'] })
  await work(one, { failures: [folder] })
  await work(one, { deferral: { reason: 'SOURCE_EMPTY', message: 'empty' } })
  await work(comparing('', ['in']))
  expect((await listed()).toSorted()).toEqual(all.toSorted())
  // What fails elsewhere meanwhile was perhaps seen later.
  const first = begin(one)
  await work(one, { failures: [failure('/root/in/b')] })
  expect(await first.settle()).toEqual(['in/b'])
  expect(await listed()).toHaveLength(all.length)

  await work(one)
  expect((await listed()).toSorted()).toEqual(all.filter((path) => path !== '/root/in/b').toSorted())
  await work(startRegion(Buffer.from('in')))
  expect((await listed()).toSorted()).toEqual(['/root/a', '/root/in/%0A', '/root/in/c'])
  await work(comparing('in', [], 'folder'), { failures: [failure('/root/in/c')] })
  expect((await listed()).toSorted()).toEqual(['/root/a', '/root/in/c'])
  const groups = [{ folder: Buffer.from(''), files: [Buffer.from('a')], others: [] }]
  const copy = encodeItem({ kind: 'transfer', attempt: 2, notBeforeMs: 0, groups })
  await work(copy, { retry: copy })
  expect(await listed()).toHaveLength(2)
  await work(copy)
  expect(await listed()).toEqual(['/root/in/c'])
})

test('a comparison that went down by itself has dealt with what is below, but for what it handed on', async () => {
  await using broker = await startTestBroker()
  const { work, listed } = await followFailures(broker)
  await work(startRegion(), { failures: [failure('/root/in/a'), failure('/root/out/b')] })
  const [inside, outside] = [comparing('in', [], 'tree'), comparing('out', [], 'tree')]
  expect(await work(comparing('', [], 'tree'), { compared: [inside], made: [outside] })).toEqual([])
  expect(await listed()).toEqual(['/root/out/b'])
})

test('a failure that is noted late, when others have dealt with its path, is looked at once more and no more', async () => {
  await using broker = await startTestBroker()
  const { begin, work, listed } = await followFailures(broker)
  const pipe = failure('/root/in/pipe')
  const [folder, its] = [comparing('', ['in']), comparing('in', [], 'tree')]

  // It was seen, and then the folder went, of which is told first.
  let late = begin(its)
  await work(folder, { gone: ['/root/in'] })
  expect(await late.settle({ failures: [pipe] })).toEqual(['in/pipe'])
  expect(await listed()).toEqual(['/root/in/pipe'])
  expect(await work(comparing('in', ['pipe']))).toEqual([])
  expect(await listed()).toEqual([])

  // It had failed, and then arrived, by an item that is done first.
  late = begin(its)
  await work(comparing('in', ['pipe']))
  expect(await late.settle({ failures: [pipe] })).toEqual(['in/pipe'])
  // It fails indeed.
  late = begin(its)
  expect(await work(comparing('in', ['pipe']), { failures: [pipe] })).toEqual([])
  expect(await late.settle({ failures: [pipe] })).toEqual([])
  expect(await listed()).toEqual(['/root/in/pipe'])
  await work(its)
  expect(await listed()).toEqual([])

  // Others have dealt with other paths.
  late = begin(its)
  await work(comparing('other', ['pipe'], 'tree'), { gone: ['/root/inner', '/root/in/pi'] })
  expect(await late.settle({ failures: [pipe] })).toEqual([])
})

test('what a folder held is not among the failures once that is gone, but what failed since somebody looked', async () => {
  await using broker = await startTestBroker()
  const { begin, work, listed } = await followFailures(broker)
  const folder = comparing('', ['in'])
  const [old, young] = [failure('/root/in/old'), failure('/root/in/young')]
  await work(comparing('in', ['old']), { failures: [old] })
  const removal = begin(folder)
  // Made again after it was seen to be gone.
  await work(comparing('in', ['young']), { failures: [young] })
  expect(await removal.settle({ gone: ['/root/in'], failures: [failure('/root/in')] })).toEqual(['in/young'])
  expect((await listed()).toSorted()).toEqual(['/root/in', '/root/in/young'])
  // Its removal is tried again.
  await work(folder, { gone: ['/root/in'], made: [folder] })
  expect(await listed()).toEqual(['/root/in'])
  await work(folder, { gone: ['/root/in'] })
  expect(await listed()).toEqual([])
})

test('what failed in a folder that went unseen, as another took the place of the one it was in, is looked at again', async () => {
  await using broker = await startTestBroker()
  const { work, listed } = await followFailures(broker)
  const paths = ['/root/in/gone/pipe', '/root/in/gone/deep/pipe', '/root/in/there/pipe', '/root/in/shut/pipe']
  await work(startRegion(), { failures: [failure('/root/in'), ...paths.map(failure)] })
  const again = await work(comparing('in', [], 'tree'), {
    made: [comparing('in/there', [], 'tree')],
    failures: [failure('/root/in/shut')],
  })
  expect(again.toSorted()).toEqual(['in/gone/deep/pipe', 'in/gone/pipe'])
  expect(await listed()).toHaveLength(6)
  // Nor does this one look into its folders.
  expect(await work(comparing('in', [], 'folder'))).toHaveLength(4)
  for (const folder of ['in/gone', 'in/gone/deep'])
    expect(await work(comparing(folder, ['pipe']))).toEqual([])
  expect((await listed()).toSorted()).toEqual(['/root/in', '/root/in/shut/pipe', '/root/in/there/pipe'])
})

test('what failed in a folder is looked at again when that is told of, as it may be open by now', async () => {
  await using broker = await startTestBroker()
  const { work } = await followFailures(broker)
  await work(startRegion(), { failures: ['/root/in/a', '/root/in/b/c', '/root/inner/d'].map(failure) })
  const told = comparing('', ['in'])
  expect((await work(told)).toSorted()).toEqual(['in/a', 'in/b/c'])
  expect(await work(told, { made: [comparing('in', [], 'tree')] })).toEqual([])
  expect(await work(told, { failures: [failure('/root/in')] })).toEqual([])
})

test('a folder that could not be listed is compared again when it is told of, or one above it, which may be open by now', async () => {
  await using broker = await startTestBroker()
  const { begin, work, listed } = await followFailures(broker)
  const listing = (path: string): Failure => ({ ...failure(path), isFolder: true })
  await work(startRegion(), { failures: ['/root/in', '/root/a/b/c', '/root/inner'].map(listing) })
  expect(await work(comparing('', ['in']))).toEqual(['in'])
  expect(await work(comparing('', ['a']))).toEqual(['a/b/c'])
  expect(await work(comparing('a', ['b']))).toEqual(['a/b/c'])
  expect(await work(comparing('in', ['a', 'b']))).toEqual([])
  expect(await work(comparing('', ['in']), { failures: [failure('/root/in')] })).toEqual([])
  expect(await work(comparing('', ['in']), { made: [comparing('in', [], 'tree')] })).toEqual([])
  expect(await listed()).toHaveLength(3)

  // It was told of while it could not be listed, by an item that is done first.
  for (const told of [comparing('', ['late']), comparing('', [], 'folder'), comparing('late', ['er'])]) {
    const late = begin(comparing('late/er', [], 'tree'))
    await work(told)
    expect(await late.settle({ failures: [listing('/root/late/er')] })).toEqual(['late/er'])
    await work(comparing('late/er', [], 'tree'))
  }
  // One that is listed without what is below it has not been compared as it should have been.
  expect(await work(comparing('in', [], 'folder'))).toEqual(['in'])
  expect(await listed()).toContain('/root/in')
  await work(comparing('in', [], 'tree'))
  expect(await listed()).not.toContain('/root/in')
  for (const path of ['a/b/c', 'inner']) await work(comparing(path, [], 'tree'))
  // Of the root, that is everything.
  const root = comparing('', [], 'folder')
  expect(await work(root, { failures: [listing('/root')] })).toEqual([])
  expect(await work(root)).toEqual([':tree'])
  await work(comparing('', [], 'tree'))
  expect(await listed()).toEqual([])
})

test('of what failed before all below it was compared no look at its name alone is enough', async () => {
  await using broker = await startTestBroker()
  const { work, listed } = await followFailures(broker)
  const [name, tree] = [failure('/root/in'), { ...failure('/root/in'), isTree: true } as const]
  const folder = { ...failure('/root/in'), message: 'closed', isFolder: true } as const
  for (const failures of [[tree], [name, tree], [name, folder], [folder, tree]]) {
    await work(comparing('', ['in'], 'tree'), { failures })
    // For another reason, and for one more.
    await work(comparing('', ['in']), { failures: [{ ...name, message: 'worse' }] })
    await work(comparing('', ['in']), { failures: [name] })
    expect(await listed()).toEqual(['/root/in'])
    expect(await work(comparing('', ['in']))).toEqual(['in'])
    expect(await listed()).toEqual(['/root/in'])
    expect(await work(comparing('', [], 'tree'))).toEqual([])
    expect(await listed()).toEqual([])
  }
})

test('of an item that others were done beside without number, all that fails anew is looked at again', async () => {
  await using broker = await startTestBroker()
  const { begin, work } = await followFailures(broker)
  const late = begin(comparing('in', [], 'tree'))
  for (let index = 0; index < 1_001; index++) await work(comparing('other', ['pipe']))
  expect(await late.settle({ failures: [failure('/root/in/pipe'), failure('/root')] })).toEqual([
    'in/pipe',
    ':tree',
  ])
})

test('a failure of a live migration is tried again as a change that was told: it may be a removal that failed', async () => {
  await using broker = await startTestBroker()
  const ledger = await openFailures(await broker.connect('PLATFORM'), smallLimits.maxFileBytes)
  const failures = [failure('/root/in/gone'), failure('/root')]
  await noteFailures(ledger, 'work', { item: '1', failures }, forever)
  const retried = async (isLive: boolean) => {
    const migration = { workId: 'work', root: Buffer.from('root'), isLive }
    const pages = await Array.fromAsync(
      retryItems(ledger, migration, { upTo: Number.MAX_SAFE_INTEGER }, () => Promise.resolve(new Set())),
    )
    return pages.flat().map(({ lane, item }) => ({ lane, ...decodeItem(item) }))
  }
  const [folder, gone] = [Buffer.from('in'), Buffer.from('gone')]
  const [told, root] = await retried(true)
  expect(root).toMatchObject({ kind: 'reconcile', groups: [{ folder: Buffer.alloc(0), scope: 'tree' }] })
  expect(told).toMatchObject({
    lane: 'region',
    kind: 'reconcile',
    groups: [{ folder, trees: [gone], scope: 'names' }],
  })
  expect((await retried(false))[0]).toMatchObject({ lane: 'transfer', groups: [{ folder, others: [gone] }] })
})

test('an export has all failures, in parts of which only the first has the names of the columns', async () => {
  await using broker = await startTestBroker()
  const ledger = await openFailures(await broker.connect('PLATFORM'), smallLimits.maxFileBytes)
  const paths = Array.from({ length: 4_100 }, (_, index) => `/${'long '.repeat(60)}${index}`)
  await noteFailures(ledger, 'one', { item: '1', failures: paths.map(failure) }, forever)
  const record = migrationRecord({ internalId: 'one' })
  const rules = { known: () => Promise.resolve({ exclusions: [], inclusions: [] }) }
  const fakes = { failures: ledger, rules, figures: { record: () => Promise.resolve(record) } }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- an export asks for no more
  const handlers = failureHandlers(fakes as unknown as FailureDependencies)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- nor of the call
  const ask = (from: number) => handlers['export-failures']({ migrationId: 'one', from }, {} as never)
  const texts: string[] = []
  for await (const text of contentsOf(await ask(0), async ({ from }) => ask(from))) texts.push(text)
  expect(texts.length).toBeGreaterThan(2)
  const rows = texts.join('').trim().split('\r\n')
  expect(rows.filter((row) => row.startsWith('"id"'))).toHaveLength(1)
  expect(new Set(rows.slice(1).map((row) => row.split('","')[1]))).toEqual(new Set(paths))
})
