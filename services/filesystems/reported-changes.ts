import type { NatsConnection } from '../../broker/rpc/connection.ts'
import { OwnerDays } from '../../broker/rpc/owner-days.ts'
import type { Allowance } from '../../broker/rpc/owners.ts'
import { RollingLog } from '../../broker/state/rolling-log.ts'
import type { Report } from '../../subjects/filesystems/filesystems.ts'
import type { filesystemsInternal } from '../../subjects/filesystems/internal.ts'
import type { Output } from '../../subjects/kit/contract.ts'
import { roots, subjectToken } from '../../subjects/kit/names.ts'

/** Share of the platform's storage: when it is full the oldest go, and who had not read them compares everything. */
const storageShare = 20
/** A migration that was stopped for longer compares everything when it goes on. */
const maxAgeMs = 7 * 24 * 3_600_000
/** What a report takes beside its text, so that empty ones are not free: its subject, headers and place in the stream. */
const perReportBytes = 256

type Reported = Output<(typeof filesystemsInternal)['reported-changes']>

/** What others have said has changed in sources, for a while. */
export class ReportedChanges {
  readonly #reports: RollingLog<Report>
  readonly #daily = new OwnerDays({
    limit: 'maxReportedMib',
    unit: 2 ** 20,
    problem: (owner, most) => `${owner} has reported ${most} MiB of changes within a day, which is the limit`,
    fix: 'report folders with `tree` instead of their contents (/ for everything)',
  })

  private constructor(reports: RollingLog<Report>) {
    this.#reports = reports
  }

  static async open(connection: NatsConnection, maxFileBytes: number): Promise<ReportedChanges> {
    const maxBytes = Math.floor(maxFileBytes / storageShare)
    const options = { name: 'REPORTED_CHANGES', root: roots.reported, maxBytes, maxAgeMs }
    return new ReportedChanges(await RollingLog.open<Report>(connection, options))
  }

  /** Resolves when it is stored. @param by who reports; nobody is held to a limit without @throws GantryError LIMIT_REACHED, STORAGE_FULL */
  async add(fileSystemId: string, report: Report, by?: Allowance): Promise<void> {
    if (by !== undefined) this.#daily.charge(by, perReportBytes + Buffer.byteLength(JSON.stringify(report)))
    await this.#reports.append(subjectToken(fileSystemId), report)
  }

  /** When something was reported of a filesystem last, in milliseconds since 1970; undefined where that is too long ago. */
  lastMs(fileSystemId: string): Promise<number | undefined> {
    return this.#reports.lastMs(subjectToken(fileSystemId))
  }

  /** What was reported of a filesystem after a position. */
  async after(fileSystemId: string, position: string | undefined): Promise<Reported> {
    const { entries, ...followed } = await this.#reports.after(subjectToken(fileSystemId), position)
    const reports = entries.map(({ entry, at, storedMs }) => ({ ...entry, at, reportedAt: storedMs }))
    return { ...followed, reports }
  }
}
