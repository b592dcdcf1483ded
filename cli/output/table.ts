import Table from 'cli-table3'
import { printable, type Terminal } from './terminal.ts'

/** Narrower than this a column is hard to read. */
const minColumnWidth = 12
/** A word that is longer may be broken. */
const maxWordWidth = 20
/** Where a long word, such as a path, a subject or the name of a field, is broken first. */
const joints = '(?<=[./:,_=-]|[a-z](?=[A-Z]))'
const gap = 2

const noLines = {
  ...{ top: '', 'top-mid': '', 'top-left': '', 'top-right': '' },
  ...{ bottom: '', 'bottom-mid': '', 'bottom-left': '', 'bottom-right': '' },
  ...{ left: '', 'left-mid': '', mid: '', 'mid-mid': '', right: '', 'right-mid': '', middle: '' },
}

/**
 * Rows under a head line, in columns. Where a terminal is too narrow, the widest columns are wrapped, and what does not fit
 * even then is left out and named, from the end, states and progress last; nothing is cut, as people go on with what they
 * read. The first column and ids stay whole, to be copied.
 */
export function tableText(
  terminal: Terminal,
  head: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const titles = head.map(printable)
  const safe = rows.map((row) => row.map(printable))
  const widths = terminal.isTty ? fittingWidths([titles, ...safe], terminal.columns) : undefined
  const fitted = (row: readonly string[]) =>
    widths === undefined ? row : widths.map(({ column, width }) => wrapped(row[column]!, width))
  const table = new Table({
    head: fitted(titles).map((title) => terminal.style('bold', title)),
    chars: noLines,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': gap },
  })
  table.push(...safe.map((row) => [...fitted(row)]))
  const isShown = (index: number) => widths?.some(({ column }) => column === index) ?? true
  const left = titles.filter((_, index) => !isShown(index))
  if (left.length === 0) return lines(table.toString())
  const note = `Not shown, as the terminal is too narrow: ${left.join(', ')}\nChoose others with --columns.\n`
  return `${lines(table.toString())}${note}`
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

/** Of a terminal's width, the most that a column takes whose values stay whole: paths can be longer than any terminal. */
const maxWholeShare = 0.6
const isKey = (title: string, column: number): boolean => column === 0 || title === 'id'

/** How a thing is: what people look for in a list first, beside the name. */
const lastToGo = [
  'state',
  'status',
  'result',
  'revoked',
  'migratedPercentage',
  'failedPathCount',
  'failedPaths',
  'totalDiscrepancies',
  'totalDifferences',
]

/** What is left when one column less is shown; the first one stays. */
function withoutLeast(titles: readonly string[], columns: readonly number[]): readonly number[] {
  const others = columns.slice(1)
  const least = others.findLast((column) => !lastToGo.includes(titles[column]!)) ?? others.at(-1)
  return columns.filter((column) => column !== least)
}

/** The columns that fit, the widest ones made narrower; undefined when all do as they are. */
function fittingWidths(
  rows: readonly (readonly string[])[],
  columns: number,
): readonly { readonly column: number; readonly width: number }[] | undefined {
  const [titles = []] = rows
  const natural = titles.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  const isWhole = (column: number) =>
    isKey(titles[column]!, column) && natural[column]! <= columns * maxWholeShare
  const minimal = titles.map((_, column) => leastWidth(rows.slice(1).map((row) => row[column]!)))
  const sumOf = (widths: readonly number[]) => widths.reduce((sum, width) => sum + width + gap, -gap)
  if (sumOf(natural) <= columns) return undefined
  for (let shown: readonly number[] = [...titles.keys()]; ; shown = withoutLeast(titles, shown)) {
    const widths = shown.map((column) => Math.min(natural[column]!, columns))
    const flexible = () =>
      widths
        .map((width, index) => ({ width, index }))
        .filter(({ width, index }) => width > minimal[shown[index]!]! && !isWhole(shown[index]!))
    while (sumOf(widths) > columns) {
      const [widest] = flexible().toSorted((one, other) => other.width - one.width)
      if (widest === undefined) break
      widths[widest.index] = widest.width - 1
    }
    if (sumOf(widths) <= columns || shown.length <= 1)
      return shown.map((column, index) => ({ column, width: widths[index]! }))
  }
}

/** What a column takes for its words to stay whole, within bounds. */
const leastWidth = (cells: readonly string[]): number =>
  Math.max(
    minColumnWidth,
    ...cells
      .flatMap((cell) => cell.split(new RegExp(` |${joints}`)))
      .map(({ length }) => length)
      .filter((length) => length <= maxWordWidth),
  )

/** A text in lines of a width, broken between words where it can be. */
export function wrapped(text: string, width: number): string {
  const done: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`
    if (longer.length <= width) {
      line = longer
      continue
    }
    if (line !== '') done.push(line)
    const pieces = word.match(longestPieces(width)) ?? ['']
    done.push(...pieces.slice(0, -1))
    line = pieces.at(-1)!
  }
  return [...done, line].join('\n')
}

/** All that fits, or else up to a joint, or else as much as there is room for. */
const longestPieces = (width: number): RegExp =>
  new RegExp(`.{1,${width}}$|.{1,${width}}${joints}|.{1,${width}}`, 'gsu')

const lines = (text: string): string =>
  text
    .split('\n')
    .map((line) => `${line.trimEnd()}\n`)
    .join('')
