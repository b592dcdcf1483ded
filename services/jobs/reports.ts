import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { type FileHandle, open, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { maxPartLength, type Part } from '../../subjects/kit/download.ts'
import { archivePart, type Member } from './report-archive.ts'

/** One of the reports of a job. */
interface ReportKind {
  readonly file: string
  /** Media type. */
  readonly type: string
  /** What stands in it before anything is found. */
  readonly head?: string
}

/** The reports of a job by their names: FULL has all lines, and what is left out of it is counted; SUMMARY is made at the end. */
export type ReportKinds<N extends string> = Readonly<Record<N | 'FULL' | 'SUMMARY', ReportKind>>

/** A report as it is on disk. */
export interface ReportFile<N extends string = string> {
  readonly type: N | 'FULL' | 'SUMMARY'
  readonly sizeBytes: number
  readonly createdMs: number
  /** CRC-32. */
  readonly checksum: number
}

export interface ReportLimits {
  /** Largest file of a report; what comes after it is counted. */
  readonly maxFileBytes: number
  /** All reports of jobs that have ended; the oldest go first. */
  readonly maxBytes: number
}

/** A file of the largest has some two million paths; together they are what a disk of the platform can spare. */
export const reportLimits: ReportLimits = { maxFileBytes: 512 * 2 ** 20, maxBytes: 4 * 2 ** 30 }

/**
 * The reports of jobs of one sort, in a folder for each below the platform's own. Not in the broker: its storage is what the
 * work of all migrations needs, and a report has a line for each path.
 */
export class ReportStore<N extends string> {
  readonly #folder: string
  readonly #kinds: ReportKinds<N>
  readonly #limits: ReportLimits

  constructor(folder: string, kinds: ReportKinds<N>, limits = reportLimits) {
    this.#folder = folder
    this.#kinds = kinds
    this.#limits = limits
  }

  /**
   * Begins the reports of a job, in place of what is there of it.
   * @param again what a line of its full report of before comes to in the new reports; without it, nothing
   */
  async write(
    id: string,
    again?: (line: string) => Readonly<Record<string, string>>,
  ): Promise<ReportWriter<N>> {
    const folder = this.#of(id)
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const writer = await ReportWriter.open<N>(folder, this.#kinds, this.#limits.maxFileBytes)
    try {
      const before = join(folder, this.#kinds.FULL.file)
      if (again !== undefined && existsSync(before)) {
        await using handle = await open(before)
        for await (const line of handle.readLines({ autoClose: false })) await writer.append(again(line))
      }
      writer.begin()
      return writer
    } catch (error) {
      await writer.discard()
      throw error
    }
  }

  /** One part of a report, of whole lines; undefined when there is no such report. */
  async read(id: string, name: N | 'FULL' | 'SUMMARY', from: number): Promise<Part | undefined> {
    const { file, type } = this.#kinds[name]
    const path = join(this.#of(id), file)
    if (!existsSync(path)) return undefined
    const { text: content, bytes, isLast } = await linesFrom(path, from)
    return { name: `${id}-${file}`, type, content, ...(isLast ? {} : { next: from + bytes }) }
  }

  /** One part of all reports in a tar archive; undefined when there are none. */
  async archive(id: string, from: number): Promise<Pick<Part, 'content' | 'next'> | undefined> {
    const members = Object.values<ReportKind>(this.#kinds).flatMap(({ file }): Member[] => {
      const path = join(this.#of(id), file)
      if (!existsSync(path)) return []
      const { size: sizeBytes, mtimeMs: modifiedMs } = statSync(path)
      return [{ name: `${id}/${file}`, sizeBytes, modifiedMs, read: (at) => linesFrom(path, at) }]
    })
    return members.length === 0 ? undefined : archivePart(members, from)
  }

  suffixOf(name: N | 'FULL' | 'SUMMARY'): string {
    const { file } = this.#kinds[name]
    return file.slice(file.lastIndexOf('.'))
  }

  remove(id: string): void {
    rmSync(this.#of(id), { recursive: true, force: true })
  }

  /** What the reports of a job take on disk. */
  bytesOf(id: string): number {
    const folder = this.#of(id)
    if (!existsSync(folder)) return 0
    return readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0)
  }

  /** Ids of the jobs that have reports here. */
  ids(): string[] {
    return existsSync(this.#folder) ? readdirSync(this.#folder) : []
  }

  /**
   * Removes the reports that there is no room for.
   * @param ended ids of jobs that have ended, the oldest first
   * @returns those whose reports were removed
   */
  makeRoom(ended: readonly string[]): string[] {
    const sizes = ended.map((id) => ({ id, bytes: this.bytesOf(id) }))
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
}

interface OpenReport<N extends string> {
  readonly type: N | 'FULL'
  readonly file: string
  readonly handle: FileHandle
  sizeBytes: number
  checksum: number
  isFull: boolean
}

/** Reports of one job that are being written. */
export class ReportWriter<N extends string> {
  readonly #folder: string
  readonly #kinds: ReportKinds<N>
  readonly #reports: readonly OpenReport<N>[]
  readonly #maxFileBytes: number
  /** Paths that the full report has no room for. */
  leftOut = 0

  private constructor(
    folder: string,
    kinds: ReportKinds<N>,
    reports: readonly OpenReport<N>[],
    maxFileBytes: number,
  ) {
    this.#folder = folder
    this.#kinds = kinds
    this.#reports = reports
    this.#maxFileBytes = maxFileBytes
  }

  static async open<N extends string>(
    folder: string,
    kinds: ReportKinds<N>,
    maxFileBytes: number,
  ): Promise<ReportWriter<N>> {
    const names = (Object.keys(kinds) as (keyof typeof kinds)[]).filter((name) => name !== 'SUMMARY')
    const reports: OpenReport<N>[] = []
    const writer = new ReportWriter<N>(folder, kinds, reports, maxFileBytes)
    try {
      for (const type of names) {
        const { file } = kinds[type]
        const handle = await open(nextOf(folder, file), 'w', 0o600)
        reports.push({ type: type as N | 'FULL', file, handle, sizeBytes: 0, checksum: 0, isFull: false })
      }
      await writer.append(Object.fromEntries(names.map((name) => [kinds[name].file, kinds[name].head])))
      return writer
    } catch (error) {
      await writer.discard()
      throw error
    }
  }

  /** Ends reports that were not begun: those of before stay. */
  async discard(): Promise<void> {
    await Promise.allSettled(this.#reports.map(({ handle }) => handle.close()))
    for (const { file } of this.#reports) rmSync(nextOf(this.#folder, file), { force: true })
  }

  /** Puts them in place of those that were there before. */
  begin(): void {
    for (const { file } of this.#reports) renameSync(nextOf(this.#folder, file), join(this.#folder, file))
  }

  /** @param lines whole lines by the file of the report */
  async append(lines: Readonly<Record<string, string | undefined>>): Promise<void> {
    for (const report of this.#reports) {
      const text = lines[report.file]
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
  async close(): Promise<ReportFile<N>[]> {
    await Promise.all(this.#reports.map(({ handle }) => handle.close()))
    const createdMs = Date.now()
    return this.#reports.map(({ type, sizeBytes, checksum }) => ({ type, sizeBytes, createdMs, checksum }))
  }

  /** Adds the report that tells of all, once the others are closed. */
  async summarise(summary: object): Promise<ReportFile<N>> {
    const text = Buffer.from(`${JSON.stringify(summary, undefined, 2)}\n`)
    await writeFile(join(this.#folder, this.#kinds.SUMMARY.file), text, { mode: 0o600 })
    return { type: 'SUMMARY', sizeBytes: text.length, createdMs: Date.now(), checksum: crc32(text) }
  }
}

/** Where a report is until it is as far as the one of before. */
const nextOf = (folder: string, file: string): string => join(folder, `${file}.next`)

/** Whole lines of a report from a byte on, as many as a part has room for. */
async function linesFrom(
  path: string,
  from: number,
): Promise<{ text: string; bytes: number; isLast: boolean }> {
  await using handle = await open(path)
  const buffer = Buffer.allocUnsafe(maxPartLength)
  const { bytesRead } = await handle.read(buffer, 0, buffer.length, from)
  const isLast = bytesRead < buffer.length
  const bytes = isLast ? bytesRead : buffer.lastIndexOf('\n') + 1
  return { text: buffer.toString('utf8', 0, bytes), bytes, isLast }
}
