import { GantryError, isGantryError, type Problem, notAccepted } from '../../../subjects/kit/errors.ts'
import { maxListLength, type Rule } from '../../../subjects/migrations/model/rules.ts'
import { pathFromText, textFromPath } from '../../drivers/paths/path-text.ts'
import { translate } from '../../engine/patterns/pattern.ts'

/** Words that a route of the product has in the place of an id. */
const reservedIds = new Set(['global', 'userDefined'])

/**
 * A rule as it is stored: its pattern known to be one, moments in UTC, paths in their one form.
 * @throws GantryError NOT_ACCEPTED that names the field
 */
export function normalRule(rule: Rule): Rule {
  if (reservedIds.has(rule.id)) throw notAccepted('id', `cannot be ${rule.id}; choose another`)
  switch (rule.type) {
    case 'regex':
      translate(rule.patternType ?? 'JAVA_PCRE', rule.regex)
      return rule
    case 'fileSize':
    case 'age':
      return rule
    case 'date':
      return { ...rule, beforeIsoDateTime: momentOf(rule.beforeIsoDateTime) }
    case 'paths':
      return { ...rule, paths: normalPaths(rule.paths) }
  }
}

/** Several of them; what is wrong with one says which it is. @throws GantryError NOT_ACCEPTED */
export const normalRules = (rules: readonly Rule[]): Rule[] =>
  rules.map((rule, index) => {
    try {
      return normalRule(rule)
    } catch (error) {
      if (!isGantryError(error, 'NOT_ACCEPTED')) throw error
      const [first] = error.details as Problem[]
      throw first === undefined ? error : notAccepted(`rules[${index}].${first.field}`, first.problem)
    }
  })

function momentOf(text: string): string {
  const ms = Date.parse(text)
  if (Number.isNaN(ms)) throw notAccepted('beforeIsoDateTime', 'must be a time such as 2026-01-31T12:00:00Z')
  return new Date(ms).toISOString()
}

function normalPaths(texts: readonly string[]): string[] {
  const paths = texts.map((text, index) => textFromPath(pathFromText(text, `paths[${index}]`)))
  const length = paths.reduce((sum, path) => sum + path.length, 0)
  if (length > maxListLength) {
    throw new GantryError(
      'TOO_LARGE',
      `the paths have ${length} characters in total, and the limit is ${maxListLength}; split them into several lists`,
    )
  }
  return [...new Set(paths)]
}
