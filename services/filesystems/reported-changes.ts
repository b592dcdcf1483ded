import type { NatsConnection } from '../../broker/rpc/connection.ts'
import { RollingLog } from '../../broker/state/rolling-log.ts'
import type { Report } from '../../subjects/filesystems/filesystems.ts'
import type { filesystemsInternal } from '../../subjects/filesystems/internal.ts'
import type { Output } from '../../subjects/kit/contract.ts'
import { roots, subjectToken } from '../../subjects/kit/names.ts'

/** Share of the platform's storage: when it is full the oldest go, and who had not read them compares everything. */
const storageShare = 20
/** A migration that was stopped for longer compares everything when it goes on. */
const maxAgeMs = 7 * 24 * 3_600_000

type Reported = Output<(typeof filesystemsInternal)['reported-changes']>

/** What others have said has changed in sources, for a while. */
export class ReportedChanges {
  readonly #reports: RollingLog<Report>

  private constructor(reports: RollingLog<Report>) {
    this.#reports = reports
  }

  static async open(connection: NatsConnection, maxFileBytes: number): Promise<ReportedChanges> {
    const maxBytes = Math.floor(maxFileBytes / storageShare)
    const options = { name: 'REPORTED_CHANGES', root: roots.reported, maxBytes, maxAgeMs }
    return new ReportedChanges(await RollingLog.open<Report>(connection, options))
  }

  /** Resolves when it is stored. @throws GantryError STORAGE_FULL */
  add(fileSystemId: string, report: Report): Promise<void> {
    return this.#reports.append(subjectToken(fileSystemId), report)
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
