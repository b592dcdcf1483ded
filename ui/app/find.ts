import { distance } from 'fastest-levenshtein'

const wordsOf = (text: string): string[] =>
  text
    .toLowerCase()
    .split(/[\s-]+/)
    .filter(Boolean)

/** Whether one of the words begins with what was typed. */
export const begins = (text: string, typed: string): boolean =>
  wordsOf(text).some((word) => word.startsWith(typed))

/** Whether what was typed is part of a text, or each of its words the beginning of one there. */
export const isFound = (text: string, typed: string): boolean =>
  text.toLowerCase().includes(typed.trim()) || wordsOf(typed).every((word) => begins(text, word))

/** A word of fewer letters is another one with each letter that differs. */
const fewestLetters = 4

/** Whether each word that was typed is the beginning of one of a text, but for a letter that is wrong, missing or too many. */
export const isNearlyFound = (text: string, typed: string): boolean =>
  wordsOf(typed).every((word) =>
    wordsOf(text).some(
      (known) =>
        known.startsWith(word) ||
        (word.length >= fewestLetters &&
          [-1, 0, 1].some((more) => distance(word, known.slice(0, word.length + more)) <= 1)),
    ),
  )

/** Words of which one stands for a part, and the others are of the object: what is left of them; undefined where none is of the part. */
export function withoutPart(part: string, typed: string): string[] | undefined {
  const words = wordsOf(typed)
  const at = words.findIndex((word) => word.length > 1 && begins(part, word))
  return at < 0 ? undefined : words.toSpliced(at, 1)
}
