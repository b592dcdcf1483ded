/** What a walk through folders has found so far. Plain data. */
export interface Findings {
  /** Lines of the reports, by report. */
  readonly lines: Readonly<Record<string, string>>
  /** Encoded folders that are to be walked through as well. */
  readonly folders: readonly string[]
  readonly counts: Readonly<Record<string, number>>
}

/** Text after which findings are sent: enough that messages cost nothing, and little memory. */
const sentLength = 256 * 1024

/** Findings while they are made. */
export class Collected {
  readonly #lines = new Map<string, string>()
  readonly #counts = new Map<string, number>()
  /** What of the counts was told as progress. */
  readonly #told = new Map<string, number>()
  #folders: string[] = []
  #length = 0

  /** @param line with its end */
  line(report: string, line: string): void {
    this.#lines.set(report, (this.#lines.get(report) ?? '') + line)
    this.#length += line.length
  }

  folder(encoded: string): void {
    this.#folders.push(encoded)
    this.#length += encoded.length
  }

  count(name: string, more = 1): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + more)
  }

  /** Whether there is more than folders that are to be walked through. */
  get hasTold(): boolean {
    return this.#lines.size > 0 || this.#counts.size > 0
  }

  get isMuch(): boolean {
    return this.#length >= sentLength
  }

  /** Adds all of another's, and empties it. */
  take(other: Collected): void {
    for (const [report, lines] of other.#lines) this.line(report, lines)
    for (const folder of other.#folders) this.folder(folder)
    for (const [name, more] of other.#untold()) this.count(name, more)
    other.#clear()
  }

  /** What was counted since the last time, for those who look on; all else stays, and may still be dropped. */
  progress(): Findings {
    const counts = Object.fromEntries(this.#untold())
    for (const [name, count] of this.#counts) this.#told.set(name, count)
    return { lines: {}, folders: [], counts }
  }

  /** Of another's, which are dropped, takes back what was told as progress. */
  takeBack(dropped: Collected): void {
    for (const [name, told] of dropped.#told) this.count(name, -told)
    dropped.#clear()
  }

  /** All that was found since the last time. */
  empty(): Findings {
    const findings = {
      lines: Object.fromEntries(this.#lines),
      folders: this.#folders,
      counts: Object.fromEntries(this.#untold()),
    }
    this.#clear()
    return findings
  }

  #untold(): [string, number][] {
    return Array.from(this.#counts, ([name, count]) => [name, count - (this.#told.get(name) ?? 0)])
  }

  #clear(): void {
    this.#lines.clear()
    this.#counts.clear()
    this.#told.clear()
    this.#folders = []
    this.#length = 0
  }
}
