import { RE2JS, RE2JSException } from 're2js'
import type { PatternType } from '../../../subjects/migrations/model/rules.ts'
import { fromAutomaton } from './automaton.ts'
import { fromGlob } from './glob.ts'
import { checkJava } from './java.ts'
import { refusedPattern } from './refused.ts'

/**
 * Instructions of a compiled pattern: matching costs at worst a step for each of them and each character, which for the
 * longest path that there is takes a fifth of a second, and for a usual one a few milliseconds.
 */
const maxProgramSize = 2_000

/** Of all patterns of a migration, which are matched together: 700 of a usual kind have 20,000. */
export const maxProgramSizeOfAll = 30_000

/** Instructions of a pattern. Throws what `translate` throws. */
export function programSizeOf(type: PatternType, text: string): number {
  return RE2JS.compile(translate(type, text)).programSize()
}

/** Nothing is repeated by the star that it begins with. */
const looksLikeGlob = /^\*/

/**
 * A pattern of a person as one of RE2, whose matching takes time in proportion to the text whatever the pattern is. It
 * must match the whole path. Throws GantryError NOT_ACCEPTED, of the field `regex`, for what is no pattern, for what
 * cannot be matched in linear time, and for what is too large.
 */
export function translate(type: PatternType, text: string): string {
  const pattern = translated(type, text)
  let size: number
  try {
    size = RE2JS.compile(pattern).programSize()
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error
    const hint = type === 'GLOB' || !looksLikeGlob.test(text) ? '' : '. For a glob such as *.tmp, choose GLOB'
    throw refusedPattern(
      `is not a valid pattern: ${error.message.replace('error parsing regexp: ', '')}${hint}`,
      error,
    )
  }
  if (size > maxProgramSize) {
    throw refusedPattern(
      `is too large: it has ${size} steps, the most are ${maxProgramSize}; repeat less often`,
    )
  }
  return pattern
}

function translated(type: PatternType, text: string): string {
  switch (type) {
    case 'JAVA_PCRE':
      checkJava(text)
      return text
    case 'AUTOMATA':
      return fromAutomaton(text)
    case 'GLOB':
      return fromGlob(text)
  }
}
