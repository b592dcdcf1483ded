import { expect, test } from 'vitest'
import type { QueueItem } from '../../../../broker/queue/queue.ts'
import { type ItemResult, noCounts } from '../../../../services/engine/run/counts.ts'
import { startRegion } from '../../../../services/engine/items/items.ts'
import { InFlightProgress } from '../../../../services/migrations/progress/in-flight-progress.ts'
import { ItemLoop, type ItemLoopOptions } from '../../../../services/migrations/execution/item-loop.ts'
import { toldFailure } from '../../../../services/migrations/execution/deferrals.ts'
import { testLog } from '../../../support/platform.ts'
import { localSpec } from '../../engine/local-spec.ts'

/**
 * A loop with one item, in a double of a queue that hands it out again at once, and a double of a mover that fails as no
 * store does. Returns its reasons after each delivery.
 */
async function reasonsWithDoubles(
  moves: readonly (Error | Partial<ItemResult> | undefined)[],
  published: string[] = [],
) {
  const reasons: { reason: string; message: string }[][] = []
  const state = { isDone: false }
  const item = {
    data: startRegion(),
    sequence: 1,
    messageId: 'start.1',
    redelivered: false,
    later: () => undefined,
    done: async () => void (state.isDone = true),
  }
  let delivery = 0
  const doubles = {
    queue: {
      publish: async (lane: string, data: Uint8Array, id: string) =>
        void published.push(`${lane} ${id} ${Buffer.from(data).toString()}`),
      consume: async (_lane: string, _slots: number, work: (item: QueueItem) => Promise<void>) => {
        while (!state.isDone) {
          // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a double
          await work(item as unknown as QueueItem)
          reasons.push(loop.deferrals.reasons)
        }
      },
    },
    mover: {
      scan: async () => {
        const result = moves[delivery++]
        if (result instanceof Error) throw result
        return { counts: noCounts(), failures: [], ...result }
      },
    },
    checkpoints: {
      includes: async () => false,
      count: async () => undefined,
      acked: () => undefined,
      wasDone: async () => false,
      wasOut: async () => false,
      letGo: () => undefined,
    },
    failures: {},
  }
  const loop: ItemLoop = new ItemLoop({
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- doubles
    ...(doubles as unknown as Pick<ItemLoopOptions, keyof typeof doubles>),
    workId: 'work',
    spec: localSpec({ from: '/from', to: '/to' }),
    threads: 1,
    queueCreated: '',
    hasHelp: () => false,
    room: async () => ({ goesDeep: false, leavesFolders: false }),
    inFlight: new InFlightProgress(),
    held: new Set(),
    onIdle: () => undefined,
    signal: new AbortController().signal,
    log: testLog,
  })
  await loop.consume('region', new AbortController().signal)
  return reasons
}

test('an item that fails again and again as a whole is told of with its reason, until it is done', async () => {
  const fails = Array.from({ length: toldFailure + 1 }, () => new Error('EACCES: odd'))
  const reasons = await reasonsWithDoubles([...fails, undefined])
  expect(reasons.map((all) => all.map(({ reason }) => reason))).toEqual([
    ...fails.map((_, index) => (index + 1 < toldFailure ? [] : ['TRYING_AGAIN'])),
    [],
  ])
  expect(reasons[toldFailure - 1]?.[0]?.message).toBe(`a work item failed ${toldFailure} times: EACCES: odd`)
})

test('an item that is split is over when each of its parts is in the queue', async () => {
  const published: string[] = []
  await reasonsWithDoubles([{ split: [Buffer.from('one'), Buffer.from('two')] }], published)
  expect(published).toEqual(['region 1.retry.0 one', 'region 1.retry.1 two'])
})
