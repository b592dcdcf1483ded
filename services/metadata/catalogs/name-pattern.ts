/**
 * What names match a pattern as Hive's `LIKE` has it: `*` stands for any text, `|` stands between alternatives, upper and
 * lower case are the same. In linear time, whatever the pattern.
 */
export function matching(pattern: string): (name: string) => boolean {
  const alternatives = pattern
    .toLowerCase()
    .split('|')
    .map((alternative) => alternative.trim().split('*'))
  return (name) => {
    const lower = name.toLowerCase()
    return alternatives.some((pieces) => matches(lower, pieces))
  }
}

/** @param pieces what stands between the asterisks */
function matches(name: string, pieces: readonly string[]): boolean {
  const [first = '', ...others] = pieces
  const last = others.pop()
  if (last === undefined) return name === first
  if (!name.startsWith(first)) return false
  let at = first.length
  for (const piece of others) {
    const found = name.indexOf(piece, at)
    if (found < 0) return false
    at = found + piece.length
  }
  return name.length - last.length >= at && name.endsWith(last)
}
