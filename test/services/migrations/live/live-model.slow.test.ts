import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { migrations } from '../../../../subjects/migrations/migrations.ts'
import { ChangingFolder } from '../../../support/changing-folder.ts'
import { compareTrees } from '../../../support/compare-trees.ts'
import { addLocal, createFolder } from '../../../support/migrations.ts'
import { startTestPlatform, type TestPlatform } from '../../../support/platform.ts'
import { randomBelow, seededRandom } from '../../../support/random.ts'
import { unlessGone, until } from '../../../support/until.ts'

const stepsAsked = process.env['GANTRY_LIVE_STEPS']
/** Steps of one run; GANTRY_LIVE_STEPS makes it thousands. */
const steps = Number(stepsAsked ?? 400)
/** GANTRY_LIVE_SEED repeats a run that failed. */
const seed = Number(process.env['GANTRY_LIVE_SEED'] ?? Date.now() % 1_000_000)
/** So many runs, each with the seed after the one before. */
const runs = Number(process.env['GANTRY_LIVE_RUNS'] ?? 1)
const asked = Array.from({ length: runs }, (_, run) => ({ seed: seed + run, steps }))
/** Runs that once failed, with the step at which they did; the crash tests repeat them. */
const failed: readonly { readonly seed: number; readonly steps: number }[] = []
const replayed = stepsAsked === undefined ? [] : failed
/** So often everything comes to rest, and is compared. */
const stepsBetweenRests = 100
let platform: TestPlatform
beforeAll(async () => {
  platform = await startTestPlatform()
})
afterAll(() => platform[Symbol.asyncDispose]())

test.each([...asked, ...replayed])(
  'the target is as the source is, whatever happens there (seed $seed, $steps steps)',
  { timeout: 1_200_000 },
  async ({ seed, steps }) => {
    const random = seededRandom(seed)
    using folder = createFolder('source', 'target')
    const source = new ChangingFolder(folder.source, random, { swaps: true, oddNames: true })
    const log: string[] = []
    // Some of it is there before.
    for (let i = 0; i < 50; i++) log.push(source.step())
    const [from, to] = [`source-${seed}`, `target-${seed}`]
    await addLocal(platform, from, 'source', folder.source)
    await addLocal(platform, to, 'target', folder.target)
    const migrationId = `model-${seed}`
    const get = () => platform.call(migrations.get, { migrationId })
    await platform.call(migrations.create, {
      migrationId,
      path: '/',
      source: from,
      target: to,
      scanOnlyMigration: false,
      autoStart: true,
    })
    for (let i = 0; i < steps; i++) {
      log.push(source.step())
      // At times many at once, at times one by one.
      const pause = randomBelow(random, 40)
      if (pause === 0) await new Promise((resolve) => setTimeout(resolve, randomBelow(random, 60)))
      else if (pause < 20) await nextTurn()
      if ((i + 1) % stepsBetweenRests > 0 && i + 1 < steps) continue
      const isAtRest = async () => {
        const { changeLagSeconds, state } = await get()
        return (
          state === 'LIVE' &&
          changeLagSeconds === 0 &&
          unlessGone(() => compareTrees(folder.source, folder.target))?.length === 0
        )
      }
      const hasRested = await until('all changes have arrived', isAtRest).catch(() => false)
      if (hasRested) continue
      const differences = compareTrees(folder.source, folder.target)
      const { failedPaths } = await platform.call(migrations.failures, { migrationId })
      const last = log.slice(-stepsBetweenRests).map((line) => line.replaceAll(folder.source, ''))
      expect({ seed, step: i, differences, view: await get(), failedPaths, last }).toBe('equal')
    }
    const { failedPaths } = await platform.call(migrations.failures, { migrationId })
    expect(failedPaths).toEqual([])
  },
)
