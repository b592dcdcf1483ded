import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Children, type ChildBatch } from '../../../services/engine/items/children.ts'
import { decodeItem } from '../../../services/engine/items/item-decode.ts'
import {
  encodeItem,
  identityOf,
  kindOf,
  largeFileBytes,
  maxPartsInItem,
  maxRegionFolders,
  localBounds,
  maxTransferBytes,
  maxTransferNames,
  notBeforeOf,
  startRegion,
  type Item,
} from '../../../services/engine/items/items.ts'
import { changeScopes } from '../../../services/drivers/feeds/dirty-folders.ts'
import { isGantryError } from '../../../subjects/kit/errors.ts'

const name = fc
  .uint8Array({ minLength: 1, maxLength: 30 })
  .map((bytes) => Buffer.from(bytes.map((byte) => (byte === 0x2f || byte === 0 ? 0x62 : byte))))
  .filter((bytes) => !['.', '..'].includes(bytes.toString('latin1')))
const names = fc.array(name, { maxLength: 8 })
const path = fc
  .array(name, { maxLength: 4 })
  .map((parts) => Buffer.from(parts.map((part) => part.toString('hex')).join('/')))
const head = { attempt: fc.integer({ min: 1, max: 60 }), notBeforeMs: fc.integer({ min: 0, max: 2 ** 41 }) }
const item: fc.Arbitrary<Item> = fc.oneof(
  fc.record({ kind: fc.constant('large' as const), ...head, path }),
  fc.record({ kind: fc.constant('large' as const), ...head, path, foundBytes: fc.nat() }),
  fc.record({
    kind: fc.constant('large' as const),
    ...head,
    path,
    spread: fc.record({
      token: fc.string(),
      written: fc.nat(),
      sinceMs: fc.nat(),
      sizeBytes: fc.nat(),
      resumedBytes: fc.nat(),
    }),
  }),
  fc
    .record({ path, token: fc.string(), version: fc.string(), first: fc.nat(99), count: fc.nat(99) })
    .map((parts) => ({
      kind: 'parts' as const,
      attempt: 1,
      notBeforeMs: 0,
      ...parts,
      sizeBytes: 300,
      partBytes: 1,
    })),
  fc.record({
    kind: fc.constant('transfer' as const),
    ...head,
    groups: fc.array(fc.record({ folder: path, files: names, others: names }), { maxLength: 5 }),
  }),
  fc.record({
    kind: fc.constant('transfer' as const),
    ...head,
    groups: fc.array(
      fc
        .record({ folder: path, files: names, others: names })
        .map((group) => ({ ...group, sizes: [...group.files, ...group.others].map((one) => one.length) })),
      { maxLength: 5 },
    ),
  }),
  fc.record({
    kind: fc.constant('region' as const),
    ...head,
    groups: fc.array(
      fc.oneof(
        fc.record({ parent: path, names }),
        fc
          .record({ parent: path, names })
          .map((group) => ({ ...group, modes: group.names.map((_, i) => 0o700 + i) })),
      ),
      { maxLength: 5 },
    ),
  }),
  fc.record({ kind: fc.constant('region' as const), ...head, start: path, groups: fc.constant([]) }),
  fc.record({
    kind: fc.constant('region' as const),
    ...head,
    start: path,
    rest: fc.record({ cursor: fc.string(), isMade: fc.boolean() }),
    groups: fc.constant([]),
  }),
  fc.record({
    kind: fc.constant('reconcile' as const),
    ...head,
    groups: fc.array(
      fc.record({ folder: path, names, trees: names, scope: fc.constantFrom(...changeScopes) }),
      { maxLength: 5 },
    ),
  }),
)

test('an item survives encoding, and its head can be read without decoding it', () => {
  fc.assert(
    fc.property(item, (given) => {
      const bytes = encodeItem(given)
      expect(decodeItem(bytes)).toEqual(given)
      expect(kindOf(bytes)).toBe(given.kind)
      expect(notBeforeOf(bytes)).toBe(given.notBeforeMs)
    }),
  )
})

test('an item is the same whatever the sizes of its files are, and another with other names', () => {
  const transfer = (file: string, ...sizes: number[]) =>
    encodeItem({
      kind: 'transfer',
      attempt: 1,
      notBeforeMs: 0,
      groups: [{ folder: Buffer.from('a'), files: [Buffer.from(file)], others: [], sizes }],
    })
  const large = (foundBytes: number) =>
    encodeItem({ kind: 'large', attempt: 1, notBeforeMs: 0, path: Buffer.from('a'), foundBytes })
  expect(identityOf(transfer('file', 1))).toEqual(identityOf(transfer('file', 234)))
  expect(identityOf(large(5))).toEqual(identityOf(large(67)))
  const odd = ['x,"found":[', '"],"found":[1', ',"found"', '",']
  const identities = odd.map((file) => Buffer.from(identityOf(transfer(file, 5))).toString())
  expect(new Set(identities).size).toBe(odd.length)
  for (const text of identities) expect(text).toMatch(/"others":\[\]\}\]$/)
  for (const size of [[], [1, 2]])
    expect(decodeItem(transfer('file', ...size))).not.toHaveProperty('groups.0.sizes')
})

