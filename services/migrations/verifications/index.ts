import type { Collection } from '../../../broker/collection.ts'
import type { Handlers } from '../../../subjects/contract.ts'
import { GantryError } from '../../../subjects/errors.ts'
import { maxPageLength } from '../../../subjects/schemas.ts'
import { verificationReports } from '../../../subjects/verification-terms.ts'
import type { verifications } from '../../../subjects/verifications.ts'
import type { MigrationRecord } from '../record.ts'
import { pathsWithin } from './paths.ts'
import { byAge, hasEnded, publicVerification, type VerificationRecord } from './record.ts'
import type { ReportStore } from './reports.ts'
import type { Verifier } from './verifier.ts'

export interface VerificationDependencies {
  readonly records: Collection<typeof VerificationRecord>
  readonly reports: ReportStore
  readonly verifier: Pick<Verifier, 'cancel' | 'countsOf' | 'wake'>
  /** @throws GantryError NOT_FOUND */
  readonly findMigration: (migrationId: string) => Promise<MigrationRecord>
}

/** So many are kept; the oldest that has ended goes first. A page of the list holds them all. */
const maxKept = maxPageLength

export function verificationHandlers(dependencies: VerificationDependencies): Handlers<typeof verifications> {
  const { records, reports, verifier, findMigration } = dependencies

  const find = async (id: string): Promise<VerificationRecord> => {
    const record = await records.get(id)
    if (record === undefined) throw new GantryError('NOT_FOUND', `there is no verification ${id}`)
    return record
  }
  const view = (record: VerificationRecord) => publicVerification(record, verifier.countsOf(record.id))
  const all = () => records.list({ limit: Number.POSITIVE_INFINITY })
  const forget = async (id: string) => {
    await records.delete(id, requireEnded)
    reports.remove(id)
  }
  const forgetOldest = async () => {
    const known = await all()
    const tooMany = Math.max(0, known.length - maxKept + 1)
    for (const { id } of known.filter(hasEnded).toSorted(byAge).slice(0, tooMany)) await forget(id)
  }

  return {
    create: async (input) => {
      const {
        migrationId,
        originalPaths = [],
        verificationDepth,
        ignoreAfterTimestamp,
        level = 'size',
      } = input
      const { internalId, path } = await findMigration(migrationId)
      const paths = pathsWithin(path, originalPaths)
      await forgetOldest()
      const record: VerificationRecord = {
        id: crypto.randomUUID(),
        migrationId,
        internalId,
        status: 'QUEUED',
        level,
        created: new Date().toISOString(),
        paths,
        originalPaths,
        ...(verificationDepth === undefined ? {} : { depth: verificationDepth }),
        ...(ignoreAfterTimestamp === undefined ? {} : { ignoreAfterMs: ignoreAfterTimestamp }),
      }
      await records.create(record.id, record)
      verifier.wake()
      return view(record)
    },
    list: async ({ migrationId, migrationIds, states, after, limit = maxPageLength }) => {
      const newestFirst = (await all()).toSorted(byAge).toReversed()
      const start = after === undefined ? 0 : newestFirst.findIndex(({ id }) => id === after) + 1
      return newestFirst
        .slice(start)
        .filter((record) => migrationId === undefined || record.migrationId === migrationId)
        .filter((record) => migrationIds === undefined || migrationIds.includes(record.migrationId))
        .filter((record) => states === undefined || states.includes(record.status))
        .slice(0, limit)
        .map(view)
    },
    get: async ({ verificationId }) => {
      // Its figures first: they are forgotten when it ends, and then its record has them.
      const counts = verifier.countsOf(verificationId)
      return publicVerification(await find(verificationId), counts)
    },
    cancel: async ({ verificationId }) => {
      const record = await find(verificationId)
      if (hasEnded(record)) {
        throw new GantryError('NOT_ALLOWED_IN_STATE', `${verificationId} is ${record.status}: it has ended`)
      }
      await records.update(verificationId, (current) =>
        current.status === 'QUEUED'
          ? { ...current, status: 'CANCELLED', finished: new Date().toISOString() }
          : undefined,
      )
      await verifier.cancel(verificationId)
      return view(await find(verificationId))
    },
    delete: async ({ verificationId }) => {
      await find(verificationId)
      await forget(verificationId)
      return {}
    },
    reports: async ({ verificationId }) => {
      const { reports: files = [] } = await find(verificationId)
      return files.map(({ type, sizeBytes, createdMs, checksum }) => ({
        descriptor: { name: type, type, fileSuffix: suffixOf(verificationReports[type].file) },
        size: sizeBytes,
        created: createdMs,
        checksum,
      }))
    },
    report: async ({ verificationId, reportId = 'DISCREPANCIES_CSV', from = 0 }) => {
      const record = await find(verificationId)
      requireEnded(record)
      const part = await reports.read(verificationId, reportId, from)
      if (part !== undefined) return part
      throw new GantryError(
        'NOT_FOUND',
        `the reports of ${verificationId} are gone: there was no more room for them, or it was cancelled before it began`,
      )
    },
  }
}

function requireEnded(record: VerificationRecord): void {
  if (hasEnded(record)) return
  const { id, status } = record
  throw new GantryError('NOT_ALLOWED_IN_STATE', `${id} is ${status}: wait for its end, or cancel it first`)
}

const suffixOf = (file: string): string => file.slice(file.lastIndexOf('.'))
