import { readdirSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { encodeItem, type Item, largeFileBytes } from '../../../services/engine/items/items.ts'
import { ComesAgain, Mover } from '../../../services/engine/mover.ts'
import { createFolder } from '../../support/migrations.ts'
import { httpKinds, silentStore } from '../../support/silent-store.ts'
import { until } from '../../support/until.ts'
import { liveSpec, localSpec } from './local-spec.ts'
import { changed } from './reconcile-folder.ts'

const mover = new Mover({ threads: 1, log: { error: () => undefined }, graceMs: 200 })
afterAll(() => mover.close())

const first = { attempt: 1, notBeforeMs: 0 }
const name = Buffer.from('file')
const small = 100_000
const files: Item = {
  kind: 'transfer',
  ...first,
  groups: [{ folder: Buffer.alloc(0), files: [name], others: [] }],
}
const large: Item = { kind: 'large', ...first, path: name }
const looks: Item = { kind: 'reconcile', ...first, groups: [changed('', { names: ['file'] })] }

const holdsBytes = (folder: string): boolean =>
  readdirSync(folder).some((one) => statSync(join(folder, one)).blocks > 0)

/** Half of the time after which any of the stores is given up by itself: what hangs ends with it. */
const timeout = 15_000

describe.each(httpKinds)('where %s falls silent, work that is stopped ends at once', (kind) => {
  test.each([
    ['in the middle of a small file', { item: files, sizeBytes: small }],
    ['in the middle of a part', { item: large, sizeBytes: largeFileBytes + 1 }],
    ['before it answers', { item: files, sizeBytes: small, saysNothing: true }],
    ['before it says what it has', { item: looks, sizeBytes: small, saysNothing: true }],
  ])('%s', { timeout }, async (_when, { item, sizeBytes, ...how }) => {
    using folder = createFolder('from', 'to')
    await using store = await silentStore(kind, sizeBytes, 'saysNothing' in how)
    const isLive = item.kind === 'reconcile'
    const spec = (isLive ? liveSpec : localSpec)(folder, { source: store.spec })
    const controller = new AbortController()
    const reason = new ComesAgain('the migration was stopped')
    const bytes = encodeItem(item)
    const done = isLive
      ? mover.scan(spec, bytes, async () => undefined, controller.signal)
      : mover.transfer(spec, bytes, controller.signal)
    const outcome = done.catch((error: unknown) => error)
    await until('an answer that does not go on', () => store.openAnswers() > 0)
    if (item === large) await until('what came of it is written', () => holdsBytes(folder.to))
    controller.abort(reason)
    expect(await outcome).toBe(reason)
    await until('nobody waits for the store', () => store.openAnswers() === 0)
    if (item !== large) expect(readdirSync(folder.to)).toEqual([])
  })
})

describe.each(httpKinds)('where %s falls silent as a target, writes that are stopped end soon', (kind) => {
  test.each([
    ['of a small file', { item: files, sizeBytes: small }],
    ['of a large file', { item: large, sizeBytes: largeFileBytes + 1 }],
  ])('%s', { timeout }, async (_what, { item, sizeBytes }) => {
    using folder = createFolder('from', 'to')
    const file = join(folder.from, 'file')
    writeFileSync(file, '')
    truncateSync(file, sizeBytes)
    await using store = await silentStore(kind, sizeBytes, true)
    const controller = new AbortController()
    const reason = new ComesAgain('the migration was stopped')
    const spec = localSpec(folder, { target: store.spec })
    const outcome = mover.transfer(spec, encodeItem(item), controller.signal).catch((error: unknown) => error)
    await until('a request that is not answered', () => store.openAnswers() > 0)
    controller.abort(reason)
    expect(await outcome).toBe(reason)
  })
})

// Nothing of an upload to Azure can be removed.
test.each(httpKinds.filter((kind) => kind !== 'adls2-shared-key'))(
  'whoever removes what is left at a target %s that is silent waits no longer than is wanted',
  { timeout },
  async (kind) => {
    using folder = createFolder('from', 'to')
    await using store = await silentStore(kind, 0, true)
    const spec = localSpec(folder, { target: store.spec })
    const sweeping = mover.sweep(spec, encodeItem(files), AbortSignal.timeout(500))
    await expect(sweeping).rejects.toThrow('timeout')
    await until('nobody waits for the store', () => store.openAnswers() === 0)
  },
)
