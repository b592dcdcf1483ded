import { filesystemKinds } from '../../../subjects/filesystems/kinds.ts'
import { type StoreKind, storeKinds } from '../../drivers/index.ts'
import {
  bytesOf,
  type Rule,
  type RuleEffect,
  type RuleView,
} from '../../../subjects/migrations/model/rules.ts'

const kinds: readonly StoreKind[] = Object.values(storeKinds)
const defaults = new Map(
  kinds.flatMap(({ exclusions }) => exclusions).map((rule): [string, Rule] => [rule.id, rule]),
)

/** The default exclusion of this name. */
export const defaultRule = (id: string): Rule | undefined => defaults.get(id)

const titles = {
  regex: 'Regex',
  fileSize: 'FileSize',
  date: 'Date',
  age: 'Age',
  paths: 'PathList',
} as const satisfies Record<Rule['type'], string>

/** A rule as callers see it. @param isWhole with the paths of a list, which may be long */
export function ruleView(effect: RuleEffect, rule: Rule, isWhole = false): RuleView {
  const isDefault = defaults.has(rule.id)
  return {
    id: rule.id,
    description: rule.description ?? '',
    type: `${titles[rule.type]}${effect === 'exclusion' ? 'Exclusion' : 'Inclusion'}`,
    fsRestriction: false,
    sourceFsExclusion: isDefault,
    globalExclusion: false,
    defaultExclusion: isDefault,
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

const hasType =
  (fsType: string | undefined) =>
  ({ kind }: StoreKind) =>
    fsType === undefined || filesystemKinds[kind].fsType === fsType

/** The exclusions that come with kinds of sources. */
export const defaultViews = (fsType?: string): RuleView[] =>
  kinds
    .filter(hasType(fsType))
    .flatMap(({ exclusions }) => exclusions)
    .map((rule) => ruleView('exclusion', rule))

/** What kinds of targets cannot hold. */
export const restrictionViews = (fsType?: string): RuleView[] =>
  kinds
    .filter(hasType(fsType))
    .flatMap(({ restrictions }) => restrictions)
    .map(({ id, description }) => ({
      id,
      description,
      type: 'RestrictionExclusion',
      fsRestriction: true,
      sourceFsExclusion: false,
      globalExclusion: false,
      defaultExclusion: false,
    }))
