import { afterAll, beforeAll, describe, expect } from 'vitest'
import { metadataComparisons } from '../../../subjects/metadata/comparisons.ts'
import { metadataMigrations } from '../../../subjects/metadata/migrations.ts'
import { metadataRules } from '../../../subjects/metadata/rules.ts'
import { metastoreTest, noMetastore } from '../../support/hive-metastore.ts'
import { MetastoreModel, seenIn } from '../../support/metastore-model.ts'
import { MetastoreWriter } from '../../support/metastore-writer.ts'
import { seededRandom } from '../../support/random.ts'
import { startTwoMetastores, type TwoMetastores } from '../../support/two-metastores.ts'
import { until } from '../../support/until.ts'

// A metastore is written to at random while it is migrated, with pauses in between, and kills of either metastore; at the end
// both have what the model has: by a verification, and as they are read directly.

/** As many as half a core does in four minutes; a thousand take it fifteen. */
const steps = Number(process.env['GANTRY_METADATA_STEPS'] ?? 200)
const seed = Number(process.env['GANTRY_METADATA_SEED'] ?? Math.floor(Math.random() * 2 ** 31))
/** Of the target and the source in turn; each costs a start of a metastore. */
const kills = Number(process.env['GANTRY_METADATA_KILLS'] ?? 2)
/** Changes between two kills. */
const stepsOfKill = Math.floor(steps / (kills + 1))
/** Changes between a pause and a resume, and between a resume and a pause. */
const stepsOfPause = 40
const signal = new AbortController().signal
const migrationName = 'model'
/** Where the source keeps no account of its changes. */
const comparisonPeriodSeconds = 2

/** What writes the log of events of Hive 4 is a part of Hive that is not here: its changes are found by comparison. */
describe.each([
  { from: '3.1.3', to: '4.0.1', isCompared: false },
  { from: '4.0.1', to: '3.1.3', isCompared: true },
] as const)('from Hive $from to $to', ({ from, to, isCompared }) => {
  let both: TwoMetastores
  if ((noMetastore(from) ?? noMetastore(to)) === undefined) {
    beforeAll(async () => {
      both = await startTwoMetastores(from, to)
      await both.platform.call(metadataRules.create, {
        ruleName: 'all',
        databasePattern: 'model_*',
        tablePattern: '*',
      })
    }, 240_000)
    afterAll(() => both?.[Symbol.asyncDispose]())
  }

  metastoreTest(
    from,
    `Hive ${from} and ${to} are equal after changes at random, with pauses and kills in between`,
    async () => {
      console.log(`seed ${seed}, ${steps} steps`)
      const { platform, here, there, source, target, lake } = both
      using raw = await MetastoreWriter.open(here.address)
      const sourceRoot = `file:${lake}/source`
      const model = new MetastoreModel({
        catalog: source,
        raw,
        root: sourceRoot,
        random: seededRandom(seed),
      })
      await model.begin()
      await platform.call(metadataMigrations.create, {
        migrationName,
        source: 'here',
        target: 'there',
        ruleNames: ['all'],
        autoStart: true,
        maxDrops: 1_000_000,
        maxDropPercent: 100,
        ...(isCompared && { comparisonPeriodSeconds }),
      })
      const get = () => platform.call(metadataMigrations.get, { migrationName })
      const began = performance.now()
      const took = () => Math.round((performance.now() - began) / 1_000)
      let isPaused = false
      /** Changes go on meanwhile where it is the target that is away. */
      let starting: Promise<void> | undefined
      let killed = 0
      for (let step = 1; step <= steps; step++) {
        await model.step()
        if (killed < kills && step % stepsOfKill === 0) {
          await starting
          const victim = killed++ % 2 === 0 ? there : here
          await victim.kill()
          starting = victim.restart()
          if (victim === here) await starting
        }
        if (step % stepsOfPause !== 0) continue
        await platform.call(metadataMigrations[isPaused ? 'resume' : 'pause'], { migrationName })
        isPaused = !isPaused
      }
      await starting
      console.log(`${steps} changes and ${killed} kills in ${took()} s`)
      if (isPaused) await platform.call(metadataMigrations.resume, { migrationName })
      await model.createLast()
      try {
        const comparisons = new Set<string>()
        await until('the last table', () => target.table(model.last.database, model.last.name, signal))
        await until('nothing is behind', async () => {
          const { phase, lagEvents, lagSeconds, failed, compared = '' } = await get()
          if (phase !== 'following' || failed > 0) return false
          if (!isCompared) return lagEvents === 0 && lagSeconds === 0
          // One that ends after the last change may have begun before it; the one after that has not.
          comparisons.add(compared)
          return comparisons.size > 2
        })
      } catch (cause) {
        const objects = await platform.call(metadataMigrations.objects, { migrationName, state: 'failed' })
        throw new Error(`seed ${seed}: ${JSON.stringify([await get(), objects])}`, { cause })
      }

      const { id: comparisonId } = await platform.call(metadataComparisons.create, { migrationName })
      const verified = await until('the verification', async () => {
        const job = await platform.call(metadataComparisons.get, { comparisonId })
        return job.status === 'COMPLETE' || job.status === 'CANCELLED' ? job : undefined
      })
      const { content } = await platform.call(metadataComparisons.report, { comparisonId })
      const objects = await platform.call(metadataMigrations.objects, { migrationName })
      const unsettled = objects.filter(({ state }) => state !== 'arrived')
      expect([content.split('\r\n').slice(1, 6), unsettled], `seed ${seed}`).toEqual([[''], []])
      expect(verified).toMatchObject({ status: 'COMPLETE', totalDifferences: 0 })
      expect(await get(), `seed ${seed}`).toMatchObject({
        state: 'RUNNING',
        failed: 0,
        conflicts: 0,
        held: 0,
      })

      expect(await seenIn(source, 'model_', sourceRoot), `seed ${seed}`).toEqual(model.expected())
      expect(await seenIn(target, 'model_', `file:${lake}/target${lake}/source`), `seed ${seed}`).toEqual(
        model.expected(),
      )
      console.log(`equal after ${took()} s: ${JSON.stringify(model.done)}`)
    },
    1_800_000,
  )
})
