import { jetstreamManager } from '@nats-io/jetstream'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { RecordJournals } from '../../../../broker/state/books/record-journal.ts'
import type { TestBroker } from '../../../support/broker.ts'
import { cutTail, flipBit } from '../../../support/damage.ts'
import {
  acknowledged,
  createStore,
  fill,
  flipFirst,
  numbers,
  set,
  stop,
} from '../../../support/journal-store.ts'
import { mountMemory, whyNoMount } from '../../../support/mounts.ts'
import { testLog } from '../../../support/platform.ts'
import { testUnless } from '../../../support/unless.ts'

test('each record is told with what was wrong with it', async () => {
  using store = await createStore()
  await store.run(fill)
  flipBit(store.block(), 0.5)
  await store.run(async (_, { losses }) => {
    expect(losses.all()).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ store: 'things', id: 'changed', kind: 'ROLLED_BACK' }),
        expect.objectContaining({ store: 'things', id: 'deleted', kind: 'RETURNED' }),
        expect.objectContaining({ store: 'things', id: 'new', kind: 'LOST' }),
      ]),
    )
    expect(losses.all()).toHaveLength(3)
  })
})

test('nothing is told after a kill that damaged nothing', async () => {
  using store = await createStore()
  await store.run(fill)
  await store.run(async (things, { losses }) => {
    expect(await numbers(things)).toEqual(acknowledged)
    expect(losses.all()).toEqual([])
  })
})

test('a journal that is behind, as its process was killed, follows the store', async () => {
  using store = await createStore()
  await store.run(fill)
  const lines = readFileSync(store.journal, 'utf8').split('\n')
  // The deletion, and what came after it; the last element is empty.
  writeFileSync(store.journal, `${lines.slice(0, -3).join('\n')}\n${lines.at(-3)!.slice(0, 20)}`)
  await store.run(async (things, { losses }) => {
    expect(await numbers(things)).toEqual(acknowledged)
    expect(losses.all()).toEqual([])
  })
  flipBit(store.block(), 0.5)
  await store.run(async (things) => expect(await numbers(things)).toEqual(acknowledged))
})

test('nothing is told after a kill while a record is erased, and it stays erased', async () => {
  using store = await createStore()
  for (const moment of ['before', 'after'] as const) {
    await store.run(async (things, journals) => {
      await set(things, 'kept', 1)
      await set(things, 'deleted', 1)
      const journal = await journals.of('things')
      const note = journal.erased.bind(journal)
      // Nothing of it happens from the note in the journal on.
      journal.erased = async (key) => {
        if (moment === 'after') await note(key)
        throw new Error('killed')
      }
      await expect(things.erase('deleted')).rejects.toThrow('killed')
    })
    await store.run(async (things, { losses }) => {
      expect(losses.all()).toEqual([])
      expect(await numbers(things)).toEqual({ kept: 1 })
    })
  }
})

test('nothing is told when nats-server forgets by a kill that a record was erased, and it stays erased', async () => {
  using store = await createStore()
  await store.run(async (things) => {
    await fill(things)
    await things.erase('changed')
  })
  for (let again = 0; again < 2; again++)
    await store.run(async (things, { losses }) => {
      expect(await numbers(things)).toEqual({ kept: 1, new: 1 })
      expect(losses.all()).toEqual([])
    })
  // An erased record may exist again.
  await store.run(async (things) => {
    await set(things, 'changed', 2)
  })
  await store.run(async (things, { losses }) => {
    expect(await numbers(things)).toEqual({ kept: 1, changed: 2, new: 1 })
    expect(losses.all()).toEqual([])
  })
})

test('a store without a journal is taken as it is', async () => {
  using store = await createStore()
  await store.run(fill)
  rmSync(store.journal)
  await store.run(async (things, { losses }) => {
    expect(await numbers(things)).toEqual(acknowledged)
    expect(losses.all()).toEqual([])
  })
  cutTail(store.block(), 1e9)
  await store.run(async (things) => expect(await numbers(things)).toEqual(acknowledged))
})

