import { randomUUID } from 'node:crypto'
import type { Owned, Owners } from '../../../broker/rpc/owners.ts'
import type { Collection } from '../../../broker/state/collection.ts'
import { emission } from '../../../broker/state/events.ts'
import type { Handlers } from '../../../subjects/kit/contract.ts'
import { GantryError, notAccepted } from '../../../subjects/kit/errors.ts'
import { product } from '../../../subjects/kit/names.ts'
import { maxPageLength } from '../../../subjects/kit/schemas.ts'
import {
  defaultMaxDropPercent,
  defaultMaxDrops,
  type MetadataMigration,
  metadataMigrationEvents,
  type metadataMigrations,
  type MetadataObject,
} from '../../../subjects/metadata/migrations.ts'
import { eraseObjects } from '../migrations/book.ts'
import { dropHiddenTables, type HiddenDependencies } from '../migrations/drop-hidden.ts'
import {
  factOf,
  type MetadataMigrationRecord,
  type ObjectRecord,
  type ProgressRecord,
  publicMigration,
  type RuleRecord,
} from '../migrations/record.ts'
import { next, requireNext } from '../migrations/states.ts'
import { command } from '../migrations/transition.ts'
import { requireSpoken } from './kept-only.ts'
import type { CatalogRecord } from './record.ts'

export interface MigrationDependencies extends HiddenDependencies {
  readonly owners: Owners
  readonly catalogs: Collection<typeof CatalogRecord>
  readonly rules: Collection<typeof RuleRecord>
  readonly records: Collection<typeof MetadataMigrationRecord>
  readonly progress: Collection<typeof ProgressRecord>
}

/** What every start asks for: everything is compared. */
const comparedAgain = (current: MetadataMigrationRecord): MetadataMigrationRecord => {
  const { position: _position, completed: _completed, reason: _reason, ...rest } = current
  return { ...rest, wanted: current.wanted + 1 }
}

const started = (current: MetadataMigrationRecord): MetadataMigrationRecord => ({
  ...comparedAgain(current),
  started: new Date().toISOString(),
})

