/**
 * Values of skewed columns that belong together, which Hive has a list for and Glue one text: each value after its length in
 * UTF-16 units and a `$`, as Glue's own client for Hive writes them.
 */
export const writeSkewed = (values: readonly string[]): string =>
  values.map((value) => `${value.length}$${value}`).join('')

/** A text that is not written so is one value. */
export function readSkewed(text: string): string[] {
  const values: string[] = []
  for (let at = 0; at < text.length;) {
    const [head, length = ''] = /^(\d{1,9})\$/.exec(text.slice(at, at + 10)) ?? []
    const from = at + (head?.length ?? 0)
    const end = from + Number(length)
    if (head === undefined || end > text.length) return [text]
    values.push(text.slice(from, end))
    at = end
  }
  return values
}