test('a damaged journal is told, and written anew', async () => {
  using store = await createStore()
  await store.run(fill)
  flipBit(store.journal, 0.5)
  await store.run(async (things, { losses }) => {
    expect(await numbers(things)).toEqual(acknowledged)
    expect(losses.all()).toEqual([expect.objectContaining({ store: 'things', kind: 'JOURNAL_DAMAGED' })])
    losses.accept()
  })
  await store.run(async (things, { losses }) => {
    expect(await numbers(things)).toEqual(acknowledged)
    expect(losses.all()).toEqual([])
  })
})

test('where both are damaged, records are restored as far as they are known, and disabled', async () => {
  using store = await createStore()
  await store.run(fill)
  flipBit(store.journal, 0.5)
  flipBit(store.block(), 0.5)
  await store.run(async (things, { losses }) => {
    expect(losses.all()).toContainEqual(expect.objectContaining({ store: 'things', kind: 'IN_DOUBT' }))
    const all = await things.all()
    expect(all.length).toBeGreaterThan(0)
    expect(all.filter(({ isDisabled }) => !isDisabled)).toEqual([])
    expect(await things.get('deleted')).toBeUndefined()
  })
})

test('a bucket is not rebuilt from a journal that lacks changes; it is when the journal is complete again', async () => {
  using store = await createStore()
  await store.run(fill, stop)
  // The index does not fit, so that nothing can be repaired in the bucket.
  flipFirst(store.block())
  const fails = async (journals: RecordJournals) => {
    const journal = await journals.of('things')
    Object.defineProperty(journal, 'problem', { get: () => 'things.journal: ENOSPC' })
  }
  const opened = store.run(async () => undefined, stop, fails)
  await expect(opened).rejects.toThrow(/things.*cannot be rebuilt.*things\.journal: ENOSPC.*free space/s)
  expect(statSync(store.block()).size).toBeGreaterThan(0)
  const loses = async (journals: RecordJournals) => {
    const journal = await journals.of('things')
    const text = journal.text.bind(journal)
    journal.text = async (key) => (key === 'new' ? undefined : text(key))
  }
  await expect(store.run(async () => undefined, stop, loses)).rejects.toThrow(
    /things.*cannot be rebuilt.*new/s,
  )
  await store.run(async (things) => expect(await numbers(things)).toEqual(acknowledged))
})

test('records that were stored again after damage are not taken for old ones', async () => {
  using store = await createStore()
  await store.run(fill)
  cutTail(store.block(), 1e9)
  await store.run(async (things, { losses }) => {
    losses.accept()
    await set(things, 'changed', 2)
    await set(things, 'deleted', 3)
    await things.delete('new')
  })
  await store.run(async (things, { losses }) => {
    expect(await numbers(things)).toEqual({ kept: 1, changed: 2, deleted: 3 })
    expect(losses.all()).toEqual([])
  })
})

test('a record that is made again in a bucket made anew is not taken for a deleted one that has returned', async () => {
  using store = await createStore()
  const bucketAnew = async (broker: TestBroker) => {
    const manager = await jetstreamManager(await broker.connect('PLATFORM'))
    await manager.streams.delete('KV_things')
    await broker[Symbol.asyncDispose]()
  }
  await store.run(async (things) => {
    await fill(things)
    await set(things, 'deleted', 1)
    await things.delete('deleted')
  }, bucketAnew)
  await store.run(async (_, { losses }) => void losses.accept())
  const behind = readFileSync(store.journal)
  await store.run(async (things) => set(things, 'deleted', 2).then(() => undefined))
  // The process was killed between the two writes, or could not write its journal.
  writeFileSync(store.journal, behind)
  await store.run(async (things, { losses }) => {
    expect(await numbers(things)).toEqual({ ...acknowledged, deleted: 2 })
    expect(losses.all()).toEqual([])
  })
})

