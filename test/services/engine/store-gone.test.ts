import { afterAll, expect, test } from 'vitest'
import { encodeItem, type Item } from '../../../services/engine/items/items.ts'
import { Mover } from '../../../services/engine/mover.ts'
import { createFolder } from '../../support/migrations.ts'
import { doubleSpec } from '../../support/object-store-double/kind.ts'
import { ObjectStoreDouble } from '../../support/object-store-double/store.ts'
import { liveSpec, localSpec } from './local-spec.ts'
import { changed } from './reconcile-folder.ts'

const kinds = [new URL('../../support/object-store-double/kind.ts', import.meta.url).href]
const mover = new Mover({ threads: 1, kinds, log: { error: () => undefined } })
afterAll(() => mover.close())

/** Work on what was found in a bucket before it was removed, or is another service's that has none of that name. */
const first = { attempt: 1, notBeforeMs: 0 }
const names = [Buffer.from('a'), Buffer.from('b')]
const items: Record<string, Item> = {
  files: { kind: 'transfer', ...first, groups: [{ folder: Buffer.alloc(0), files: names, others: [] }] },
  'empty files': {
    kind: 'transfer',
    ...first,
    groups: [{ folder: Buffer.alloc(0), files: [], others: names }],
  },
  folders: { kind: 'region', ...first, groups: [{ parent: Buffer.alloc(0), names }] },
  'a folder to compare': { kind: 'reconcile', ...first, groups: [changed('a', { scope: 'tree' })] },
  'names that were told of': { kind: 'reconcile', ...first, groups: [changed('a', { names: ['a', 'b'] })] },
}

test.each(Object.entries(items))(
  'where the store is not there, nothing has vanished of %s',
  async (_name, item) => {
    using folder = createFolder('from', 'to')
    using store = new ObjectStoreDouble('one')
    const source = doubleSpec({ store: store.name, bucket: 'missing' })
    const spec = item.kind === 'reconcile' ? liveSpec(folder, { source }) : localSpec(folder, { source })
    const { signal } = new AbortController()
    const bytes = encodeItem(item)
    const done =
      item.kind === 'transfer'
        ? mover.transfer(spec, bytes, signal)
        : mover.scan(spec, bytes, async () => undefined, signal)
    await expect(done).rejects.toMatchObject({ failure: 'unreachable', side: 'source' })
  },
)

test('nor of a large file, which is tried again', async () => {
  using folder = createFolder('from', 'to')
  using store = new ObjectStoreDouble('one')
  const source = doubleSpec({ store: store.name, bucket: 'missing' })
  const item = encodeItem({ kind: 'large', ...first, path: Buffer.from('large') })
  const { counts, retry } = await mover.transfer(
    localSpec(folder, { source }),
    item,
    new AbortController().signal,
  )
  expect(counts).toMatchObject({ filesVanished: 0, pathsRequeued: 1 })
  expect(retry).toBeDefined()
})
