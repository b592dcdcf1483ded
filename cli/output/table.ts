import Table from 'cli-table3'
import { printable, type Terminal } from './terminal.ts'

/** Narrower than this a column says nothing. */
const minColumnWidth = 8
const gap = 2

const noLines = {
  ...{ top: '', 'top-mid': '', 'top-left': '', 'top-right': '' },
  ...{ bottom: '', 'bottom-mid': '', 'bottom-left': '', 'bottom-right': '' },
  ...{ left: '', 'left-mid': '', mid: '', 'mid-mid': '', right: '', 'right-mid': '', middle: '' },
}

/**
 * Rows under a head line, in columns. On a terminal the widest columns are cut so that a row is one line; what a program
 * reads is never cut.
 */
export function tableText(
  terminal: Terminal,
  head: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const titles = head.map(printable)
  const safe = rows.map((row) => row.map(printable))
  const cut = terminal.isTty ? cutWidths([titles, ...safe], terminal.columns) : undefined
  const table = new Table({
    head: titles.map((title) => terminal.style('bold', title)),
    chars: noLines,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': gap },
    ...(cut === undefined ? {} : { colWidths: cut.map((width) => width + gap) }),
  })
  table.push(...safe.map((row) => [...row]))
  return lines(table.toString())
}

/** Names and values, a line each. */
export function pairsText(terminal: Terminal, pairs: readonly (readonly [string, string])[]): string {
  const safe = pairs.map((pair) => pair.map(printable) as [string, string])
  const longest = Math.max(0, ...safe.map(([name]) => name.length))
  return safe
    .map(([name, value]) => {
      const padded = value === '' ? name : name.padEnd(longest + gap)
      return `${terminal.style('bold', padded)}${value}\n`
    })
    .join('')
}

/** Widths that take from the widest columns until all fit; undefined when they do anyway. */
function cutWidths(rows: readonly (readonly string[])[], columns: number): number[] | undefined {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  let excess = widths.reduce((sum, width) => sum + width + gap, 0) - gap - columns
  if (excess <= 0) return undefined
  for (; excess > 0; excess -= 1) {
    const widest = Math.max(...widths)
    if (widest <= minColumnWidth) break
    widths[widths.indexOf(widest)] = widest - 1
  }
  return widths
}

const lines = (text: string): string =>
  text
    .split('\n')
    .map((line) => `${line.trimEnd()}\n`)
    .join('')
