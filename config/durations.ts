const hourMs = 3_600_000
const units: Record<string, number> = {
  h: hourMs,
  d: 24 * hourMs,
  w: 7 * 24 * hourMs,
  y: 365 * 24 * hourMs,
}

/** Milliseconds of a duration such as `12h`, `90d`, `26w` or `2y` (years of 365 days); undefined when it is none. */
export function parseDuration(text: string): number | undefined {
  const [, count, unit = ''] = /^\s*(\d{1,6})\s*([a-z])\s*$/i.exec(text) ?? []
  const unitMs = units[unit.toLowerCase()]
  return count === undefined || unitMs === undefined ? undefined : Number(count) * unitMs
}
