import { afterAll, beforeAll, expect, test } from 'vitest'
import { ProgressLedger } from '../../../../services/migrations/progress/progress-ledger.ts'
import { type Counts, noCounts } from '../../../../services/engine/run/counts.ts'
import { lossOf } from '../../../../services/migrations/progress/proof.ts'
import { Progress } from '../../../../services/migrations/progress/progress.ts'
import { CheckpointWriter } from '../../../../services/migrations/progress/checkpoint-writer.ts'
import { startTestBroker, type TestBroker } from '../../../support/broker.ts'

let broker: TestBroker
let progress: Progress
beforeAll(async () => {
  broker = await startTestBroker()
  progress = await Progress.open(await broker.connect('PLATFORM'))
})
afterAll(() => broker[Symbol.asyncDispose]())

const files = (filesMigrated: number): Counts => ({ ...noCounts(), filesMigrated })
const item = (sequence: number, messageId = '', redelivered = false) => ({ sequence, messageId, redelivered })

/**
 * A migration of its own, and a new checkpoint on it for each worker; `open` are the items that are known to be in the queue,
 * `gone` those that are not, `out` those that somebody may have had.
 */
function migration() {
  const id = crypto.randomUUID()
  const open = new Set<number>()
  const gone = new Set<number>()
  const out = new Set<number>()
  const progressLedger = ProgressLedger.open(progress, id, {
    has: (sequence) => Promise.resolve(!gone.has(sequence)),
    wasOut: (sequence) => Promise.resolve(out.has(sequence)),
  })
  const broker = { life: 0 }
  let told = 0
  return {
    id,
    open,
    gone,
    out,
    broker,
    told: () => told,
    checkpoint: async () => {
      const checkpoints = await progressLedger
      return new CheckpointWriter({
        keeper: checkpoints.keeperOf(crypto.randomUUID()),
        others: checkpoints.all(),
        life: () => broker.life,
        isOpen: (sequence) => Promise.resolve(open.has(sequence)),
        onCount: ({ filesMigrated }) => (told += filesMigrated),
      })
    },
    /** A worker elsewhere: it knows nothing but what it asks. */
    checkpointElsewhere: async () =>
      new CheckpointWriter({
        keeper: (await progressLedger).keeperOf(crypto.randomUUID()),
        asksAlways: true,
        life: () => broker.life,
        isOpen: (sequence) => Promise.resolve(open.has(sequence)),
        onCount: () => undefined,
      }),
    total: async () => (await progress.totals()).get(id)?.filesMigrated,
  }
}

test('items are counted, and those of several workers added up', async () => {
  const { checkpoint, total, told } = migration()
  const [one, two] = [await checkpoint(), await checkpoint()]
  await Promise.all([
    one.count(item(1), files(3)),
    one.count(item(2), files(4)),
    two.count(item(3), files(5)),
  ])
  expect(await total()).toBe(12)
  expect(told()).toBe(12)
})

test('an item that comes again to the same worker is not counted twice', async () => {
  const { checkpoint, total, told } = migration()
  const one = await checkpoint()
  await one.count(item(1), files(3))
  expect(await one.includes(item(1, '', true))).toBe(true)
  await one.count(item(1, '', true), files(3))
  expect(await total()).toBe(3)
  expect(told()).toBe(3)
})

test('nor is one whose worker died between its count and its end, by a later worker or one beside it', async () => {
  const { checkpoint, total } = migration()
  const [dead, beside] = [await checkpoint(), await checkpoint()]
  await dead.count(item(1), files(3))
  const later = await checkpoint()
  // A broker that was killed may not know that it had handed the item out.
  expect(await later.includes(item(1))).toBe(true)
  expect(await beside.includes(item(1, '', true))).toBe(true)
  expect(await total()).toBe(3)
})

test('an item whose worker died before it was counted is done again', async () => {
  const { checkpoint } = migration()
  await (await checkpoint()).count(item(1), files(3))
  expect(await (await checkpoint()).includes(item(2, '', true))).toBe(false)
})

test('after its end an item is forgotten, and the checkpoint does not grow', async () => {
  const { checkpoint } = migration()
  const one = await checkpoint()
  for (let sequence = 1; sequence <= 50; sequence++) {
    await one.count(item(sequence, '1000.x'), files(1))
    one.acked(sequence)
  }
  await one.stored()
  expect(await (await checkpoint()).includes(item(50, '', true))).toBe(false)
})

test('what an open item had made and was done is known to whoever makes it again', async () => {
  const { checkpoint, open } = migration()
  open.add(7)
  const dead = await checkpoint()
  await dead.count(item(8, '7.early'), files(1))
  dead.acked(8)
  await dead.stored()
  const later = await checkpoint()
  expect(await later.wasDone('7.early')).toBe(true)
  expect(await dead.wasDone('7.early')).toBe(true)
  expect(await later.wasDone('7.other')).toBe(false)
})

