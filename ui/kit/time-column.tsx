import { DateOf, Time } from './named.tsx'
import type { Column } from './table.tsx'

/** Room for date and time in one line, beside other columns. */
const timeWidth = 2.1

/** A column of moments that one may sort by. */
export const timeColumn = <T,>(label: string, at: (row: T) => string | number | undefined): Column<T> => ({
  label,
  cell: (row) => <Time at={at(row)} />,
  by: (row) => at(row) ?? '',
  width: timeWidth,
})

/** A column of days. @param otherwise where there is none */
export const dateColumn = <T,>(
  label: string,
  at: (row: T) => string | undefined,
  otherwise = '–',
): Column<T> => ({
  label,
  cell: (row) => {
    const its = at(row)
    return its === undefined ? otherwise : <DateOf at={its} />
  },
  by: (row) => at(row) ?? '',
  width: 1.1,
})
