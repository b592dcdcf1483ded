import type { AccessEntry, AccessMap } from '../../config/metadata-access.ts'

/**
 * Whether a list fits a pattern, some parts of which stand for any number of anything. The last of these is tried with more
 * and more, and those before it never again: the steps are at most those of one times the other, whatever somebody sends.
 */
function fits<P, T>(
  pattern: readonly P[],
  list: readonly T[],
  { isAny, isOne }: { readonly isAny: (part: P) => boolean; readonly isOne: (part: P, item: T) => boolean },
): boolean {
  let [part, item] = [0, 0]
  let again: { readonly part: number; item: number } | undefined
  while (item < list.length) {
    if (part < pattern.length && isAny(pattern[part]!)) {
      part += 1
      again = { part, item }
    } else if (part < pattern.length && isOne(pattern[part]!, list[item]!)) {
      part += 1
      item += 1
    } else if (again !== undefined) {
      again.item += 1
      ;({ part, item } = again)
    } else return false
  }
  return pattern.slice(part).every(isAny)
}

const partFits = (pattern: string, text: string): boolean =>
  fits(Array.from(pattern), Array.from(text), {
    isAny: (part) => part === '*',
    isOne: (part, char) => part === '?' || part === char,
  })

/**
 * Whether a path fits a pattern in Ant's style: in a part between slashes `?` stands for one character and `*` for any, and a
 * part `**` for any parts, also none. Parts are as the router sees them: without encoding, and a slash at the end is nothing.
 */
export const pathMatches = (pattern: string, path: string): boolean =>
  fits(partsOf(pattern), partsOf(path).map(decoded), {
    isAny: (part) => part === '**',
    isOne: partFits,
  })

const partsOf = (path: string): string[] => path.replace(/\/$/, '').split('/').slice(1)

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    // The router has no route for it.
    return part
  }
}

/** The entry of a map that decides on a request; undefined: it is refused. */
export const entryFor = (entries: AccessMap, method: string, path: string): AccessEntry | undefined =>
  entries.find(
    (entry) =>
      (entry.method === undefined || entry.method === readingAs(method)) && pathMatches(entry.pattern, path),
  )

/** A route of GET answers HEAD too. */
const readingAs = (method: string): string => (method === 'HEAD' ? 'GET' : method)
