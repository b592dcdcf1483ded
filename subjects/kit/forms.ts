const words = new Map<string, string>()

const mends = new Map<string, (text: string) => string>()

/**
 * The form that a text must have: as a pattern for programs, in words for people, who are shown those instead.
 * @param inWords completes "accountName must be …"
 * @param mended makes a text that has the form of most that do not
 */
export function form(
  pattern: string,
  inWords: string,
  mended?: (text: string) => string,
): { readonly pattern: string } {
  words.set(pattern, inWords)
  if (mended !== undefined) mends.set(pattern, mended)
  return { pattern }
}

/** A text like one that lacks its form, which has it; undefined where none is known. */
export function mendedText(pattern: string, text: string): string | undefined {
  const mended = mends.get(pattern)?.(text)
  return mended !== undefined && new RegExp(pattern, 'u').test(mended) ? mended : undefined
}

const choices = new Map<string, string>()

/**
 * What a union takes, for people: what its alternatives say one by one is no sentence.
 * @param inWords completes "limit must be …"
 */
export function choice(description: string, inWords: string): { readonly description: string } {
  choices.set(description, inWords)
  return { description }
}

/** What a union takes in words, by its description; undefined for one that has none. */
export const choiceInWords = (description: string): string | undefined => choices.get(description)

/** What a form of a schema says in words; undefined for a pattern that has none. */
export const inWords = (pattern: string): string | undefined => words.get(pattern)

/** Of a port, 1 to 65535; a part of a form. */
export const portPattern = '(?:[1-9]\\d{0,3}|[1-5]\\d{4}|6[0-4]\\d{3}|65[0-4]\\d{2}|655[0-2]\\d|6553[0-5])'
