import { printable, type Terminal } from '../output/terminal.ts'
import type { Info, Rate } from './rate.ts'
import {
  awayText,
  conditionLines,
  endLine,
  failuresLine,
  type FailuresTold,
  liveLine,
  plainLine,
} from './text.ts'

/** A migration that is watched, as it was seen last. */
export interface Seen {
  readonly info: Info
  readonly rate: Rate
}

/** How watching is shown. */
export interface WatchView {
  /** After each look at the migrations. */
  show(seen: readonly Seen[]): void
  /** When the list of what did not arrive has changed. */
  failed(told: FailuresTold): void
  /** While the platform does not answer. */
  away(): void
  /** Right after it showed some that have ended: those are shown no more. */
  end(seen: readonly Seen[]): void
}

/** Between two lines about a migration in a log; a change of its state, or of what is in its way, is told at once. */
const plainIntervalMs = 5_000

/** The view for whoever reads: a program, a terminal, a log. */
export function watchView(terminal: Terminal, { json }: { json: boolean }): WatchView {
  if (json) return jsonView(terminal)
  return terminal.isTty ? liveView(terminal) : plainView(terminal)
}

/** Each look is one line of JSON for each migration: the reply of `migrations progress`. */
const jsonView = (terminal: Terminal): WatchView => ({
  show: (seen) => {
    for (const { info } of seen) terminal.out(`${JSON.stringify(info)}\n`)
  },
  failed: () => undefined,
  away: () => undefined,
  end: () => undefined,
})

/** Lines that are written over again and again. */
function liveView(terminal: Terminal): WatchView {
  let height = 0
  /** What failed last, by migration. */
  const failed = new Map<string, string>()
  const write = (lines: readonly string[]) => {
    const shown = lines.slice(0, Math.max(1, terminal.rows - 1))
    // Up to the first of our lines, and each one cleared before it is written.
    const up = height > 0 ? `\u001b[${height}A` : ''
    terminal.out(`${up}\r\u001b[J${shown.map((line) => `${line}\n`).join('')}`)
    height = shown.length
  }
  return {
    show: (seen) => {
      const columns = terminal.columns - 1
      write(
        seen.flatMap(({ info, rate }) => [
          liveLine(info, rate, columns),
          ...(failed.has(info.id) ? [`  ${failed.get(info.id)}`.slice(0, columns)] : []),
          ...conditionLines(info, columns),
        ]),
      )
    },
    failed: (change) => {
      if (change.added > 0) failed.set(change.migrationId, failuresLine(change))
      else if (change.failedPathCount === 0) failed.delete(change.migrationId)
    },
    away: () => write([awayText]),
    end: (seen) => {
      for (const { info } of seen) failed.delete(info.id)
      terminal.out(endLines(seen))
      // These stay; what is shown from now on is below them.
      height = 0
    },
  }
}

const endLines = (seen: readonly Seen[]): string => seen.map(({ info }) => `${endLine(info)}\n`).join('')

/** A line now and then. */
function plainView(terminal: Terminal): WatchView {
  const told = new Map<string, { said: string; atMs: number }>()
  let isAway = false
  return {
    show: (seen) => {
      isAway = false
      for (const { info, rate } of seen) {
        const last = told.get(info.id)
        const now = performance.now()
        const said = [info.state, ...info.conditions.map(({ reason }) => reason)].join()
        if (last?.said === said && now - last.atMs < plainIntervalMs) continue
        told.set(info.id, { said, atMs: now })
        terminal.out(`${plainLine(info, rate)}\n`)
      }
    },
    failed: (change) => {
      if (change.added > 0) terminal.out(`${printable(change.migrationId)}  ${failuresLine(change)}\n`)
    },
    away: () => {
      if (!isAway) terminal.err(`${awayText}\n`)
      isAway = true
    },
    end: (seen) => terminal.out(endLines(seen)),
  }
}
