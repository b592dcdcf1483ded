import { Time } from './named.tsx'
import type { Column } from './table.tsx'

/** Room for date and time in one line, beside other columns. */
export const timeWidth = 1.9

/** A column of moments that one may sort by. */
export const timeColumn = <T,>(label: string, at: (row: T) => string | number | undefined): Column<T> => ({
  label,
  cell: (row) => <Time at={at(row)} />,
  by: (row) => at(row) ?? '',
  width: timeWidth,
})