export function migrationHandlers(dependencies: MigrationDependencies): Handlers<typeof metadataMigrations> {
  const { owners, catalogs, rules, records, objects, progress } = dependencies
  const find = async (migrationName: string): Promise<MetadataMigrationRecord> => {
    const record = await records.get(migrationName)
    if (record === undefined)
      throw new GantryError('NOT_FOUND', `there is no metadata migration ${migrationName}`)
    return record
  }
  const shown = async (record: MetadataMigrationRecord) =>
    publicMigration(record, await progress.get(record.internalId))
  const requireCatalogs = async (ids: Readonly<Record<string, string>>): Promise<void> => {
    for (const [field, catalogId] of Object.entries(ids)) {
      const found = await catalogs.get(catalogId)
      if (found === undefined)
        throw new GantryError('NOT_FOUND', `${field}: there is no catalog ${catalogId}`)
      requireSpoken(found.kind, catalogId, field)
    }
  }
  const requireRules = async (names: readonly string[]): Promise<void> => {
    for (const ruleName of names)
      if ((await rules.get(ruleName)) === undefined)
        throw new GantryError('NOT_FOUND', `ruleNames: there is no rule ${ruleName}`)
  }
  const owned: Owned = {
    limit: 'maxMetadataMigrations',
    what: 'metadata migrations',
    fix: `delete some with "${product} metadata-migrations delete"`,
    count: (owner) => records.sizeOfGroup(owner),
  }
  const forgetWork = async (record: MetadataMigrationRecord): Promise<void> => {
    const { internalId } = record
    await dropHiddenTables(dependencies, record)
    await eraseObjects(objects, internalId)
    await progress.erase(internalId)
  }
  /** Does what somebody asks for. */
  const commanded = async (
    migrationName: string,
    trigger: 'start' | 'pause' | 'resume' | 'stop',
    change: (current: MetadataMigrationRecord) => MetadataMigrationRecord = (current) => current,
  ): Promise<MetadataMigration> => {
    await find(migrationName)
    return shown(await command(records, migrationName, trigger, change))
  }
  const commands = {
    start: (name: string, once?: boolean) =>
      commanded(name, 'start', (current) => ({
        ...started(current),
        ...(once !== undefined && { once }),
      })),
    pause: (name: string) => commanded(name, 'pause'),
    resume: (name: string) => commanded(name, 'resume'),
    stop: (name: string) => commanded(name, 'stop'),
  }
  const stopIfAsked = async (migrationName: string, forceStop: boolean): Promise<void> => {
    const { state } = await find(migrationName)
    if (forceStop && next(state, 'stop') !== undefined) await commands.stop(migrationName)
  }
  const toAll = async (trigger: keyof typeof commands, once?: boolean) => {
    const outcomes: {
      migrationName: string
      done: boolean
      state: MetadataMigrationRecord['state']
      reason?: string
    }[] = []
    for (const { migrationName, state } of await records.all()) {
      if (next(state, trigger) === undefined) continue
      try {
        const { state: now } = await commands[trigger](migrationName, once)
        outcomes.push({ migrationName, done: true, state: now })
      } catch (error) {
        if (!(error instanceof GantryError)) throw error
        outcomes.push({ migrationName, done: false, state, reason: error.message })
      }
    }
    return outcomes.slice(0, maxPageLength)
  }
  return {
    create: async (
      {
        autoStart = false,
        once = false,
        onConflict = 'report',
        maxDrops = defaultMaxDrops,
        maxDropPercent = defaultMaxDropPercent,
        ...input
      },
      { caller },
    ) => {
      const { migrationName, source, target } = input
      if (source === target) throw notAccepted('target', 'is also the source: choose another catalog')
      await requireCatalogs({ source, target })
      await requireRules(input.ruleNames)
      const record: MetadataMigrationRecord = {
        ...input,
        internalId: randomUUID(),
        once,
        onConflict,
        maxDrops,
        maxDropPercent,
        state: 'CREATED',
        created: new Date().toISOString(),
        wanted: 0,
        done: 0,
        inHand: [],
      }
      await owners.make(await owners.allowanceOf(caller), owned, (owner) =>
        records.create(migrationName, { ...record, ...(owner !== undefined && { owner }) }, [
          emission(metadataMigrationEvents.created, migrationName, factOf(record)),
        ]),
      )
      return autoStart ? commands.start(migrationName) : shown(record)
    },
    update: async ({ migrationName, ...changes }) => {
      await find(migrationName)
      if (changes.ruleNames !== undefined) await requireRules(changes.ruleNames)
      const record = await records.update(
        migrationName,
        (current) => ({ ...current, ...changes, wanted: current.wanted + 1 }),
        (changed) => [emission(metadataMigrationEvents.updated, migrationName, factOf(changed))],
      )
      return shown(record)
    },
    list: async ({ limit = maxPageLength, after }) =>
      Promise.all((await records.list({ limit, after })).map(shown)),
    get: async ({ migrationName }) => shown(await find(migrationName)),
    objects: async ({ migrationName, state, limit = maxPageLength, after }) => {
      const { internalId } = await find(migrationName)
      const page = await objects.listGroup(internalId, {
        limit,
        ...(after !== undefined && { after: `${internalId}/${after}` }),
        where: (one) => state === undefined || one.state === state,
      })
      return page.map(publicObject)
    },
    start: ({ migrationName, once }) => commands.start(migrationName, once),
    pause: ({ migrationName }) => commands.pause(migrationName),
    resume: ({ migrationName }) => commands.resume(migrationName),
    stop: ({ migrationName }) => commands.stop(migrationName),
    reset: async ({ migrationName, forceStop = false }) => {
      await stopIfAsked(migrationName, forceStop)
      let before = await find(migrationName)
      const record = await command(records, migrationName, 'reset', (current) => {
        before = current
        const { compared: _c, started: _s, drops: _d, approvedDrops: _a, ...rest } = comparedAgain(current)
        // What is known of its objects goes with the old id, whoever may still be writing it.
        return { ...rest, internalId: randomUUID(), inHand: [] }
      })
      await forgetWork(before)
      return shown(record)
    },
    'approve-drops': async ({ migrationName }) => {
      const { internalId, state } = await find(migrationName)
      const held = await objects.listGroup(internalId, { where: (one) => one.state === 'held' })
      if (held.length === 0)
        throw new GantryError('NOT_ALLOWED_IN_STATE', `no drops of ${migrationName} wait for approval`, {
          details: { state },
        })
      const record = await records.update(migrationName, (current) => ({
        ...current,
        approvedDrops: held.length,
        wanted: current.wanted + 1,
      }))
      return shown(record)
    },
    'start-all': ({ once }) => toAll('start', once),
    'pause-all': () => toAll('pause'),
    'resume-all': () => toAll('resume'),
    'stop-all': () => toAll('stop'),
    delete: async ({ migrationName, forceStop = false }) => {
      await stopIfAsked(migrationName, forceStop)
      const last = await records.delete(
        migrationName,
        ({ state }) => void requireNext(migrationName, state, 'delete'),
        (record) => [emission(metadataMigrationEvents.deleted, migrationName, factOf(record))],
      )
      await forgetWork(last)
      return {}
    },
  }
}

function publicObject(record: ObjectRecord): MetadataObject {
  const { kind, database, name, state, failureClass, message, partitions, time } = record
  return {
    kind,
    database,
    ...(name !== undefined && { name }),
    state,
    ...(failureClass !== undefined && { failureClass }),
    ...(message !== undefined && { message }),
    ...(partitions !== undefined && { partitions }),
    time,
  }
}
