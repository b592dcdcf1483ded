import { rmSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'vitest'
import { agentKeys, type Movers } from '../../subjects/migrations/agents.ts'
import { bandwidth } from '../../subjects/migrations/bandwidth.ts'
import { isGantryError } from '../../subjects/kit/errors.ts'
import { filesystems } from '../../subjects/filesystems/filesystems.ts'
import { migrations } from '../../subjects/migrations/migrations.ts'
import { keptFor, connectAsPlatform } from '../support/platform-account.ts'
import { createHome } from '../support/platform.ts'
import { until } from '../support/until.ts'
import { checkAudit, checkEvents } from './books.ts'
import { AgentVictim, Killer } from './killer.ts'
import type { Sight } from './partial.ts'
import { type CaseName, killsOf, seed } from './settings.ts'
import type { Kill, Tally } from './tally.ts'
import { Victim } from './victim.ts'

/** Events are kept for a time, whatever they are about; figures of what is gone go once a minute. */
const keptLonger = new Set(['EVENTS', 'KV_migration-history'])

/** A target of one migration; what it holds goes with the scope. */
export interface Target extends AsyncDisposable {
  /** What stands under a final name at any time: how much, and what of it is not what it is at the source. */
  look(): Promise<Sight>
  /** What differs from the source once nobody writes to that any more and it was scanned again. */
  differences(): Promise<string[]>
}

export interface OneTimeOptions {
  readonly name: CaseName
  readonly tally: Tally
  readonly longestWaitMs: number
  /** Requests to stores in a second, so that a migration lasts for some kills. */
  readonly requestsPerSecond: number
  /** The folder to migrate. */
  readonly from: string
  /** Files, links and folders in it, while nobody writes. */
  readonly content: () => { files: number; folders: number }
  /** Begins to write to the source; ends when what it resolves to is called. */
  readonly write?: () => () => Promise<void>
  /** Paths that such a target cannot hold, sorted: these and no others fail. */
  readonly refused: readonly string[]
  /** Agents that take part, with folders that they share. */
  readonly agents?: { readonly names: readonly string[]; readonly share: string }
  readonly movedBy?: Movers
  /** Makes a target and adds it under this name. */
  readonly newTarget: (victim: Victim, fileSystemId: string) => Promise<Target>
}

/**
 * Migrates to one target after the other, first while somebody writes to the source, then once more when nobody does, and
 * kills at random moments, until as many kills as there must be came before an end.
 */
export async function killWhileMigrating(options: OneTimeOptions): Promise<void> {
  const { name, tally } = options
  const home = await createHome()
  await using victim = new Victim(home)
  await victim.start()
  await victim.call(filesystems['create-local'], {
    fileSystemId: 'from',
    role: 'source',
    fsRoot: options.from,
  })
  const { requestsPerSecond: requests } = options
  await victim.call(bandwidth.set, { scope: 'global', requests })
  await using agents = await startAgents(victim, options)
  const ids: string[] = []
  for (let round = 0; tally.of(name).length < killsOf(name); round++) {
    const id = `run-${round}`
    ids.push(id)
    await new Round(options, victim, agents.all, round).run()
    console.log(`${name}: ${id}: ${tally.of(name).length} kills so far`)
  }
  await retryUntilDone(() => checkEvents(victim, ids))
  await checkAudit(victim, ids)
  await victim[Symbol.asyncDispose]()
  expect(victim.brokerPid()).toBeUndefined()
  rmSync(home, { recursive: true, force: true })
}

async function startAgents(victim: Victim, { agents }: OneTimeOptions) {
  const all: AgentVictim[] = []
  for (const agent of agents?.names ?? []) {
    const { token } = await victim.call(agentKeys.register, { name: agent })
    all.push(new AgentVictim(agent, token, ['--share', agents!.share]))
  }
  return {
    all,
    [Symbol.asyncDispose]: async () =>
      void (await Promise.all(all.map((agent) => agent[Symbol.asyncDispose]()))),
  }
}

/** One migration, and what is killed while it runs. */
class Round {
  readonly #options: OneTimeOptions
  readonly #victim: Victim
  readonly #id: string
  readonly #killer: Killer
  #isRescan = false
  #target: Target | undefined

  constructor(options: OneTimeOptions, victim: Victim, agents: readonly AgentVictim[], round: number) {
    this.#options = options
    this.#victim = victim
    this.#id = `run-${round}`
    this.#killer = new Killer({
      victim,
      agents,
      seed: seed + round,
      longestWaitMs: options.longestWaitMs,
      phase: () => this.#phase(),
      disturb: () => victim.callOnce(migrations.stop, { migrationId: this.#id }),
      check: async () => {
        expect((await this.#target!.look()).partial, `while ${this.#id} goes on`).toEqual([])
      },
    })
  }

  async run(): Promise<void> {
    const { newTarget, movedBy, write, refused } = this.#options
    const id = this.#id
    await using target = await newTarget(this.#victim, id)
    this.#target = target
    const stopWriting = write?.()
    await this.#victim.call(migrations.create, {
      migrationId: id,
      path: '/',
      source: 'from',
      target: id,
      autoStart: true,
      scanOnlyMigration: true,
      ...(movedBy === undefined ? {} : { movedBy }),
    })
    await this.#killUntilCompleted()
    await stopWriting?.()
    const first = await this.#figures()
    if (write === undefined) {
      expect(await target.differences(), id).toEqual([])
      await this.#checkOutcome(first, { files: 0, folders: 0 })
    } else {
      this.#isRescan = true
      await this.#victim.call(migrations['add-pending-region'], {
        migrationId: id,
        path: '/',
        targetMatch: true,
      })
      await this.#killUntilCompleted()
      expect(await target.differences(), id).toEqual([])
      await this.#checkOutcome(await this.#figures(), first)
    }
    expect((await this.#failures()).toSorted()).toEqual(refused)
    await this.#delete()
  }

  /** What it is at; undefined when nothing is to be done. */
  async #phase(): Promise<string | undefined> {
    const { state, progress } = await this.#victim.call(migrations.progress, { migrationId: this.#id })
    if (state === 'COMPLETED' || state === 'STOPPED') return undefined
    if (state !== 'RUNNING') return state.toLowerCase()
    if (this.#isRescan) return 'rescan'
    return progress.filesMigrated === 0 ? 'scan' : 'move'
  }

  async #killUntilCompleted(): Promise<void> {
    const { name, tally } = this.#options
    const killed: Kill[] = []
    const migrationId = this.#id
    for (;;) {
      const { state, migrationCompleteTime } = await this.#victim.call(migrations.get, { migrationId })
      if (state === 'COMPLETED') {
        const endMs = Date.parse(migrationCompleteTime!)
        // It may have ended between the look at its state and the kill.
        tally.add(
          name,
          killed.filter(({ atMs }) => atMs < endMs),
        )
        return
      }
      if (state === 'STOPPED') await this.#resume()
      else if (tally.of(name).length + killed.length < killsOf(name))
        killed.push(...(await this.#killer.next()))
      else {
        await this.#victim.call(bandwidth.delete, { scope: 'global' })
        await delay(100)
      }
    }
  }

  async #resume(): Promise<void> {
    await this.#victim.call(migrations.resume, { migrationId: this.#id }).catch((error: unknown) => {
      // It was told twice, as the answer to the first was lost.
      if (!isGantryError(error, 'NOT_ALLOWED_IN_STATE')) throw error
    })
  }

  async #failures(): Promise<string[]> {
    const { failedPaths } = await this.#victim.call(migrations.failures, {
      migrationId: this.#id,
      limit: 10_000,
    })
    return failedPaths.map(({ path }) => path)
  }

  async #figures(): Promise<{ files: number; folders: number }> {
    const { scannerSummary } = await this.#victim.call(migrations.get, { migrationId: this.#id })
    const { filesScanned: files, directoriesScanned: folders } = scannerSummary.progressSummary
    return { files, folders }
  }

  /** That all that was found was counted once. @param before what was counted while somebody wrote */
  async #checkOutcome(
    figures: { files: number; folders: number },
    before: { files: number; folders: number },
  ): Promise<void> {
    const { files, folders } = this.#options.content()
    expect({ files: figures.files - before.files, folders: figures.folders - before.folders }).toEqual({
      files,
      folders,
    })
    if (this.#options.write !== undefined) return
    // A file that was put off, whose worker died before it had counted the others of its item, is counted as moved twice.
    const { progress } = await this.#victim.call(migrations.progress, { migrationId: this.#id })
    expect(progress.filesMigrated).toBeGreaterThanOrEqual(files - this.#options.refused.length)
  }

  /** Is killed while it is deleted; nothing of it stays. */
  async #delete(): Promise<void> {
    const migrationId = this.#id
    const { internalId } = await this.#victim.call(migrations.get, { migrationId })
    this.#victim.callOnce(migrations.delete, { migrationId }).catch(() => undefined)
    await this.#victim.kill()
    await this.#victim.start()
    await this.#victim.call(migrations.delete, { migrationId }).catch((error: unknown) => {
      if (!isGantryError(error, 'NOT_FOUND')) throw error
    })
    const connection = await connectAsPlatform(this.#victim)
    await retryUntilDone(async () => {
      const kept = Object.keys(await keptFor(connection, internalId))
      expect(kept.filter((stream) => !keptLonger.has(stream))).toEqual([])
    })
    await connection.close()
  }
}

/** What is told late is told soon. */
async function retryUntilDone(check: () => Promise<void>): Promise<void> {
  let last: unknown
  await until('it holds', async () => {
    try {
      await check()
      return true
    } catch (error) {
      last = error
      return false
    }
  }).catch(() => {
    throw last
  })
}
