import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { Limits } from '../../../services/bandwidth/limits.ts'
import { idOf, noPolicy, openPolicies, type StoredPolicy } from '../../../services/bandwidth/policies.ts'
import { Mover } from '../../../services/engine/mover.ts'
import { startTestBroker } from '../../support/broker.ts'
import { compareTrees } from '../../support/compare-trees.ts'
import { createMove } from '../engine/move-folder.ts'

const broker = await startTestBroker()
const policies = await openPolicies(await broker.connect('PLATFORM'))
const mover = new Mover({ threads: 2, log: { error: () => undefined } })
afterAll(async () => {
  await mover.close()
  await broker[Symbol.asyncDispose]()
})

/** As `engine/run/bucket.ts` has it: what a fifth of a second allows is free at the beginning. */
const freeSeconds = 0.2
const fileBytes = 50_000
const files = 6

/** Limits as stored. */
async function limitsWith(policy: Partial<StoredPolicy>) {
  const place = { scope: 'target', name: 'there' } as const
  await policies.upsert(idOf(place), () => ({ ...noPolicy(place), ...policy }))
  const limits = new Limits()
  await limits.start(policies)
  return Object.assign(limits, { [Symbol.asyncDispose]: () => limits.stop() })
}

/** The seconds that some files of a migration of this name take to a target of that name. */
async function secondsOf(limits: Limits, migrationId: string, target: string): Promise<number> {
  await using move = createMove({ limits: limits.of(migrationId, target) }, mover)
  for (let index = 0; index < files; index++)
    writeFileSync(join(move.from, `${index}`), Buffer.alloc(fileBytes, migrationId))
  const begun = performance.now()
  const { failures } = await move.run()
  const seconds = (performance.now() - begun) / 1_000
  expect(failures).toEqual([])
  expect(compareTrees(move.from, move.to)).toEqual([])
  return seconds
}

test.each<[what: string, Partial<StoredPolicy>, perSecond: number, ofAMigration: number]>([
  ['bytes', { limitBytesPerSecond: 800_000 }, 800_000, files * fileBytes],
  ['requests', { limitRequestsPerSecond: 15 }, 15, files],
])(
  '%s of a target: two migrations keep its limit together, one elsewhere does not wait',
  async (_, policy, perSecond, ofAMigration) => {
    await using limits = await limitsWith(policy)
    const [one, two, elsewhere] = await Promise.all([
      secondsOf(limits, 'one', 'there'),
      secondsOf(limits, 'two', 'there'),
      secondsOf(limits, 'three', 'elsewhere'),
    ])
    const together = (2 * ofAMigration) / perSecond - freeSeconds
    expect(Math.max(one, two)).toBeGreaterThanOrEqual(together * 0.99)
    expect(elsewhere).toBeLessThan(Math.min(one, two))
    // The limit of the target is not that of the migration: alone it has all of it.
    expect(await secondsOf(limits, 'one', 'there')).toBeLessThan(together)
  },
)