test('a journal takes no more room than some times its records', async () => {
  const home = mkdtempSync(join(tmpdir(), 'gantry-journal-'))
  const text = 'x'.repeat(100_000)
  const first = await RecordJournals.open(home, testLog).of('things')
  for (let revision = 1; revision <= 200; revision++) await first.wrote('one', revision, text)
  await first.deleted('two', 201)
  await first.close()
  expect(statSync(join(home, 'journal/things.journal')).size).toBeLessThan(60 * text.length)
  const again = await RecordJournals.open(home, testLog).of('things')
  expect(again.isIntact).toBe(true)
  expect(again.get('one')).toMatchObject({ revision: 200, isDeleted: false })
  expect(await again.text('one')).toBe(text)
  expect(again.get('two')).toMatchObject({ revision: 201, isDeleted: true })
  await again.close()
  rmSync(home, { recursive: true })
})

const noMount = whyNoMount()
const mebibyte = 2 ** 20

/** A file that leaves so much of a disk free. */
function fillDisk(disk: string, freeBytes: number): Disposable {
  const path = join(disk, 'filler')
  const { bavail, bsize } = statfsSync(disk)
  writeFileSync(path, Buffer.alloc(bavail * bsize - freeBytes))
  return { [Symbol.dispose]: () => rmSync(path) }
}

testUnless(noMount, 'a journal that was rewritten loses nothing to a full disk', async () => {
  using disk = mountMemory(32 * mebibyte)
  const text = 'x'.repeat(100_000)
  const first = await RecordJournals.open(disk.path, testLog).of('things')
  // Enough to have it rewritten.
  for (let revision = 1; revision <= 100; revision++) await first.wrote('one', revision, text)
  {
    // A part of a line fits.
    using _full = fillDisk(disk.path, text.length / 2)
    await first.wrote('one', 101, text)
    expect(first.problem).toContain('ENOSPC')
    await first.wrote('two', 102, 'two')
  }
  await first.wrote('three', 103, 'three')
  expect(first.problem).toBeUndefined()
  expect(await first.text('three')).toBe('three')
  await first.close()
  const again = await RecordJournals.open(disk.path, testLog).of('things')
  expect(again.isIntact).toBe(true)
  expect(again.get('one')).toMatchObject({ revision: 101 })
  expect(await again.text('two')).toBe('two')
  expect(await again.text('three')).toBe('three')
  await again.close()
})

testUnless(
  noMount,
  'a journal that cannot be rewritten, for want of space, goes on without growing faster',
  async () => {
    using disk = mountMemory(32 * mebibyte)
    const text = 'x'.repeat(100_000)
    const journal = await RecordJournals.open(disk.path, testLog).of('things')
    for (let n = 1; n <= 30; n++) await journal.wrote(`kept-${n}`, n, text)
    const path = join(disk.path, 'journal/things.journal')
    const full = fillDisk(disk.path, 6 * mebibyte)
    let revision = 30
    while (journal.problem === undefined) await journal.wrote('one', ++revision, text)
    expect(journal.problem).toContain('ENOSPC')
    const before = statSync(path).size
    for (let n = 1; n <= 5; n++) await journal.wrote('two', ++revision, 'two')
    expect(statSync(path).size - before).toBeLessThan(text.length)
    // Nothing of the failed rewrite takes up space.
    expect(readdirSync(join(disk.path, 'journal'))).toEqual(['things.journal'])
    full[Symbol.dispose]()
    while (statSync(path).size >= before) await journal.wrote('one', ++revision, text)
    expect(journal.problem).toBeUndefined()
    await journal.close()
    const again = await RecordJournals.open(disk.path, testLog).of('things')
    expect(again.isIntact).toBe(true)
    expect([...again.existing()]).toHaveLength(32)
    expect(again.get('one')).toMatchObject({ revision })
    await again.close()
  },
)
