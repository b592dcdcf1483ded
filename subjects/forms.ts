const words = new Map<string, string>()

/**
 * The form that a text must have: as a pattern for programs, in words for people, who are shown those instead.
 * @param inWords completes "accountName must be …"
 */
export function form(pattern: string, inWords: string): { readonly pattern: string } {
  words.set(pattern, inWords)
  return { pattern }
}

/** What a form of a schema says in words; undefined for a pattern that has none. */
export const inWords = (pattern: string): string | undefined => words.get(pattern)
