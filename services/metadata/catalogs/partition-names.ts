/** What stands for a value that is not there, as `hive.exec.default.partition.name` has it where nobody changed it. */
const noValue = '__HIVE_DEFAULT_PARTITION__'

/** What Hive percent-encodes in names of partitions, as they are names of folders. */
// oxlint-disable-next-line no-control-regex
const encoded = /[\x00-\x1f"#%'*/:=?\\\x7f{[\]^]/g

const encode = (text: string): string =>
  text.replaceAll(
    encoded,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  )

/** The name of a partition as Hive makes it, such as `year=2026/month=11`. */
export const partitionName = (keys: readonly string[], values: readonly string[]): string =>
  keys
    .map((key, index) => {
      const value = values[index] ?? ''
      return `${encode(key.toLowerCase())}=${value === '' ? noValue : encode(value)}`
    })
    .join('/')

/** The values in a name such as `year=2026/month=11`. */
export const valuesIn = (name: string): string[] =>
  name
    .split('/')
    .map((piece) =>
      piece
        .slice(piece.indexOf('=') + 1)
        .replaceAll(/%([0-9A-Fa-f]{2})/g, (_, code: string) => String.fromCharCode(parseInt(code, 16))),
    )
