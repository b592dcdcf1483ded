import { notAccepted } from '../../../subjects/kit/errors.ts'
import type { Handlers } from '../../../subjects/kit/contract.ts'
import type { failureContracts } from '../../../subjects/migrations/failures.ts'
import type { migrations } from '../../../subjects/migrations/migrations.ts'
import { tablePart } from '../../../subjects/kit/table.ts'
import type { Collection } from '../../../broker/state/collection.ts'
import {
  type FailedPath,
  failedPath,
  type FailureLedger,
  type RecordedFailure,
} from '../failures/failures.ts'
import type { LedgerEntry } from '../../../broker/state/ledger.ts'
import type { RuleBook } from '../rules/book.ts'
import { excludedFailures } from '../failures/excluded-failures.ts'
import type { Figures } from '../reporting/figures.ts'
import { type MigrationRecord, workIdOf } from '../lifecycle/record.ts'
import { withRegionIn } from '../execution/regions.ts'
import { countRetries } from '../failures/retries.ts'
import { requireNext } from '../lifecycle/states.ts'
import { command } from '../lifecycle/transition.ts'

export interface FailureDependencies {
  readonly records: Collection<typeof MigrationRecord>
  readonly look: () => Promise<void>
  readonly failures: FailureLedger
  readonly figures: Pick<Figures, 'record'>
  readonly rules: Pick<RuleBook, 'known'>
}

type FailureHandlers = Pick<Handlers<typeof migrations>, keyof typeof failureContracts>

/** Longest page of failures unless the caller asks for more. */
const defaultFailures = 1_000
/** Entries read for a part of an export; a part ends sooner where their paths are long. */
const exportedAtOnce = 2_000
/** Somebody waits for the page: of a long one with costly patterns, the first paths are judged. */
const patienceMs = 2_000

const columns = [
  'id',
  'path',
  'failureClass',
  'failureMessage',
  'attempts',
  'dateFailed',
  'action',
  'excluded',
] as const satisfies (keyof FailedPath)[]

export function failureHandlers({
  records,
  failures,
  figures,
  rules,
  look,
}: FailureDependencies): FailureHandlers {
  /** Marks those that the rules of the migration exclude by now. */
  const marked = async (record: MigrationRecord, page: readonly LedgerEntry<RecordedFailure>[]) => {
    const excluded = await excludedFailures(await rules.known(record), record, patienceMs)(page)
    return page.map((one) => ({
      sequence: one.sequence,
      row: { ...failedPath(one), ...(excluded.has(one.sequence) ? { excluded: true } : {}) },
    }))
  }
  return {
    failures: async ({ migrationId, since, after, limit = defaultFailures }) => {
      const record = await figures.record(migrationId)
      const workId = workIdOf(record)
      const sinceMs = since === undefined ? 0 : Date.parse(since)
      if (Number.isNaN(sinceMs)) throw notAccepted('since', 'must be a time such as 2026-01-31T12:00:00Z')
      const page = await failures.page(workId, { limit, ...(after === undefined ? {} : { after }) })
      return {
        migrationId,
        internalId: record.internalId,
        failedPathCount: await failures.count(workId),
        failedPaths: (
          await marked(
            record,
            page.filter(({ entry }) => entry.timeMs > sinceMs),
          )
        ).map(({ row }) => row),
      }
    },
    'retry-failures': async ({ migrationId, failureClass }) => {
      const record = await figures.record(migrationId)
      requireNext(migrationId, record, 'rescan', 'retry-failures')
      const excluded = excludedFailures(await rules.known(record), record)
      const { count, upTo } = await countRetries(failures, workIdOf(record), failureClass, excluded)
      if (count === 0) return { retried: 0 }
      const retry = { upTo, ...(failureClass === undefined ? {} : { failureClass }) }
      const now = new Date()
      await command(records, migrationId, 'rescan', (current) =>
        withRegionIn(current, { path: record.path, failures: retry }, now),
      )
      await look()
      return { retried: count }
    },
    'export-failures': async ({ migrationId, format = 'csv', from = 0 }) => {
      const record = await figures.record(migrationId)
      const page = await failures.page(workIdOf(record), { after: from, limit: exportedAtOnce })
      return tablePart(await marked(record, page), {
        name: `${migrationId}-failures`,
        columns,
        format,
        from,
        asked: exportedAtOnce,
      })
    },
  }
}
