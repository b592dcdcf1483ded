import { printable, type Terminal } from './terminal.ts'

/** Between two lines where nothing is written over. */
const plainIntervalMs = 5_000

/** How far something is, on stderr: one line that is written over on a terminal, elsewhere a line now and then. */
export class ProgressLine implements Disposable {
  readonly #terminal: Terminal
  #toldMs = performance.now()
  #isShown = false

  constructor(terminal: Terminal) {
    this.#terminal = terminal
  }

  show(text: string): void {
    const { errIsTty, columns } = this.#terminal
    if (errIsTty) {
      this.#isShown = true
      this.#terminal.err(`\r\u001b[K${printable(text).slice(0, columns - 1)}`)
      return
    }
    const nowMs = performance.now()
    if (nowMs - this.#toldMs < plainIntervalMs) return
    this.#toldMs = nowMs
    this.#terminal.err(`${printable(text)}\n`)
  }

  /** What comes next takes its place. */
  [Symbol.dispose](): void {
    if (this.#isShown) this.#terminal.err('\r\u001b[K')
  }
}
