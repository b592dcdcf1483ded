import { setTimeout as delay } from 'node:timers/promises'
import type { NatsConnection } from '../../../../broker/rpc/connection.ts'
import type { Log } from '../../../../broker/common/log.ts'
import type { Handlers, Input, Output } from '../../../../subjects/kit/contract.ts'
import { GantryError } from '../../../../subjects/kit/errors.ts'
import type { migrations } from '../../../../subjects/migrations/migrations.ts'
import { sizeText } from '../../../../subjects/kit/binary-size.ts'
import { maxTextLength } from '../../../../subjects/kit/schemas.ts'
import { shortened } from '../../../../subjects/kit/shortened.ts'
import type { PlanCounts } from '../../../../subjects/migrations/model/plan-terms.ts'
import type { RuleBook } from '../../rules/book.ts'
import type { StoreBounds } from '../../../drivers/contract/bounds.ts'
import { openDriver } from '../../../drivers/index.ts'
import { targetPath } from '../../../engine/run/mappings.ts'
import { openSpec } from '../../../engine/run/run.ts'
import type { MoveSpec } from '../../../engine/mover.ts'
import { type PlanBy, ToldNames } from '../../../engine/walk/plan-by.ts'
import { decodeItem } from '../../../engine/items/item-decode.ts'
import { joinPath } from '../../../engine/items/paths.ts'
import { QueueReader } from '../../../../broker/queue/reader.ts'
import { type MigrationRecord, workIdOf } from '../../lifecycle/record.ts'
import type { RemovalGuards } from '../../removals/removal-guards.ts'
import { deletionsIn, needsApproval } from '../../removals/guard.ts'
import { planAll, Planned, type Planning } from '../../removals/plan-walk.ts'

type Plan = Output<(typeof migrations)['plan']>
/** What a plan is made with in place of what the migration has. */
type Instead = Pick<Input<(typeof migrations)['plan']>, 'actionPolicy' | 'exclusions' | 'inclusions'>

export interface PlanDependencies {
  readonly connection: NatsConnection
  readonly mover: Planning
  /** @throws GantryError NOT_FOUND */
  readonly findMigration: (migrationId: string) => Promise<MigrationRecord>
  readonly resolve: (record: MigrationRecord) => Promise<MoveSpec>
  readonly guards: Pick<RemovalGuards, 'left'>
  readonly rules: Pick<RuleBook, 'requireFit'>
  /** Where stores may be. */
  readonly bounds: StoreBounds | undefined
  readonly spillFolder: string
  readonly log: Log
}

/** Plans under way: each has its folders in memory, and the threads are shared. */
const maxAtOnce = 4
/** Plans that are kept when they are done, and for how long. */
const maxKept = 100
const keptMs = 3_600_000
/** An answer comes at the latest after this; shorter than the contract's deadline. */
const patienceMs = 20_000
/** A target that was just compared tells its free space in milliseconds; one that hangs by now keeps no plan. */
const spaceMs = 5_000

interface Kept {
  readonly planId: string
  readonly record: MigrationRecord
  readonly planned: Planned
  readonly startedMs: number
  readonly done: Promise<void>
  status: Plan['status']
  message?: string
  /** Of a plan that is complete. */
  space?: Space
}

/** What can still be written to a target. */
interface Space {
  /** Its folder, or its name. */
  readonly where: string
  readonly freeBytes: number
}

/** Plans of migrations, in this process. */
export class Plans {
  readonly #dependencies: PlanDependencies
  readonly #plans = new Map<string, Kept>()
  readonly #closing = new AbortController()

  constructor(dependencies: PlanDependencies) {
    this.#dependencies = dependencies
  }

  get handlers(): Pick<Handlers<typeof migrations>, 'plan'> {
    return {
      plan: async ({ migrationId, planId, ...instead }) => {
        const plan =
          planId === undefined ? await this.#begin(migrationId, instead) : this.#find(migrationId, planId)
        const waited = new AbortController()
        await Promise.race([plan.done, delay(patienceMs, undefined, { ref: false, signal: waited.signal })])
        waited.abort()
        return this.#view(plan)
      },
    }
  }

