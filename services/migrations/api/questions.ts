import type { Handlers } from '../../../subjects/kit/contract.ts'
import { GantryError } from '../../../subjects/kit/errors.ts'
import type { migrations } from '../../../subjects/migrations/migrations.ts'
import { maxPageLength } from '../../../subjects/kit/schemas.ts'
import { pathFromText, textFromPath } from '../../drivers/paths/path-text.ts'
import { targetPath } from '../../engine/run/mappings.ts'
import { isWithin } from '../../engine/items/paths.ts'
import { Rules } from '../../engine/run/rules.ts'
import type { Figures } from '../reporting/figures.ts'
import type { MigrationDependencies } from './dependencies.ts'
import { engineMappings, leading } from '../rules/mappings/frozen.ts'
import type { MigrationRecord } from '../lifecycle/record.ts'
import { statsNow } from '../reporting/stats/stats-now.ts'
import { progressOf } from '../reporting/view.ts'
import { countActions, oldestWork } from '../reporting/waiting.ts'

type Verb =
  | 'list'
  | 'get'
  | 'progress'
  | 'states'
  | 'stats'
  | 'summary'
  | 'pending-regions'
  | 'path-status'
  | 'oldest-work'
  | 'oldest-work-all'

/** Of each migration in a list: a page of them fits into a message. */
const listedIterations = 1

/** Of the progress in a summary: it has to fit into a message of 8 MiB, with the figures of a page of migrations. */
const maxSummaryBytes = 6 * 1024 * 1024

/** What people want to know of migrations. */
export function questionHandlers(
  { connection, records, rules, stats }: MigrationDependencies,
  figures: Figures,
): Pick<Handlers<typeof migrations>, Verb> {
  return {
    list: async ({ limit = maxPageLength, after, fileSystemId, internalId, migrationIds }) => {
      const wanted = migrationIds && new Set(migrationIds)
      return figures.views(
        await figures.page({
          after,
          limit,
          where: (record) =>
            (wanted === undefined || wanted.has(record.migrationId)) &&
            (fileSystemId === undefined ||
              record.source === fileSystemId ||
              record.target === fileSystemId) &&
            (internalId === undefined || record.internalId === internalId),
        }),
        listedIterations,
      )
    },
    get: ({ migrationId }) => figures.view(migrationId),
    progress: async ({ migrationId }) => {
      return progressOf(await figures.one(migrationId))
    },
    states: async ({ migrationId }) => (await figures.record(migrationId)).states ?? [],
    stats: () => stats.read(),
    summary: async () => {
      const all = await figures.all()
      let left = maxSummaryBytes
      const inStates = (...states: MigrationRecord['state'][]) => {
        const chosen = all.filter(({ record }) => states.includes(record.state))
        const infos: ReturnType<typeof progressOf>[] = []
        for (const one of chosen.slice(0, maxPageLength)) {
          const info = progressOf(one)
          left -= Buffer.byteLength(JSON.stringify(info))
          if (left < 0) break
          infos.push(info)
        }
        return { migrations: infos, count: chosen.length }
      }
      return {
        overallCount: all.length,
        // In the order in which they get the room that there is.
        running: inStates('SCHEDULED', 'RUNNING', 'STOPPING'),
        live: inStates('LIVE'),
        recurrenceScheduled: inStates('RECURRENCE_SCHEDULED'),
        waitingForNextRecurrence: inStates('WAITING_FOR_NEXT_RECURRENCE'),
        stopped: inStates('STOPPED'),
        ready: inStates('NONSCHEDULED'),
        completed: inStates('COMPLETED'),
        migrationStats: all.slice(0, maxPageLength).map(statsNow),
      }
    },
    'pending-regions': async ({ migrationId }) => {
      const { pendingRegions, policy: usual } = await figures.record(migrationId)
      const folders = pendingRegions.filter(({ failures }) => failures === undefined)
      return folders.map(({ id, path, policy, created }) => ({
        pendingRegionId: id,
        path,
        actionPolicy: policy ?? usual,
        dateCreated: created,
      }))
    },
    'path-status': async ({ path: given, sourceId }) => {
      const path = pathFromText(given)
      const all = await records.all()
      const [record] = all
        .filter(({ source, path: root }) => source === sourceId && isWithin(pathFromText(root), path))
        .toSorted((one, other) => other.path.length - one.path.length)
      const sourcePath = textFromPath(path)
      if (record === undefined) {
        throw new GantryError('NOT_FOUND', `no migration of ${sourceId} includes ${sourcePath}`)
      }
      const actionCount = await countActions(connection, record, path)
      const mapping = leading(record, path)
      const exclusionId = new Rules(await rules.known(record)).excluding(path, pathFromText(record.path))
      return {
        migrationId: record.migrationId,
        sourcePath,
        targetPath: textFromPath(targetPath({ spec: { mappings: engineMappings(record) } }, path)),
        ...(mapping === undefined ? {} : { pathMappingId: mapping.id }),
        ...(exclusionId === undefined ? {} : { exclusionId }),
        inPendingRegion: record.pendingRegions.some((region) => isWithin(pathFromText(region.path), path)),
        scheduled: actionCount > 0,
        actionCount,
      }
    },
    'oldest-work': async ({ migrationId }) => oldestWork(connection, await figures.record(migrationId)),
    'oldest-work-all': async (page) => {
      const all = await records.list(page)
      return Promise.all(all.map((record) => oldestWork(connection, record)))
    },
  }
}