test('of what an item made that is done itself nothing is kept', async () => {
  const { checkpoint, open } = migration()
  open.add(7)
  const one = await checkpoint()
  await one.count(item(8, '7.early'), files(1))
  one.acked(7)
  open.delete(7)
  await one.count(item(9, '7.late'), files(1))
  const later = await checkpoint()
  expect(await later.wasDone('7.early')).toBe(false)
  expect(await later.wasDone('7.late')).toBe(false)
})

test('a root has no item that made it', async () => {
  const { checkpoint, total } = migration()
  const one = await checkpoint()
  await one.count(item(1, 'start.1'), files(2))
  expect(await total()).toBe(2)
})

test('what cannot be stored is told to those who wait, and stored with the next', async () => {
  const { total, checkpoint } = migration()
  const one = await checkpoint()
  const store = progress.store.bind(progress)
  progress.store = () => Promise.reject(new Error('the broker is away'))
  await expect(one.count(item(1), files(3))).rejects.toThrow('the broker is away')
  progress.store = store
  expect(await one.includes(item(1, '', true))).toBe(true)
  await one.stored()
  expect(await total()).toBe(3)
})

test('an item that two had at once, as one was thought dead, is counted by who comes first', async () => {
  const { checkpoint, checkpointElsewhere, gone, total } = migration()
  const [one, two, three] = [await checkpoint(), await checkpointElsewhere(), await checkpoint()]
  expect(await two.includes(item(1))).toBe(false)
  await one.count(item(1), files(3))
  await Promise.all([two.count(item(1), files(3)), two.count(item(2), files(5))])
  expect(await total()).toBe(8)
  // And after its end, when no checkpoint has it any more.
  one.acked(1)
  gone.add(1)
  await one.stored()
  await three.count(item(1, '', true), files(3))
  expect(await total()).toBe(8)
  expect(await two.includes(item(1))).toBe(true)
})

test('who works elsewhere learns of an item what it had made, what of that was done, and whether somebody had it', async () => {
  const { checkpoint, checkpointElsewhere, open, out } = migration()
  open.add(7)
  out.add(7)
  const [one, elsewhere] = [await checkpoint(), await checkpointElsewhere()]
  await one.count(item(8, '7.early'), files(1))
  expect(await elsewhere.includes(item(7))).toBe(false)
  expect([await elsewhere.wasOut(item(7)), await elsewhere.wasOut(item(9))]).toEqual([true, false])
  expect(await elsewhere.wasDone('7.early')).toBe(true)
  expect(await elsewhere.wasDone('7.late')).toBe(false)
})

test.each(['checkpoint', 'checkpointElsewhere'] as const)(
  'who outlives a broker asks it what was done meanwhile of what it has made: %s',
  async (kind) => {
    const { checkpoint, open, broker, ...more } = migration()
    open.add(7)
    const makes = await { checkpoint, ...more }[kind]()
    const does = await checkpoint()
    expect(await makes.includes(item(7))).toBe(false)
    expect(await makes.wasDone('7.child')).toBe(false)
    await does.count(item(8, '7.child'), files(1))
    await does.count(item(9, 'failure.3.7'), files(1))
    // The same broker still knows that it had items with these ids.
    expect(await makes.wasDone('7.child')).toBe(false)
    broker.life += 1
    const all = ['7.child', 'failure.3.7', '7.other', 'failure.7.8', 'start.7']
    expect(await Promise.all(all.map((id) => makes.wasDone(id)))).toEqual([true, true, false, false, false])
  },
)

test('what another had when the broker was killed, who outlives both asks about, though it comes as if for the first time', async () => {
  const { checkpoint, checkpointElsewhere, open, broker, out } = migration()
  open.add(7)
  const [one, elsewhere] = [await checkpoint(), await checkpointElsewhere()]
  expect(await elsewhere.includes(item(7))).toBe(false)
  await elsewhere.count(item(8, '7.child'), files(1))
  broker.life += 1
  out.add(7)
  expect(await one.includes(item(7))).toBe(false)
  expect(await one.wasOut(item(7))).toBe(true)
  expect(await one.wasDone('7.child')).toBe(true)
})