  async stop(): Promise<void> {
    this.#closing.abort(new Error('the platform is stopping'))
    await Promise.all(Array.from(this.#plans.values(), ({ done }) => done))
  }

  #find(migrationId: string, planId: string): Kept {
    const plan = this.#plans.get(planId)
    if (plan?.record.migrationId === migrationId) return plan
    throw new GantryError(
      'NOT_FOUND',
      `there is no plan ${planId} of ${migrationId}: it has expired; create a new one`,
    )
  }

  async #begin(migrationId: string, { actionPolicy, ...given }: Instead): Promise<Kept> {
    const { findMigration, rules } = this.#dependencies
    const found = await findMigration(migrationId)
    const { exclusions = found.exclusions, inclusions = found.inclusions } = given
    const ids = { exclusions: [...new Set(exclusions)], inclusions: [...new Set(inclusions)] }
    // As for the migration itself: what it could not have takes too long, or too much memory, here as well.
    if (given.exclusions !== undefined || given.inclusions !== undefined)
      await rules.requireFit(ids, found.kind)
    const record = { ...found, policy: actionPolicy ?? found.policy, ...ids }
    this.#forgetOld()
    const atWork = [...this.#plans.values()].filter(({ status }) => status === 'IN_PROGRESS').length
    if (atWork >= maxAtOnce)
      throw new GantryError('OVERLOADED', `${maxAtOnce} plans are being created; try again when one is done`)
    const planned = new Planned()
    const planId = crypto.randomUUID()
    const { promise, resolve } = Promise.withResolvers<void>()
    const plan: Kept = {
      planId,
      record,
      planned,
      startedMs: Date.now(),
      done: promise,
      status: 'IN_PROGRESS',
    }
    this.#plans.set(planId, plan)
    void this.#make(plan).finally(resolve)
    return plan
  }

  /** Never rejects. */
  async #make(plan: Kept): Promise<void> {
    const { mover, resolve, spillFolder, log } = this.#dependencies
    const { record, planned } = plan
    try {
      const spec = await resolve(record)
      await planAll(mover, spec, {
        by: await this.#by(record),
        planned,
        spillFolder,
        signal: this.#closing.signal,
      })
      const space = await this.#spaceOf(record, spec)
      if (space !== undefined) plan.space = space
      plan.status = 'COMPLETE'
    } catch (error) {
      plan.status = 'CANCELLED'
      plan.message = error instanceof Error ? error.message : String(error)
      if (!this.#closing.signal.aborted)
        log.error({ err: error, migration: record.migrationId }, 'A plan failed.')
    }
  }

  /** Undefined where the target does not tell, or not in time; the plan is of use without. */
  async #spaceOf({ target }: MigrationRecord, spec: MoveSpec): Promise<Space | undefined> {
    const driver = await openDriver(spec.target, 'target', this.#dependencies.bounds)
    try {
      const opened = openSpec(spec)
      const folder = targetPath({ spec: opened }, opened.root)
      const late = delay(spaceMs, undefined, { ref: false })
      const freeBytes = await Promise.race([driver.freeBytes?.(folder), late])
      if (freeBytes === undefined) return undefined
      return { where: driver.hostFolder ?? target, freeBytes }
    } catch (err) {
      this.#dependencies.log.debug({ err, target }, 'The free space of a target is not known.')
      return undefined
    } finally {
      await driver.close()
    }
  }

  async #by(record: MigrationRecord): Promise<PlanBy> {
    if (record.kind !== 'live') return { as: record.targetMatch === undefined ? 'scan' : 'match' }
    // What it finds with its first scan is not its own.
    if (record.started === undefined) return { as: 'scan' }
    const told = await toldNamesOf(this.#dependencies.connection, record)
    return { as: 'comparison', told: told.pack() }
  }

  #view(plan: Kept): Plan {
    const { record, planned } = plan
    const isHeld =
      record.kind === 'live'
        ? deletionsIn(planned.counts) > this.#dependencies.guards.left(record)
        : needsApproval(record, planned.counts)
    return view(plan, isHeld)
  }

  #forgetOld(): void {
    const ended = [...this.#plans.values()].filter(({ status }) => status !== 'IN_PROGRESS')
    const tooMany = ended.length - maxKept
    for (const [index, { planId, startedMs }] of ended.entries()) {
      if (index < tooMany || startedMs < Date.now() - keptMs) this.#plans.delete(planId)
    }
  }
}

/** What is replaced goes when its successor is there; of that nobody knows how much it frees. */
function spaceView(space: Space | undefined, { bytesToCopy }: PlanCounts): Partial<Plan> {
  if (space === undefined) return {}
  const { where, freeBytes: targetFreeBytes } = space
  if (bytesToCopy <= targetFreeBytes) return { targetFreeBytes }
  const warning = `needs ${sizeText(bytesToCopy)}, but ${where} has ${sizeText(targetFreeBytes)} free`
  return { targetFreeBytes, warning: shortened(warning, maxTextLength) }
}

function view(
  { planId, record, planned, status, message, startedMs, space }: Kept,
  deletionsNeedApproval: boolean,
): Plan {
  return {
    planId,
    migrationId: record.migrationId,
    internalId: record.internalId,
    status,
    ...(message === undefined ? {} : { message }),
    startedAt: new Date(startedMs).toISOString(),
    ...planned.counts,
    excludedByRule: planned.excludedBy(record.exclusions ?? []),
    deletionsNeedApproval,
    ...spaceView(space, planned.counts),
    samples: planned.samples,
  }
}

/** Names that a plan takes into account, some 100 bytes each in every thread. An item has up to some hundred. */
const maxTold = 100_000

/** Names in the queue of a live migration whose changes wait: while it is stopped, those of removals that are held. */
async function toldNamesOf(connection: NatsConnection, record: MigrationRecord): Promise<ToldNames> {
  const told = new ToldNames()
  const queue = await QueueReader.open(connection, workIdOf(record))
  for await (const { data } of queue.items()) {
    const item = decodeItem(data)
    if (item.kind !== 'reconcile') continue
    for (const { folder, names, trees } of item.groups) {
      for (const name of names) told.add(joinPath(folder, name), 'name')
      for (const name of trees) told.add(joinPath(folder, name), 'tree')
    }
    if (told.size >= maxTold) break
  }
  return told
}
