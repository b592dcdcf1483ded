import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { afterAll, expect, test } from 'vitest'
import {
  documentCatalogSuite,
  database,
  filesIn,
  never,
  openAt,
  partition,
  table,
} from './document-catalog-suite.ts'

const root = mkdtempSync(join(tmpdir(), 'gantry-documents-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))
const spec = { kind: 'local', options: { fsRoot: root } } as const

documentCatalogSuite('documents in a folder', async () => ({
  spec,
  [Symbol.asyncDispose]: async () => undefined,
}))

const days = { database: 'sales', name: 'days' }
async function openWithTable(name: string) {
  const opened = await openAt(spec, name)
  await opened.catalog.writer.createDatabase(database('sales'), never)
  await opened.catalog.writer.createTable(table('sales', 'days'), never)
  return opened
}
const dayOf = (index: number) => new Date(index * 86_400_000).toISOString().slice(0, 10)
const folderOf = (name: string) => `${name}/sales/tables/days.partitions`

/** All files with partitions, by name. */
async function contentOf({ driver, textOf }: Awaited<ReturnType<typeof openAt>>, name: string) {
  const files = await filesIn(driver, folderOf(name))
  const texts = await Promise.all(files.map((file) => textOf(`sales/tables/days.partitions/${file}`)))
  return new Map(files.map((file, index) => [file, texts[index]!]))
}

test('the same partitions are the same files, in whatever order they came and whatever was there meanwhile', async () => {
  using forward = await openWithTable('forward')
  using shuffled = await openWithTable('shuffled')
  const all = Array.from({ length: 3_000 }, (_, index) => dayOf(index))
  for (let at = 0; at < all.length; at += 1_000)
    await forward.catalog.writer.addPartitions(
      days,
      all.slice(at, at + 1_000).map((day) => partition(day)),
      never,
    )
  const others = Array.from({ length: 1_000 }, (_, index) => dayOf(20_000 + index))
  const mixed = [...all, ...others].toSorted((one, other) => (one.slice(-3) < other.slice(-3) ? -1 : 1))
  for (let at = 0; at < mixed.length; at += 500)
    await shuffled.catalog.writer.addPartitions(
      days,
      mixed.slice(at, at + 500).map((day) => partition(day)),
      never,
    )
  await shuffled.catalog.writer.dropPartitions(
    days,
    others.map((day) => `day=${day}`),
    never,
  )
  const content = await contentOf(forward, 'forward')
  expect(content.size).toBeGreaterThan(5)
  expect(await contentOf(shuffled, 'shuffled')).toEqual(content)
})

test('one partition more changes one file, or cuts one in two', async () => {
  using opened = await openWithTable('one-more')
  const { writer } = opened.catalog
  const all = Array.from({ length: 1_000 }, (_, index) => dayOf(2 * index))
  await writer.addPartitions(
    days,
    all.map((day) => partition(day)),
    never,
  )
  for (let index = 1; index < 40; index += 2) {
    const before = await contentOf(opened, 'one-more')
    await writer.addPartitions(days, [partition(dayOf(index))], never)
    const after = await contentOf(opened, 'one-more')
    const changed = [...after].filter(([file, text]) => before.get(file) !== text)
    expect(changed.length).toBeLessThanOrEqual(2)
    if (changed.length === 2) expect(after.size).toBe(before.size + 1)
  }
})

test('what a killed writer left in two files counts once', async () => {
  using opened = await openWithTable('killed')
  const { catalog, textOf, put } = opened
  const folder = 'sales/tables/days.partitions'
  const all = Array.from({ length: 1_000 }, (_, index) => dayOf(index))
  await catalog.writer.addPartitions(
    days,
    all.map((day) => partition(day)),
    never,
  )
  const files = await filesIn(opened.driver, folderOf('killed'))
  expect(files.at(-1)).toBe('first.json')
  expect(files.length).toBeGreaterThan(2)
  // As before it was cut: the first has, as it was, what is in the others.
  const before = await Promise.all(files.map((file) => textOf(`${folder}/${file}`)))
  const whole = Object.fromEntries(before.flatMap((text) => Object.entries(JSON.parse(text) as object)))
  await put(`${folder}/first.json`, JSON.stringify(whole))
  const names = all.map((day) => `day=${day}`)
  expect(await catalog.partitionNames(days, never)).toEqual(names)
  await catalog.writer.dropPartitions(days, names.slice(500), never)
  expect(await catalog.partitionNames(days, never)).toEqual(names.slice(0, 500))
  await catalog.writer.dropPartitions(days, names, never)
  expect(await filesIn(opened.driver, folderOf('killed'))).toEqual([])
})

test.each([
  ['sales/database.json', '{', 'io', /database\.json: it is not valid JSON/],
  [
    'sales/database.json',
    '{"name":"sales","parameters":{"a":1}}',
    'unsupported',
    /database\.json: parameters\.a must/,
  ],
  [
    'sales/database.json',
    '{"name":"other","parameters":{}}',
    'unsupported',
    /database\.json: name must be sales/,
  ],
  ['sales/tables/days.json', '{"name":"days"}', 'unsupported', /days\.json: .*database /],
])('%s that is %s is refused with the file and the field', async (path, text, failure, said) => {
  using opened = await openWithTable(`bad-${Buffer.from(text).toString('hex').slice(0, 20)}-${text.length}`)
  const { catalog, put } = opened
  await put(path, text)
  const asked = path.includes('tables')
    ? catalog.table('sales', 'days', never)
    : catalog.database('sales', never)
  await expect(asked).rejects.toMatchObject({ failure, message: expect.stringMatching(said) })
})

test('a table whose document cannot be read is listed with the reason, and hides no other one', async () => {
  using opened = await openWithTable('half')
  const { catalog, put } = opened
  await put('sales/tables/half.json', '{"name":')
  expect(await catalog.tables('sales', never)).toEqual([
    expect.objectContaining({ name: 'days', type: 'EXTERNAL_TABLE' }),
    { name: 'half', type: 'UNREADABLE', comment: expect.stringContaining('half.json: it is not valid JSON') },
  ])
})

test('partitions with other values than their names are refused', async () => {
  using opened = await openWithTable('bad-partition')
  const { catalog, put } = opened
  const bad = { 'day=2026-11-25': { ...partition('2026-11-24') } }
  await catalog.writer.addPartitions(days, [partition('2026-11-25')], never)
  await put('sales/tables/days.partitions/first.json', JSON.stringify(bad))
  await expect(catalog.partitionNames(days, never)).rejects.toMatchObject({
    failure: 'unsupported',
    message: expect.stringMatching(/first\.json: day=2026-11-25\.values must match .*2026-11-25/),
  })
})

test('what else stands in the folders is no object', async () => {
  using opened = await openWithTable('others')
  const { catalog, driver, put } = opened
  for (const folder of ['.git', 'docs']) await driver.makeFolder(Buffer.from(`others/${folder}`), {})
  await put('README.md', '# Tables')
  await put('sales/tables/notes.txt', '')
  await put('.git/database.json', '{}')
  expect(await catalog.databases(never)).toEqual(['sales'])
  expect(await catalog.tables('sales', never)).toHaveLength(1)
})

test('who reads while others write has whole documents', async () => {
  using writing = await openWithTable('both')
  using reading = await openAt(spec, 'both')
  const lengths = [10, 3_000]
  const end = new AbortController()
  const read = async () => {
    const seen = new Set<number>()
    while (!end.signal.aborted) {
      seen.add((await reading.catalog.table('sales', 'days', never))!.columns.length)
      await turn()
    }
    return seen
  }
  const reader = read()
  for (let index = 0; index < 40; index++) {
    const columns = Array.from({ length: lengths[index % 2]! }, (_, at) => ({ name: `c${at}`, type: 'int' }))
    await writing.catalog.writer.alterTable({ ...table('sales', 'days'), columns }, never)
    await turn()
  }
  end.abort()
  expect([2, ...lengths]).toEqual(expect.arrayContaining([...(await reader)]))
})

test('a folder of a checkout, with documents that a person wrote', async () => {
  using opened = await openWithTable('checkout')
  const file = join(root, 'checkout/sales/tables/days.json')
  writeFileSync(file, readFileSync(file, 'utf8').replace('"bigint"', '"int"'))
  expect((await opened.catalog.table('sales', 'days', never))?.columns[0]?.type).toBe('int')
})
