/** Values as a line of CSV (RFC 4180), each in quotes. */
export const csvLine = (values: readonly (string | number | undefined)[]): string =>
  `${values.map((value) => `"${String(value ?? '').replaceAll('"', '""')}"`).join(',')}\r\n`
