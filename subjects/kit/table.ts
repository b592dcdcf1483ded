import { type Static, Type } from 'typebox'
import { csvLine } from './csv.ts'
import { maxPartLength, type Part } from './download.ts'

/** In these forms a list can be had as a whole. */
export const exportFormats = { csv: 'text/csv', jsonl: 'application/jsonl' } as const

export const exportFormat = Type.Optional(
  Type.Enum(Object.keys(exportFormats) as (keyof typeof exportFormats)[], {
    description: 'Format: csv (default), or jsonl (one JSON object per line)',
  }),
)

/** Room for the longest row: 4,096 bytes of a path percent-encoded, and a message. */
const fullPartLength = maxPartLength - 32 * 1024

/** A row, with its number: they grow, and the next part begins after that of the last row in this one. */
export interface NumberedRow<R> {
  readonly sequence: number
  readonly row: R
}

/**
 * A part of a table's text.
 * @param rows those that follow `from`; there may be more when they are as many as were asked for
 */
export function tablePart<R extends Readonly<Record<string, string | number | boolean | undefined>>>(
  rows: readonly NumberedRow<R>[],
  options: {
    readonly name: string
    readonly columns: readonly (keyof R & string)[]
    readonly format?: Static<typeof exportFormat>
    readonly from: number
    readonly asked: number
  },
): Part {
  const { name, columns, format = 'csv', from, asked } = options
  let content = format === 'csv' && from === 0 ? csvLine(columns) : ''
  let next: number | undefined
  for (const [index, { sequence, row }] of rows.entries()) {
    content += format === 'csv' ? csvLine(columns.map((column) => row[column])) : `${JSON.stringify(row)}\n`
    const isLast = index === asked - 1 || content.length > fullPartLength
    if (isLast) next = sequence
    if (isLast) break
  }
  return {
    name: `${name}.${format}`,
    type: exportFormats[format],
    content,
    ...(next === undefined ? {} : { next }),
  }
}
