import type { Output } from '../../subjects/kit/contract.ts'
import type { observability } from '../../subjects/observability/observability.ts'
import { momentText } from './format.ts'
import { tableText } from './table.ts'
import type { Terminal } from './terminal.ts'

type Scalars = Output<(typeof observability)['query_scalar_metrics']>
type Points = Scalars['series'][number]['points']

const bars = '▁▂▃▄▅▆▇█'
/** Points that fit beside the table on a narrow terminal. */
const longestLine = 60

let numbers: Intl.NumberFormat | undefined

function numberText(value: number | undefined): string {
  // As `counts` in format.ts.
  numbers ??= new Intl.NumberFormat('en-US', { maximumSignificantDigits: 4, useGrouping: false })
  return value === undefined ? '' : numbers.format(value)
}

/** Values over time for people: of several series a line each, of one every value as well. */
export function chartText(terminal: Terminal, scalars: Scalars): string {
  const { name, kind, aggregate, from, to, stepSeconds, stepReason, series } = scalars
  const window = `${momentText(new Date(from))} to ${momentText(new Date(to))}, every ${stepSeconds} s${stepReason === undefined ? '' : `: ${stepReason}`}`
  const head = `${terminal.style('bold', name)} (${kind}), ${aggregate}\n${window}\n\n`
  const rows = series.map(({ source, labels, value, points }) => {
    const values = points.map((point) => point.value)
    return [
      source,
      Object.entries(labels)
        .map(([label, text]) => `${label}=${text}`)
        .join(' '),
      numberText(value),
      numberText(values.length === 0 ? undefined : Math.min(...values)),
      numberText(values.length === 0 ? undefined : Math.max(...values)),
      sparkline(points, { fromMs: Date.parse(from), toMs: Date.parse(to), stepMs: stepSeconds * 1_000 }),
    ]
  })
  const table = tableText(terminal, ['source', 'labels', 'all', 'min', 'max', 'over time'], rows)
  const [only] = series
  if (series.length !== 1 || only === undefined) return head + table
  const each = only.points.map(({ time, value }) => [momentText(new Date(time)), numberText(value)])
  return `${head}${table}\n${tableText(terminal, ['time', aggregate], each)}`
}

/** A character for each step; of more steps than fit the last ones. Without a value it is blank. */
export function sparkline(
  points: Points,
  { fromMs, toMs, stepMs }: { fromMs: number; toMs: number; stepMs: number },
): string {
  const values = new Map(points.map(({ time, value }) => [Date.parse(time), value]))
  const shown = Math.min(longestLine, Math.round((toMs - fromMs) / stepMs))
  const times = Array.from({ length: shown }, (_, index) => toMs - (shown - index) * stepMs)
  const all = times.flatMap((time) => values.get(time) ?? [])
  const lowest = Math.min(0, ...all)
  const span = Math.max(0, ...all) - lowest
  return times.map((time) => barOf(values.get(time), lowest, span)).join('')
}

function barOf(value: number | undefined, lowest: number, span: number): string {
  if (value === undefined) return ' '
  return bars[span === 0 ? 0 : Math.round(((value - lowest) / span) * (bars.length - 1))]!
}
