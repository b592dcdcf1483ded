import { rmSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'vitest'
import { isErrno } from '../../services/drivers/local/errors.ts'
import { isGantryError } from '../../subjects/kit/errors.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { addLocal } from '../support/migrations.ts'
import { createHome } from '../support/platform.ts'
import { checkAudit, checkEvents } from './books.ts'
import { Killer } from './killer.ts'
import type { Sight } from './partial.ts'
import { killsOf, seed } from './settings.ts'
import type { Tally } from './tally.ts'
import { Victim } from './victim.ts'

/** Some kills come while the folder is scanned or compared, the others while changes are followed. */
const longestWaitMs = 3_000
/** What all that was changed at last needs to arrive, after a comparison of everything. */
const patienceMs = 120_000

const migrationId = 'live'
const name = 'live'

export interface LiveOptions {
  readonly tally: Tally
  readonly from: string
  readonly to: string
  /** Begins to write to the source; ends when what it resolves to is called. */
  readonly write: () => () => Promise<void>
  /** What stands under a final name, and what of it was never so at the source. */
  readonly look: () => Sight
  readonly differences: () => string[]
}

/** Kills at random moments while a live migration follows what somebody writes. */
export async function killWhileLive({
  tally,
  from,
  to,
  write,
  look,
  differences,
}: LiveOptions): Promise<void> {
  const home = await createHome()
  await using victim = new Victim(home)
  await victim.start()
  await addLocal(victim, 'from', 'source', from)
  await addLocal(victim, 'to', 'target', to)
  await victim.call(migrations.create, {
    migrationId,
    path: '/',
    source: 'from',
    target: 'to',
    scanOnlyMigration: false,
    autoStart: true,
  })
  const killer = new Killer({
    victim,
    seed,
    longestWaitMs,
    phase: async () => {
      const { state } = await victim.call(migrations.get, { migrationId })
      if (state === 'STOPPED') await resume(victim)
      return state === 'STOPPED' ? undefined : state
    },
    disturb: () => victim.callOnce(migrations.stop, { migrationId }),
    check: () => expect(look().partial).toEqual([]),
  })
  const stopWriting = write()
  while (tally.of(name).length < killsOf(name)) tally.add(name, await killer.next())
  await stopWriting()
  const deadlineMs = Date.now() + patienceMs
  for (;;) {
    const { state } = await victim.call(migrations.get, { migrationId })
    if (state === 'STOPPED') await resume(victim)
    const left = leftOf(differences)
    if (left.length === 0) break
    if (Date.now() > deadlineMs) expect(left).toEqual([])
    await delay(500)
  }
  const { failedPaths } = await victim.call(migrations.failures, { migrationId })
  expect(failedPaths).toEqual([])
  await checkEvents(victim, [migrationId])
  await checkAudit(victim, [migrationId])
  await victim[Symbol.asyncDispose]()
  rmSync(home, { recursive: true, force: true })
}

/** What is under construction still comes and goes while the trees are compared. */
export function leftOf(differences: () => string[]): string[] {
  try {
    return differences()
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error
    return [String(error)]
  }
}

async function resume(victim: Victim): Promise<void> {
  await victim.call(migrations.resume, { migrationId }).catch((error: unknown) => {
    if (!isGantryError(error, 'NOT_ALLOWED_IN_STATE')) throw error
  })
}
