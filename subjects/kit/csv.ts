/** What spreadsheets take for the beginning of a formula, whether quoted or not. */
const formulaStart = /^[=+\-@\t\r]/

/** A text is what somebody chose as a name, and must not be run by whoever opens the table: an apostrophe makes it a text. */
const cellText = (value: string | number | null | undefined): string =>
  typeof value === 'string' && formulaStart.test(value) ? `'${value}` : String(value ?? '')

/** Values as a line of CSV (RFC 4180), each in quotes. */
export const csvLine = (values: readonly (string | number | null | undefined)[]): string =>
  `${values.map((value) => `"${cellText(value).replaceAll('"', '""')}"`).join(',')}\r\n`
