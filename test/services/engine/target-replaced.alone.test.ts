import { mkdirSync, readdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test, vi } from 'vitest'
import type * as Marks from '../../../services/drivers/local/place/marks.ts'
import { Buckets } from '../../../services/bandwidth/buckets.ts'
import { startRegion } from '../../../services/engine/items/items.ts'
import { type ChildBatch, Mover } from '../../../services/engine/mover.ts'
import { Roots } from '../../../services/migrations/execution/roots.ts'
import { createFolder } from '../../support/migrations.ts'
import { until } from '../../support/until.ts'
import { localSpec } from './local-spec.ts'

const mount = vi.hoisted(() => ({ number: '' }))
vi.mock('../../../services/drivers/local/place/marks.ts', async (importOriginal) => {
  const real = await importOriginal<typeof Marks>()
  const targetMarkText = (...args: Parameters<typeof real.targetMarkText>) =>
    `${real.targetMarkText(...args)}${mount.number}`
  return { ...real, targetMarkText }
})

const mover = new Mover({ threads: 1, log: { error: () => undefined } })
afterAll(() => mover.close())
const forever = new AbortController().signal
const nothing = () => undefined

/** A migration that is worked on, with files to copy. */
async function begun() {
  const folder = createFolder('from', 'to')
  for (const name of ['a', 'b']) writeFileSync(join(folder.from, name), name)
  const plain = localSpec(folder)
  const spec = await (async () => {
    using roots = await Roots.watch(plain, {}, { isRootReplaced: false }, nothing)
    return { ...plain, ...roots.spec }
  })()
  const away = join(folder.root, 'away')
  return {
    ...folder,
    spec,
    /** As an unmount or a renaming does it: another folder stands at the path of the target. */
    replace: () => {
      renameSync(folder.to, away)
      mkdirSync(folder.to)
    },
    bringBack: () => {
      renameSync(folder.to, join(folder.root, 'stray'))
      renameSync(away, folder.to)
    },
    [Symbol.dispose]: folder[Symbol.dispose],
  }
}

const replaced = { failure: 'unreachable', side: 'target' }

test('an item during which the target is replaced, or that finds it replaced, does not count', async () => {
  using move = await begun()
  const transfers: Uint8Array[] = []
  const take = async (children: ChildBatch) => void transfers.push(...children.transfers)
  await mover.scan(move.spec, startRegion(Buffer.alloc(0)), take, forever)
  const buckets = new Buckets()
  buckets.set('slow', { bytesPerSecond: undefined, requestsPerSecond: 1 })
  const spec = { ...move.spec, limits: [buckets.of('slow')] }
  const transfer = () => mover.transfer(spec, transfers[0]!, forever)

  const during = transfer()
  await until('the first file is written', () => readdirSync(move.to).length > 0)
  move.replace()
  buckets.set('slow', { bytesPerSecond: undefined, requestsPerSecond: undefined })
  await expect(during).rejects.toMatchObject(replaced)
  await expect(transfer()).rejects.toMatchObject(replaced)
  move.bringBack()
  expect((await transfer()).counts.filesMigrated).toBe(2)
  expect(readdirSync(move.to).toSorted()).toEqual(['a', 'b'])
})

test('work goes on anew with a target that is the same, mounted anew, as after an automatic mount has expired', async () => {
  using folder = createFolder('from', 'to')
  const known = { isRootReplaced: false }
  const reasons: unknown[] = []
  using roots = await Roots.watch(localSpec(folder), {}, known, (reason) => reasons.push(reason))
  // Some mounts have another number each time, which nothing but a mark goes by.
  mount.number = ' mounted anew'
  await until('the work is ended', () => reasons.length > 0)
  expect(reasons[0]).toMatchObject({ message: expect.stringContaining('mounted again') })
  expect(known.isRootReplaced).toBe(false)
  await roots.check()
  mount.number = ''
})
