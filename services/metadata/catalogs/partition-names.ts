/** What Hive percent-encodes in names of partitions: what paths cannot have, or what has a meaning in them. */
// eslint-disable-next-line no-control-regex -- control characters are among it
const special = /[\u0001-\u001f"#%'*/:=?\\\u007f{[\]^]/g
/** Stands for no value. */
const noValue = '__HIVE_DEFAULT_PARTITION__'

const encoded = (text: string): string =>
  text.replaceAll(special, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`)

/** The name of a partition, such as `year=2026/month=11`. */
export const partitionName = (keys: readonly string[], values: readonly string[]): string =>
  keys
    .map((key, index) => `${encoded(key.toLowerCase())}=${encoded(values[index] ?? '') || noValue}`)
    .join('/')

/** The values in the name of a partition. */
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
