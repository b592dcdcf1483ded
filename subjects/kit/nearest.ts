import { distance } from 'fastest-levenshtein'

/** Letters that somebody mistypes, and the share of a name that they may be: beyond either another name was meant. */
const maxDistance = 3
const maxShare = 0.34

/** The known name that somebody is likely to have meant; undefined where none is near. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const lower = name.toLowerCase()
  const [best] = known
    .map((candidate) => ({ candidate, away: distance(lower, candidate.toLowerCase()) }))
    .toSorted((one, other) => one.away - other.away)
  const isNear = best !== undefined && best.away <= Math.min(maxDistance, maxShare * name.length)
  return isNear ? best.candidate : undefined
}
