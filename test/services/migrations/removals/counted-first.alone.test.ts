import { expect, test, vi } from 'vitest'

/** Stands for a target of hundreds of thousands of entries: what counting it would find. */
const countedTargetDouble = { entries: 0 }
vi.mock('../../../../services/migrations/removals/plan-walk.ts', async (original) => ({
  ...(await original<object>()),
  planAll: (_mover: unknown, _spec: unknown, { planned }: { planned: { counts: object } }) => {
    Object.assign(planned.counts, { entriesAtTarget: countedTargetDouble.entries })
    return Promise.resolve()
  },
}))
const { entriesIn, OnHold } = await import('../../../../services/migrations/live/on-hold.ts')
const { RemovalBudgetView } = await import('../../../../services/engine/run/removal-budget.ts')
const { RemovalGuards } = await import('../../../../services/migrations/removals/removal-guards.ts')
const { migrationRecord } = await import('../../../support/migration-records.ts')
const { localSpec } = await import('../../engine/local-spec.ts')

type Guards = InstanceType<typeof RemovalGuards>

const record = migrationRecord({ state: 'LIVE', kind: 'live' })
const { signal } = new AbortController()

function openGuards(): Guards {
  // What it writes down of an approval that was used up nobody reads here.
  const records = { update: () => Promise.resolve(undefined) }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- nothing else of the options is used
  return new RemovalGuards({ records } as unknown as ConstructorParameters<typeof RemovalGuards>[0])
}

/** Lets go what the budget allows, as engine threads do. */
function removeUpTo(guards: Guards, wanted: number): number {
  const budget = new RemovalBudgetView(guards.specOf(record).budget!)
  let removed = 0
  while (removed < wanted && budget.charge()) {
    budget.settle(true)
    removed += 1
  }
  countedTargetDouble.entries -= removed
  return removed
}

/** So many are gone at the source: they are counted, judged, and removed where that is allowed. */
async function gone(guards: Guards, wanted: number): Promise<number> {
  const counted = guards.countingFirst(record, localSpec({ from: '/from', to: '/to' }))
  counted.begin()
  let removed = 0
  for (;;) {
    removed += removeUpTo(guards, wanted - removed)
    const hold = new OnHold(() => undefined)
    const held = Array.from({ length: wanted - removed }, (_, index) => ({
      path: `/f${index}`,
      files: 1,
      folders: 0,
      bytes: 1,
    }))
    hold.add(held, 0, true)
    counted.end()
    const taken = held.length === 0 ? undefined : hold.take()
    if (taken === undefined || !(await counted.allows(entriesIn(taken.held), signal))) return removed
  }
}

test('all of 300,000 entries of one folder are more than half, though fewer paths are kept', async () => {
  countedTargetDouble.entries = 300_000
  expect(await gone(openGuards(), 299_999)).toBe(0)
})

test('an approval is used up by what was removed', async () => {
  const guards = openGuards()
  countedTargetDouble.entries = 10_000
  await guards.begin({ ...record, approvedDeletions: 6_000 })
  expect(await gone(guards, 6_000)).toBe(6_000)
  expect(await gone(guards, 4_000)).toBe(0)
})

test('a limit that is set while the target is counted holds', async () => {
  const guards = openGuards()
  countedTargetDouble.entries = 1_000
  const counted = guards.countingFirst(record, localSpec({ from: '/from', to: '/to' }))
  counted.begin()
  const judged = counted.allows(400, signal)
  guards.set({ ...record, removals: { maxDeletions: 5 } })
  await judged
  expect(removeUpTo(guards, 400)).toBeLessThanOrEqual(5)
})
