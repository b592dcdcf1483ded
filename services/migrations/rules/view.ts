import {
  bytesOf,
  type Rule,
  type RuleEffect,
  type RuleView,
} from '../../../subjects/migrations/model/rules.ts'
import { globalExclusions, kindsOfType, originOf } from './defaults.ts'

const titles = {
  regex: 'Regex',
  fileSize: 'FileSize',
  date: 'Date',
  age: 'Age',
  paths: 'PathList',
} as const satisfies Record<Rule['type'], string>

/** A rule as callers see it. @param isWhole with the paths of a list, which may be long */
export function ruleView(effect: RuleEffect, rule: Rule, isWhole = false): RuleView {
  const origin = originOf(rule.id)
  return {
    id: rule.id,
    description: rule.description ?? '',
    type: `${titles[rule.type]}${effect === 'exclusion' ? 'Exclusion' : 'Inclusion'}`,
    fsRestriction: false,
    sourceFsExclusion: origin === 'kind',
    globalExclusion: origin === 'everywhere',
    defaultExclusion: origin !== undefined,
    ...(rule.deletedWith !== undefined && { deletedWith: rule.deletedWith }),
    ...fieldsOf(rule, isWhole),
  }
}

function fieldsOf(rule: Rule, isWhole: boolean): Partial<RuleView> {
  switch (rule.type) {
    case 'regex':
      return { patternType: rule.patternType ?? 'JAVA_PCRE', regex: rule.regex }
    case 'fileSize': {
      const { value, unit } = rule
      return { maxBytes: bytesOf(value, unit), displayUnit: unit, maxBytesFormatted: `${value} ${unit}` }
    }
    case 'date': {
      const beforeMs = Date.parse(rule.beforeIsoDateTime)
      return { beforeDateEpochMillis: beforeMs, beforeDateUtc: rule.beforeIsoDateTime }
    }
    case 'age':
      return { timeValue: rule.timeValue, timeUnit: rule.timeUnit }
    case 'paths':
      return { pathCount: rule.paths.length, ...(isWhole ? { paths: rule.paths } : {}) }
  }
}

/** The exclusions of new migrations, whatever their source is. */
export const globalViews = (): RuleView[] => globalExclusions.map((rule) => ruleView('exclusion', rule))

/** Kinds that are ways to the same service have the same ones. */
const eachOnce = <T extends { readonly id: string }>(all: readonly T[]): T[] => [
  ...new Map(all.map((one) => [one.id, one])).values(),
]

/** The exclusions that come with kinds of sources. */
export const defaultViews = (fsType?: string): RuleView[] =>
  eachOnce(kindsOfType(fsType).flatMap(({ exclusions }) => exclusions)).map((rule) =>
    ruleView('exclusion', rule),
  )

/** What kinds of targets cannot hold. */
export const restrictionViews = (fsType?: string): RuleView[] =>
  eachOnce(kindsOfType(fsType).flatMap(({ restrictions }) => restrictions)).map(({ id, description }) => ({
    id,
    description,
    type: 'RestrictionExclusion',
    fsRestriction: true,
    sourceFsExclusion: false,
    globalExclusion: false,
    defaultExclusion: false,
  }))