test('sizes that are not as many as the names are refused', () => {
  const text = (found: string) =>
    `{"kind":"transfer","attempt":1,"notBeforeMs":0,"groups":[{"folder":"","files":["a"],"others":["b"]}],"found":${found}}`
  expect(decodeItem(Buffer.from(text('[1,0]')))).toMatchObject({ groups: [{ sizes: [1, 0] }] })
  for (const found of ['[1]', '[1,2,3]', '["a",1]', '[-1,0]', '{}'])
    expect(() => decodeItem(Buffer.from(text(found)))).toThrow('found')
})

test('an item inside of a larger buffer is decoded', () => {
  const bytes = startRegion(Buffer.from('a/b'))
  const larger = new Uint8Array(bytes.length + 20).fill(0x7b)
  larger.set(bytes, 7)
  const inside = larger.subarray(7, 7 + bytes.length)
  expect(decodeItem(inside)).toMatchObject({ kind: 'region', start: Buffer.from('a/b'), attempt: 1 })
  expect(notBeforeOf(inside)).toBe(0)
})

/** Fields of an item of two parts, some of them others. */
const partsOf = (changes: object) =>
  JSON.stringify({
    path: 'a',
    token: 't',
    sizeBytes: 20,
    partBytes: 10,
    version: 'v',
    first: 0,
    count: 1,
    ...changes,
  }).slice(1, -1)

const head1 = '"attempt":1,"notBeforeMs":0'
const refused = [
  ['', 'no JSON'],
  ['{', 'no JSON'],
  ['null', 'no object'],
  ['[]', 'no object'],
  [`{"kind":"other",${head1}}`, 'no known kind'],
  [`{"kind":"large",${head1}}`, 'path is no object'],
  [`{"kind":"large",${head1},"path":"a","more":1}`, 'other fields'],
  [`{"kind":"large",${head1},"path":5}`, 'no object'],
  [`{"kind":"large",${head1},"path":"a","spread":{}}`, 'token is no text'],
  [`{"kind":"large",${head1},"path":"a","spread":{"more":1}}`, 'other fields'],
  [
    `{"kind":"large",${head1},"path":"a","spread":{"token":1,"written":0,"sinceMs":0,"resumedBytes":0}}`,
    'token is no text',
  ],
  [`{"kind":"parts",${head1},"path":"a"}`, 'token is no text'],
  [`{"kind":"parts",${head1},${partsOf({ more: 1 })}}`, 'other fields'],
  [`{"kind":"parts",${head1},${partsOf({ version: null })}}`, 'version is no text'],
  [`{"kind":"parts",${head1},${partsOf({ first: -1 })}}`, 'first is no count'],
  [`{"kind":"parts",${head1},${partsOf({ first: 2 })}}`, 'parts that the file has not'],
  [`{"kind":"parts",${head1},${partsOf({ partBytes: 0 })}}`, 'parts that the file has not'],
  [`{"kind":"parts",${head1},${partsOf({ count: maxPartsInItem + 1 })}}`, 'more than'],
  [`{"kind":"large",${head1},"path":{"b":5}}`, 'no text'],
  [`{"kind":"large",${head1},"path":"../a"}`, 'no path'],
  [`{"kind":"large",${head1},"path":{"b":"Li4="}}`, 'no path'],
  ['{"kind":"large","attempt":-1,"notBeforeMs":0,"path":"a"}', 'no count'],
  ['{"kind":"large","attempt":1.5,"notBeforeMs":0,"path":"a"}', 'no count'],
  [`{"kind":"transfer",${head1},"groups":{}}`, 'no list'],
  [`{"kind":"transfer",${head1},"groups":[{"folder":"a","files":["b"]}]}`, 'no list'],
  [`{"kind":"transfer",${head1},"groups":[{"folder":"a","files":["b/c"],"others":[]}]}`, 'name'],
  [`{"kind":"transfer",${head1},"groups":[{"folder":"a","files":[""],"others":[]}]}`, 'name'],
  [`{"kind":"region",${head1},"groups":[{"parent":"a","names":["b","c"],"modes":[1]}]}`, 'modes'],
  [`{"kind":"region",${head1},"start":"/","groups":[]}`, 'no path'],
  [`{"kind":"region",${head1},"rest":{"cursor":"a","isMade":true},"groups":[]}`, 'the rest of no folder'],
  [`{"kind":"region",${head1},"start":"a","rest":{"cursor":"a","isMade":1},"groups":[]}`, 'isMade'],
  [`{"kind":"region",${head1},"start":"a","rest":{"isMade":true,"cursor":1},"groups":[]}`, 'cursor'],
  [`{"kind":"folders",${head1},"start":"a","rest":{"cursor":"a","isMade":true},"groups":[]}`, 'other fields'],
] as const

