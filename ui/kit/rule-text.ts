import type { RuleView } from '../../subjects/migrations/model/rules.ts'
import { countOf } from './format.ts'

/** What a rule matches, in words. */
export function ruleText(rule: RuleView): string {
  const {
    regex,
    patternType,
    maxBytesFormatted,
    beforeDateUtc,
    timeValue,
    timeUnit,
    pathCount,
    description,
  } = rule
  if (regex !== undefined) return `${patternType === 'GLOB' ? 'glob' : 'pattern'} ${regex}`
  if (maxBytesFormatted !== undefined) return `files larger than ${maxBytesFormatted}`
  if (beforeDateUtc !== undefined) return `files changed before ${beforeDateUtc}`
  if (timeValue !== undefined)
    return `files changed in the last ${timeValue} ${(timeUnit ?? '').toLowerCase()}`
  if (pathCount !== undefined) return countOf(pathCount, 'path')
  return description
}
