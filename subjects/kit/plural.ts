/** `1 path`, `2 paths`. @param noun of which the plural ends with an s @param asText of the number */
export const plural = (count: number, noun: string, asText: (count: number) => string = String): string =>
  `${asText(count)} ${noun}${count === 1 ? '' : 's'}`

/** What stands for things that were named. */
export const itOrThem = (names: readonly unknown[]): string => (names.length === 1 ? 'it' : 'them')

/** `migration a`, `migrations a, b`. */
export const listed = (noun: string, names: readonly string[]): string =>
  `${names.length === 1 ? noun : `${noun}s`} ${names.join(', ')}`
