/** What spreadsheets take for the beginning of a formula, whether quoted or not. */
const formulaStart = /^[=+\-@\t\r]/

type Cell = string | number | boolean | null | undefined

/** A text is what somebody chose as a name, and must not be run by whoever opens the table: an apostrophe makes it a text. */
const cellText = (value: Cell): string =>
  typeof value === 'string' && formulaStart.test(value) ? `'${value}` : String(value ?? '')

/** Values as a line of CSV (RFC 4180), each in quotes. */
export const csvLine = (values: readonly Cell[]): string =>
  `${values.map((value) => `"${cellText(value).replaceAll('"', '""')}"`).join(',')}\r\n`
