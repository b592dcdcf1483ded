import type { Form } from '../output/form.ts'
import { wrapped } from '../output/table.ts'
import { printable, type Terminal } from '../output/terminal.ts'
import { yaml } from '../../config/yaml.ts'
import { asTyped } from '../as-typed.ts'
import type { Seen } from './seen.ts'
import { awayText, failuresLine, type FailuresTold } from './text.ts'

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
export function watchView(terminal: Terminal, form: Form): WatchView {
  if (form === 'json') return dataView(terminal, (reply) => `${JSON.stringify(reply)}\n`)
  if (form === 'yaml') return dataView(terminal, (reply) => `---\n${yaml().stringify(reply)}`)
  return terminal.isTty ? liveView(terminal) : plainView(terminal)
}

/** Each look is one line of JSON, or one document of YAML, for each migration: what the platform answered. */
const dataView = (terminal: Terminal, textOf: (reply: object) => string): WatchView => ({
  show: (seen) => {
    for (const { reply } of seen) terminal.out(textOf(reply))
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
        seen.flatMap(({ id, line, below }) => [
          line(columns),
          ...(failed.has(id) ? [`  ${failed.get(id)}`.slice(0, columns)] : []),
          ...below.flatMap((text) => indented(asTyped(terminal, text), columns)),
        ]),
      )
    },
    failed: (change) => {
      if (change.added > 0) failed.set(change.migrationId, failuresLine(change))
      else if (change.failedPathCount === 0) failed.delete(change.migrationId)
    },
    away: () => write([awayText]),
    end: (seen) => {
      for (const { id } of seen) failed.delete(id)
      terminal.out(asTyped(terminal, endLines(seen)))
      // These stay; what is shown from now on is below them.
      height = 0
    },
  }
}

/** In lines that fit, which begin where the first one does. */
function indented(text: string, columns: number): string[] {
  const [indent] = /^ */.exec(text)!
  const width = Math.max(1, columns - indent.length)
  return wrapped(text.slice(indent.length), width)
    .split('\n')
    .map((line) => indent + line)
}

const endLines = (seen: readonly Seen[]): string => seen.map(({ end }) => `${end}\n`).join('')

/** A line now and then. */
function plainView(terminal: Terminal): WatchView {
  const told = new Map<string, { said: string; plain: string; atMs: number }>()
  let isAway = false
  return {
    show: (seen) => {
      isAway = false
      for (const { id, said, plain } of seen) {
        const last = told.get(id)
        const now = performance.now()
        // One that waits for its next scan says the same for hours.
        const isOld = last?.plain === plain || (last !== undefined && now - last.atMs < plainIntervalMs)
        if (last?.said === said && isOld) continue
        told.set(id, { said, plain, atMs: now })
        terminal.out(`${asTyped(terminal, plain)}\n`)
      }
    },
    failed: (change) => {
      if (change.added > 0) terminal.out(`${printable(change.migrationId)}  ${failuresLine(change)}\n`)
    },
    away: () => {
      if (!isAway) terminal.err(`${awayText}\n`)
      isAway = true
    },
    end: (seen) => terminal.out(asTyped(terminal, endLines(seen))),
  }
}