test.each(refused)('%j is refused: %s', (text, problem) => {
  let error: unknown
  try {
    decodeItem(Buffer.from(text))
  } catch (thrown) {
    error = thrown
  }
  expect(isGantryError(error, 'INVALID_INPUT')).toBe(true)
  expect(String(error)).toContain(problem)
})

test('more names than an item may have are refused, in one group or in several', () => {
  const many = (count: number) => Array.from({ length: count }, (_, i) => Buffer.from(`${i}`))
  const transfer = (...counts: number[]) =>
    encodeItem({
      kind: 'transfer',
      attempt: 1,
      notBeforeMs: 0,
      groups: counts.map((count) => ({ folder: Buffer.from('a'), files: many(count), others: [] })),
    })
  expect(decodeItem(transfer(maxTransferNames))).toMatchObject({ kind: 'transfer' })
  expect(() => decodeItem(transfer(maxTransferNames + 1))).toThrow('more than')
  expect(() => decodeItem(transfer(maxTransferNames, 1))).toThrow('more than')
})

describe('children of a scan', () => {
  async function childrenOf(fill: (children: Children) => void): Promise<Item[]> {
    const batches: ChildBatch[] = []
    const children = new Children(async (batch) => void batches.push(batch), localBounds)
    fill(children)
    await children.sendAll()
    return batches.flatMap(({ regions, transfers }) => [...regions, ...transfers]).map(decodeItem)
  }

  const bytes = (text: string) => Buffer.from(text)

  test('files of several folders share an item, up to its bounds', async () => {
    const items = await childrenOf((children) => {
      for (let folder = 0; folder < 100; folder++) {
        const parent = bytes(`folder ${folder}`)
        for (let file = 0; file < 10; file++) children.file(parent, bytes(`${file}`), 1000)
      }
    })
    expect(items).toHaveLength(Math.ceil(1_000 / maxTransferNames))
    const seen = items
      .flatMap((one) => (one.kind === 'transfer' ? one.groups : []))
      .flatMap(({ files }) => files)
    expect(seen).toHaveLength(1_000)
  })

  test('content bounds an item, and a large file is one by itself', async () => {
    const third = Math.ceil(maxTransferBytes / 3)
    const items = await childrenOf((children) => {
      const folder = bytes('folder')
      for (let file = 0; file < 6; file++) children.file(folder, bytes(`${file}`), third)
      children.file(folder, bytes('not yet large'), largeFileBytes)
      children.file(folder, bytes('large'), largeFileBytes + 1)
    })
    const sizes = items.map((one) =>
      one.kind === 'transfer' ? one.groups.flatMap(({ files }) => files).length : one.kind,
    )
    expect(sizes).toEqual([2, 2, 2, 'large', 1])
    expect(items.find(({ kind }) => kind === 'large')).toMatchObject({ path: bytes('folder/large') })
  })

  test('folders of several parents share a region, with their modes', async () => {
    const items = await childrenOf((children) => {
      for (let parent = 0; parent < 70; parent++)
        children.folder(bytes(`${parent}`), bytes('only child'), 0o755)
    })
    expect(items.map((one) => (one.kind === 'region' ? one.groups.length : 0))).toEqual([maxRegionFolders, 6])
    expect(items[0]).toMatchObject({
      groups: expect.arrayContaining([expect.objectContaining({ modes: [0o755] })]),
    })
  })

  test('folders of which only some have a mode keep each their own', async () => {
    const parent = bytes('parent')
    const [item, ...more] = await childrenOf((children) => {
      children.folder(parent, bytes('a'), 0o755)
      children.folder(parent, bytes('b'), undefined)
      children.folder(parent, bytes('c'), undefined)
      children.folder(parent, bytes('d'), 0o700)
    })
    expect(more).toEqual([])
    expect(item).toMatchObject({
      groups: [
        { names: [bytes('a')], modes: [0o755] },
        { names: [bytes('b'), bytes('c')] },
        { names: [bytes('d')], modes: [0o700] },
      ],
    })
  })

  test('the longest names of the worst kind still make messages of less than 1 MiB', async () => {
    const worst = Buffer.alloc(255, 1)
    const folder = () => Buffer.alloc(4_000, 1)
    const batches: ChildBatch[] = []
    const children = new Children(async (batch) => void batches.push(batch), localBounds)
    for (let i = 0; i < 1_000; i++) {
      children.other(folder(), worst)
      children.folder(folder(), worst, 0o7777)
    }
    await children.sendAll()
    const all = batches.flatMap(({ regions, transfers }) => [...regions, ...transfers])
    expect(Math.max(...all.map(({ length }) => length))).toBeLessThan(1024 * 1024 - 1024)
  })
})
