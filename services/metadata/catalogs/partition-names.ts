/**
 * Names of partitions as Hive has them, such as `year=2026/month=11`: what paths cannot have is percent-encoded, `=` and `/` as
 * well.
 */

/** What Hive encodes: control characters, and what means something in paths and patterns of some system. */
// oxlint-disable-next-line no-control-regex
const encoded = /[\u0001-\u001f"#%'*/:=?\\\u007f{[\]^]/g

const encode = (text: string): string =>
  text.replaceAll(encoded, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`)

/** What Hive has in place of a value that is empty or missing. */
const noValue = '__HIVE_DEFAULT_PARTITION__'

/** @param keys names of the table's partition keys, one for each value */
export const partitionName = (keys: readonly string[], values: readonly string[]): string =>
  keys.map((key, index) => `${encode(key.toLowerCase())}=${encode(values[index] || noValue)}`).join('/')

export const valuesIn = (name: string): string[] =>
  name
    .split('/')
    .map((piece) =>
      piece
        .slice(piece.indexOf('=') + 1)
        .replaceAll(/%([0-9A-Fa-f]{2})/g, (_, code: string) => String.fromCharCode(parseInt(code, 16))),
    )
