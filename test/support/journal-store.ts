import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Static, Type } from 'typebox'
import { createIdentity } from '../../broker/identity/create-identity.ts'
import { RecordJournals } from '../../broker/state/books/record-journal.ts'
import { StreamBook } from '../../broker/state/books/stream-book.ts'
import { Collection } from '../../broker/state/collection.ts'
import { messagingIn, startTestBroker, type TestBroker } from './broker.ts'
import { blocksOf, crash, flipAt, recordsIn } from './damage.ts'
import { recordingLog } from './log.ts'

const Thing = Type.Object({ n: Type.Integer(), isDisabled: Type.Boolean(), text: Type.String() })
export type Things = Collection<typeof Thing>

/** A folder with a store, which is used in runs that end by kill -9. With groups, all is as the platform has it. */
export async function createStore({ groupOf }: { groupOf?: (value: Static<typeof Thing>) => string } = {}) {
  const home = mkdtempSync(join(tmpdir(), 'gantry-journal-'))
  const identity = await createIdentity(messagingIn(home))
  const run = async (
    work: (things: Things, journals: RecordJournals) => Promise<void>,
    end: (broker: TestBroker) => Promise<void> = crash,
    prepare: (journals: RecordJournals) => Promise<void> = async () => undefined,
  ) => {
    if (groupOf !== undefined) StreamBook.dropIndexes(home, messagingIn(home).storeDir)
    const broker = await startTestBroker({ home, identity })
    const recorded = recordingLog()
    const journals = RecordJournals.open(home, recorded.log)
    await prepare(journals)
    try {
      const things = await Collection.open(await broker.connect('PLATFORM'), {
        bucket: 'things',
        schema: Thing,
        version: 1,
        journals,
        ...(groupOf === undefined ? {} : { groupOf }),
        inDoubt: (thing) => ({ ...thing, isDisabled: true }),
      })
      await work(things, journals)
    } finally {
      await journals.close()
      await end(broker)
    }
    return recorded
  }
  return {
    run,
    block: () => blocksOf(home, 'KV_things').at(-1)!,
    journal: join(home, 'journal/things.journal'),
    [Symbol.dispose]: () => rmSync(home, { recursive: true }),
  }
}

const thing = (n: number) => ({ n, isDisabled: false, text: 'x'.repeat(300) })
export const set = (things: Things, id: string, n: number) =>
  things.upsert(id, (before) => ({ ...(before ?? thing(n)), n }))
export const numbers = async (things: Things) => {
  const found: Record<string, number> = {}
  for (const id of ['kept', 'changed', 'deleted', 'new']) {
    const value = await things.get(id)
    if (value !== undefined) found[id] = value.n
  }
  return found
}

/** What every damage must leave as it is. */
export const acknowledged = { kept: 1, changed: 9, new: 1 }

export async function fill(things: Things) {
  for (const id of ['kept', 'changed', 'deleted']) await set(things, id, 1)
  for (let n = 2; n < 10; n++) await set(things, 'changed', n)
  await things.delete('deleted')
  await set(things, 'new', 1)
}

/** In the sequence of the first record that anybody has acknowledged. */
export function flipFirst(block: string): void {
  const { at } = recordsIn(block).find(({ subject }) => subject.endsWith('.kept'))!
  flipAt(block, at + 6)
}

/** A broker's end in order. */
export const stop = async (broker: TestBroker): Promise<void> => broker[Symbol.asyncDispose]()
