import { refusedPattern } from './refused.ts'

/** What stands behind `(?`, and is not among what RE2 has. */
const groups: readonly [start: string, name: string][] = [
  ['=', 'lookahead, (?=…)'],
  ['!', 'negative lookahead, (?!…)'],
  ['<=', 'lookbehind, (?<=…)'],
  ['<!', 'negative lookbehind, (?<!…)'],
  ['>', 'atomic groups, (?>…)'],
  ['(', 'conditions, (?(…)…)'],
]

/** Escapes of Java that RE2 has not, or that mean something else there. */
const escapes: Readonly<Record<string, string>> = {
  k: 'backreferences, \\k<…>',
  G: 'the end of the last match, \\G',
  X: 'grapheme clusters, \\X',
  R: 'line breaks, \\R',
  Z: 'the end before a line break, \\Z; say \\z or $',
  h: 'horizontal space, \\h',
  H: 'horizontal space, \\H',
  v: 'vertical space, \\v',
  V: 'vertical space, \\V',
  N: 'named characters, \\N',
  c: 'control characters, \\c; paths have those percent-encoded',
  e: 'control characters, \\e; paths have those percent-encoded',
  u: 'code points as \\u…; say \\x{…}',
  0: 'octal numbers, \\0…; say \\x{…}',
  C: 'single bytes, \\C',
}

const quantifier = /^(?:[*+?]|\{\d+(?:,\d*)?\})/
/** Flags that mean the same in Java and in RE2. */
const flags = /^[ims-]*[:)]/

/**
 * Checks that a pattern of java.util.regex means the same to RE2. Throws GantryError NOT_ACCEPTED that names the first
 * construct which has no counterpart there; what is no pattern at all RE2 says itself.
 */
export function checkJava(text: string): void {
  let isClass = false
  for (let at = 0; at < text.length;) {
    const rest = text.slice(at)
    if (rest.startsWith('\\')) at += checkEscape(rest)
    else if (isClass) {
      if (rest.startsWith('[')) throw refused('classes inside of classes, [a[b]]; write \\[ for the bracket')
      if (rest.startsWith('&&')) throw refused('intersections of classes, [a&&b]')
      if (rest.startsWith(']')) isClass = false
      at++
    } else if (rest.startsWith('[')) {
      isClass = true
      // A bracket that comes first is one of the characters.
      at += /^\[\^?\]?/.exec(rest)![0].length
    } else if (rest.startsWith('(?')) {
      checkGroup(rest.slice(2))
      at += 2
    } else {
      at += checkQuantifier(rest)
    }
  }
}

/** @returns length of what was read */
function checkEscape(rest: string): number {
  const character = rest[1] ?? ''
  if (/[1-9]/.test(character)) throw refused(`backreferences, \\${character}`)
  const name = Object.hasOwn(escapes, character) ? escapes[character] : undefined
  if (name !== undefined) throw refused(name)
  if (character !== 'Q') return 2
  const end = rest.indexOf('\\E')
  return end < 0 ? rest.length : end + 2
}

function checkGroup(rest: string): void {
  for (const [start, name] of groups) {
    if (rest.startsWith(start)) throw refused(name)
  }
  const isNamed = /^P?<[A-Za-z]/.test(rest)
  if (!isNamed && !flags.test(rest)) throw refused(`flags other than i, m and s: (?${rest.slice(0, 3)}…`)
}

/** @returns length of what was read */
function checkQuantifier(rest: string): number {
  const length = quantifier.exec(rest)?.[0].length
  if (length === undefined) return 1
  if (rest[length] === '+') throw refused(`possessive quantifiers, ${rest.slice(0, length + 1)}`)
  return rest[length] === '?' ? length + 1 : length
}

const refused = (construct: string) =>
  refusedPattern(`has what is not supported (see docs/RULES.md#patterns): ${construct}`)
