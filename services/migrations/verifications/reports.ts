import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs'
import { type FileHandle, open, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { maxPartLength, type Part } from '../../../subjects/download.ts'
import {
  type VerificationReport,
  verificationReportNames,
  verificationReports,
} from '../../../subjects/verification-terms.ts'
import { csvHead } from '../engine/walk/compare.ts'

/** A report as it is on disk. */
export interface ReportFile {
  readonly type: VerificationReport
  readonly sizeBytes: number
  readonly createdMs: number
  /** CRC-32. */
  readonly checksum: number
}

export interface ReportLimits {
  /** Largest file of a report; what comes after it is counted. */
  readonly maxFileBytes: number
  /** All reports of verifications that have ended; the oldest go first. */
  readonly maxBytes: number
}

/** A file of the largest has some two million paths; together they are what a disk of the platform can spare. */
export const reportLimits: ReportLimits = { maxFileBytes: 512 * 2 ** 20, maxBytes: 4 * 2 ** 30 }

/** Reports that are written while folders are compared; the summary is written at the end. */
const written = verificationReportNames.filter((name) => name !== 'SUMMARY')

/**
 * The reports of verifications, in a folder for each below the platform's own. Not in the broker: its storage is what the
 * work of all migrations needs, and a report has a line for each path. Lost with the disk is only what can be made again.
 */
export class ReportStore {
  readonly #folder: string
  readonly #limits: ReportLimits

  constructor(folder: string, limits = reportLimits) {
    this.#folder = folder
    this.#limits = limits
  }

  /** Begins the reports of a verification, in place of what is there of it. */
  async write(id: string): Promise<ReportWriter> {
    const folder = this.#of(id)
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    return ReportWriter.open(folder, this.#limits.maxFileBytes)
  }

  /** One part of a report, of whole lines; undefined when there is no such report. */
  async read(id: string, name: VerificationReport, from: number): Promise<Part | undefined> {
    const { file, type } = verificationReports[name]
    const path = join(this.#of(id), file)
    if (!existsSync(path)) return undefined
    await using handle = await open(path)
    const buffer = Buffer.allocUnsafe(maxPartLength)
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, from)
    const end = bytesRead < buffer.length ? bytesRead : buffer.lastIndexOf('\n') + 1
    const content = buffer.toString('utf8', 0, end)
    return {
      name: `${id}-${file}`,
      type,
      content,
      ...(bytesRead < buffer.length ? {} : { next: from + end }),
    }
  }

  remove(id: string): void {
    rmSync(this.#of(id), { recursive: true, force: true })
  }

  /** Ids of the verifications that have reports here. */
  ids(): string[] {
    return existsSync(this.#folder) ? readdirSync(this.#folder) : []
  }

  /**
   * Removes the reports that there is no room for.
   * @param ended ids of verifications that have ended, the oldest first
   * @returns those whose reports were removed
   */
  makeRoom(ended: readonly string[]): string[] {
    const sizes = ended.map((id) => ({ id, bytes: this.#bytesOf(id) }))
    let bytes = sizes.reduce((sum, one) => sum + one.bytes, 0)
    const removed: string[] = []
    for (const one of sizes) {
      if (bytes <= this.#limits.maxBytes) break
      this.remove(one.id)
      bytes -= one.bytes
      removed.push(one.id)
    }
    return removed
  }

  #of(id: string): string {
    return join(this.#folder, id)
  }

  #bytesOf(id: string): number {
    const folder = this.#of(id)
    if (!existsSync(folder)) return 0
    return readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)
  }
}

interface OpenReport {
  readonly type: VerificationReport
  readonly handle: FileHandle
  sizeBytes: number
  checksum: number
  isFull: boolean
}

/** Reports of one verification that are being written. */
export class ReportWriter {
  readonly #folder: string
  readonly #reports: readonly OpenReport[]
  readonly #maxFileBytes: number
  /** Paths that the full report has no room for. */
  leftOut = 0

  private constructor(folder: string, reports: readonly OpenReport[], maxFileBytes: number) {
    this.#folder = folder
    this.#reports = reports
    this.#maxFileBytes = maxFileBytes
  }

  static async open(folder: string, maxFileBytes: number): Promise<ReportWriter> {
    const reports = await Promise.all(
      written.map(async (type) => ({
        type,
        handle: await open(join(folder, verificationReports[type].file), 'w', 0o600),
        sizeBytes: 0,
        checksum: 0,
        isFull: false,
      })),
    )
    const writer = new ReportWriter(folder, reports, maxFileBytes)
    await writer.append({ [verificationReports.DISCREPANCIES_CSV.file]: csvHead })
    return writer
  }

  /** @param lines whole lines by the file of the report */
  async append(lines: Readonly<Record<string, string>>): Promise<void> {
    for (const report of this.#reports) {
      const text = lines[verificationReports[report.type].file]
      if (text === undefined) continue
      const bytes = Buffer.from(text)
      // Once it is full nothing more goes in: a report that goes on after a gap says something else than it shows.
      report.isFull ||= report.sizeBytes + bytes.length > this.#maxFileBytes
      if (report.isFull) {
        if (report.type === 'FULL') this.leftOut += text.split('\n').length - 1
        continue
      }
      await report.handle.appendFile(bytes)
      report.sizeBytes += bytes.length
      report.checksum = crc32(bytes, report.checksum)
    }
  }

  /** Ends the reports. */
  async close(): Promise<ReportFile[]> {
    await Promise.all(this.#reports.map(({ handle }) => handle.close()))
    const createdMs = Date.now()
    return this.#reports.map(({ type, sizeBytes, checksum }) => ({ type, sizeBytes, createdMs, checksum }))
  }

  /** Adds the report that tells of all, once the others are closed. */
  async summarise(summary: object): Promise<ReportFile> {
    const text = Buffer.from(`${JSON.stringify(summary, undefined, 2)}\n`)
    await writeFile(join(this.#folder, verificationReports.SUMMARY.file), text, { mode: 0o600 })
    return { type: 'SUMMARY', sizeBytes: text.length, createdMs: Date.now(), checksum: crc32(text) }
  }
}
