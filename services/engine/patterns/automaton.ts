import { RE2JS } from 're2js'
import { refusedPattern } from './refused.ts'

/** What the syntax has beyond RE2. */
const missing: Readonly<Record<string, string>> = {
  '~': 'complements, ~; write \\~ for the character',
  '&': 'intersections, &; write \\& for the character',
  '<': 'intervals and names, <…>; write \\< for the character',
}

const quantifier = /^(?:[*+?]|\{\d+(?:,\d*)?\})/

/**
 * A pattern in the syntax of the automaton library (`dk.brics.automaton.RegExp`) as one of RE2: `@` is any text, `#` none,
 * `"…"` a text itself, a backslash makes any character itself, and `^` and `$` are characters like others. Throws
 * GantryError INVALID_INPUT that names what it cannot translate.
 */
export function fromAutomaton(text: string): string {
  let pattern = '(?s)'
  for (let at = 0; at < text.length;) {
    const rest = text.slice(at)
    const [read, written] = next(rest)
    pattern += written
    at += read
  }
  return pattern
}

/** @returns how much was read, and what it is to RE2 */
function next(rest: string): [read: number, written: string] {
  const [character = ''] = rest
  if (Object.hasOwn(missing, character)) {
    throw refusedPattern(`has what is not supported (see docs/RULES.md#patterns): ${missing[character]}`)
  }
  switch (character) {
    case '@':
      return [1, '(?:.*)']
    case '#':
      return [1, '[^\\x00-\\x{10FFFF}]']
    case '"':
      return quoted(rest)
    case '\\':
      return escaped(rest)
    case '[':
      return characterClass(rest)
    case '(':
      return [1, '(?:']
    case ')':
    case '|':
    case '.':
      return [1, character]
    default:
  }
  const repeated = quantifier.exec(rest)?.[0]
  if (repeated === undefined) return [character.length, RE2JS.quote(character)]
  if (quantifier.test(rest.slice(repeated.length))) {
    throw refusedPattern(`repeats a repetition, ${rest.slice(0, repeated.length + 1)}; say (…${repeated})…`)
  }
  return [repeated.length, repeated]
}

function quoted(rest: string): [number, string] {
  const end = rest.indexOf('"', 1)
  if (end < 0) throw refusedPattern('is not a valid pattern: a quotation mark is not closed')
  return [end + 1, `(?:${RE2JS.quote(rest.slice(1, end))})`]
}

function escaped(rest: string): [number, string] {
  const [character] = rest.slice(1)
  if (character === undefined) throw refusedPattern('is not a valid pattern: nothing follows a backslash')
  return [1 + character.length, RE2JS.quote(character)]
}

/** Characters and ranges; a backslash makes a character itself. */
function characterClass(rest: string): [number, string] {
  let at = rest.startsWith('[^') ? 2 : 1
  let written = rest.slice(0, at)
  for (; rest[at] !== ']'; at++) {
    const isEscaped = rest[at] === '\\'
    if (isEscaped) at++
    const [character] = rest.slice(at)
    if (character === undefined) throw refusedPattern('is not a valid pattern: a bracket is not closed')
    at += character.length - 1
    written += character === '-' && !isEscaped ? '-' : inClass(character)
  }
  return [at + 1, `${written}]`]
}

const inClass = (character: string): string => (/[\\\][^&-]/.test(character) ? `\\${character}` : character)