test('an answer from before the broker was killed once more is asked for again', async () => {
  let life = 0
  const answers = [[], [], ['7.child']]
  const checkpoint = new CheckpointWriter({
    keeper: {
      look: async () => {
        const early = answers.shift()!
        // While it is answered.
        life += 1
        return { counted: false, wasOut: false, early }
      },
      store: () => Promise.resolve([]),
    },
    life: () => Math.min(life, 2),
    isOpen: () => Promise.resolve(true),
    onCount: () => undefined,
  })
  await checkpoint.includes(item(7, '', true))
  expect(await checkpoint.wasDone('7.child')).toBe(true)
})

test('forgetting takes all of a migration and nothing of another', async () => {
  const [one, two] = [migration(), migration()]
  await (await one.checkpoint()).count(item(1), files(1))
  await (await two.checkpoint()).count(item(1), files(2))
  await progress.forget((id) => id === one.id)
  expect(await one.total()).toBeUndefined()
  expect(await two.total()).toBe(2)
})

const queueOf = (has: (sequence: number) => boolean) => ({
  has: (sequence: number) => Promise.resolve(has(sequence)),
  wasOut: () => Promise.resolve(false),
})

/** What the checkpoints say, and what is missing from a queue of which nobody works on anything. */
async function reckon(id: string, queue: { messages: number; lastSequence: number }, open: number[] = []) {
  const progressLedger = await ProgressLedger.open(
    progress,
    id,
    queueOf((sequence) => open.includes(sequence)),
  )
  return { loss: await progressLedger.lossAtStart(queue), progressLedger }
}

test('the checkpoints say how many items were done, also those that are forgotten: what is neither there nor done is lost', async () => {
  const { id, checkpoint } = migration()
  const one = await checkpoint()
  for (const sequence of [1, 2, 4]) await one.count(item(sequence), files(1))
  one.acked(1)
  one.acked(2)
  await one.count(item(5), files(1))
  // The third waits, and the fourth and the fifth are counted and not off the queue yet.
  expect((await reckon(id, { messages: 3, lastSequence: 5 }, [4, 5])).loss).toBeUndefined()
  expect((await reckon(id, { messages: 1, lastSequence: 5 })).loss).toBeUndefined()
  expect((await reckon(id, { messages: 2, lastSequence: 5 }, [4, 5])).loss).toEqual({
    items: 1,
    isBroken: false,
  })
  const { loss, progressLedger } = await reckon(id, { messages: 0, lastSequence: 5 })
  expect(loss).toEqual({ items: 1, isBroken: false })
  expect(lossOf({ messages: 0, lastSequence: 5 }, progressLedger.booked, { isExact: true })).toBeDefined()
  await progressLedger.settle(5, () => Promise.resolve())
  expect(lossOf({ messages: 0, lastSequence: 5 }, progressLedger.booked, { isExact: true })).toBeUndefined()
  expect((await reckon(id, { messages: 0, lastSequence: 5 })).loss).toBeUndefined()
})

test('an item that comes back after its end is not counted a second time', async () => {
  const { id, checkpoint, total } = migration()
  const one = await checkpoint()
  await one.count(item(1), files(3))
  one.acked(1)
  await one.count(item(2), files(4))
  await one.count(item(1), files(3))
  expect(await total()).toBe(7)
  expect((await reckon(id, { messages: 0, lastSequence: 2 })).progressLedger.booked).toMatchObject({
    done: 2,
    sum: 3,
  })
})

test('items that were published before the broker lost its latest are known by the checkpoints', async () => {
  const { id } = migration()
  const progressLedger = await ProgressLedger.open(
    progress,
    id,
    queueOf(() => true),
  )
  const keeper = progressLedger.keeperOf(crypto.randomUUID())
  await keeper.store({ counts: noCounts(), counted: [1], early: {}, published: 9 })
  expect((await reckon(id, { messages: 8, lastSequence: 9 })).loss).toBeUndefined()
  expect((await reckon(id, { messages: 5, lastSequence: 6 })).loss).toEqual({ items: 3, isBroken: true })
})

test('what a release before has done, which counted no items, is not taken for lost', async () => {
  const { id } = migration()
  await progress.store({ migration: id, worker: 'before', counts: noCounts(), counted: [3], early: {} })
  // Four are gone, and of the two that are there one is counted.
  const { loss, progressLedger } = await reckon(id, { messages: 2, lastSequence: 6 }, [3, 6])
  expect(loss).toBeUndefined()
  expect(progressLedger.booked).toEqual({ done: 5, sum: undefined, published: 0 })
  await progressLedger
    .keeperOf(crypto.randomUUID())
    .store({ counts: noCounts(), counted: [6], early: {}, published: 6 })
  const end = { messages: 0, lastSequence: 6 }
  expect(lossOf(end, progressLedger.booked, { isExact: true })).toBeUndefined()
  expect((await reckon(id, { messages: 0, lastSequence: 7 })).loss).toEqual({ items: 1, isBroken: false })
})
