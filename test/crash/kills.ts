import { rmSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'vitest'
import { filesystems } from '../../subjects/filesystems.ts'
import { migrations } from '../../subjects/migrations.ts'
import { createHome } from '../support/platform.ts'
import { randomBelow, seededRandom } from '../support/random.ts'
import { Victim } from './victim.ts'

export const kills = 20
export const seed = Number(process.env['CRASH_SEED'] ?? Math.floor(Math.random() * 2 ** 31))
/** Kills that found files at the target, and not all of them; the others came before the first. */
const leastInTheMiddle = kills / 2

/** Who is killed, and how it comes back. `kill` resolves with the time of the kill. */
export const victims = Object.entries({
  platform: { kill: (victim: Victim) => victim.kill(), revive: (victim: Victim) => victim.start() },
  'nats-server': { kill: (victim: Victim) => victim.killBroker(), revive: () => Promise.resolve() },
})
type Way = (typeof victims)[number][1]

export interface Sight {
  readonly files: number
  readonly partial: readonly string[]
}

/** A target of one migration; what it holds goes with the scope. */
export interface Target extends AsyncDisposable {
  /** What stands under a final name at any time: how much, and what of it is not what it is at the source. */
  look(): Promise<Sight>
  /** What differs from the source once the migration is completed. */
  differences(): Promise<string[]>
}

export interface Options {
  /** Kills come at any moment, up to so long after the last; waiting for a random time is the test. */
  readonly longestWaitMs: number
  /** The folder to migrate. */
  readonly from: string
  /** Paths that such a target cannot hold, sorted: these and no others fail. */
  readonly refused: readonly string[]
  /** Makes a target and adds it under this name. */
  readonly newTarget: (victim: Victim, fileSystemId: string) => Promise<Target>
}

/** Migrates to one target after the other and kills at random moments, until as many kills as there must be came before an end. */
export async function killWhileMigrating({ kill, revive }: Way, options: Options): Promise<void> {
  const random = seededRandom(seed)
  const home = await createHome()
  await using victim = new Victim(home)
  await victim.start()
  await victim.call(filesystems['create-local'], {
    fileSystemId: 'from',
    role: 'source',
    fsRoot: options.from,
  })

  let landed = 0
  let inTheMiddle = 0
  for (let run = 0; landed < kills; run++) {
    const id = `run-${run}`
    await using target = await options.newTarget(victim, id)
    await victim.call(migrations.create, {
      migrationId: id,
      path: '/',
      source: 'from',
      target: id,
      autoStart: true,
    })
    const killed: { atMs: number; isInTheMiddle: boolean }[] = []
    for (;;) {
      const wait = delay(randomBelow(random, options.longestWaitMs))
      expect((await target.look()).partial, `while ${id} goes on`).toEqual([])
      await wait
      const { state } = await victim.call(migrations.progress, { migrationId: id })
      if (state === 'COMPLETED') break
      expect(state).toBe('RUNNING')
      if (landed + killed.length === kills) continue
      const atMs = await kill(victim)
      const { files, partial } = await target.look()
      killed.push({ atMs, isInTheMiddle: files > 0 })
      expect(partial, `after kill ${killed.length} of ${id}`).toEqual([])
      await revive(victim)
    }
    const endMs = await checkOutcome(victim, id, options.refused)
    expect(await target.differences(), id).toEqual([])
    // It may have ended between the look at its state and the kill.
    const before = killed.filter(({ atMs }) => atMs < endMs)
    landed += before.length
    inTheMiddle += before.filter(({ isInTheMiddle }) => isInTheMiddle).length
    console.log(
      `${id}: ${before.length} of ${killed.length} kills landed; ${landed} so far, ${inTheMiddle} of them in the middle`,
    )
  }
  expect(landed).toBe(kills)
  expect(inTheMiddle).toBeGreaterThanOrEqual(leastInTheMiddle)
  await victim[Symbol.asyncDispose]()
  expect(victim.brokerPid()).toBeUndefined()
  rmSync(home, { recursive: true, force: true })
}

/** That all files arrived but those that cannot; when it ended. */
async function checkOutcome(
  victim: Victim,
  migrationId: string,
  refused: readonly string[],
): Promise<number> {
  const { migrationCompleteTime } = await victim.call(migrations.get, { migrationId })
  const { progress } = await victim.call(migrations.progress, { migrationId })
  const { failedPaths } = await victim.call(migrations.failures, { migrationId, limit: 10_000 })
  expect(failedPaths.map(({ path }) => path).toSorted()).toEqual(refused)
  expect(progress.failedPaths).toBe(refused.length)
  expect(progress.filesMigrated).toBeGreaterThanOrEqual(progress.filesScanned - refused.length)
  return Date.parse(migrationCompleteTime!)
}
