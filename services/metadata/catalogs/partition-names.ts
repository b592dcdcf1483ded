/** Names of partitions such as `year=2026/month=11`, in which what paths cannot have is percent-encoded, `=` and `/` as well. */

/** The values that a name has in it. */
export const valuesIn = (name: string): string[] =>
  name
    .split('/')
    .map((piece) =>
      piece
        .slice(piece.indexOf('=') + 1)
        .replaceAll(/%([0-9A-Fa-f]{2})/g, (_, code: string) => String.fromCharCode(parseInt(code, 16))),
    )

/** What tells the partitions of a table apart. */
export const valuesKey = (values: readonly string[]): string => JSON.stringify(values)
