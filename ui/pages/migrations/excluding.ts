import type { Output } from '../../../subjects/kit/contract.ts'
import type { migrations } from '../../../subjects/migrations/migrations.ts'
import type { ExcludedByRule } from '../../../subjects/migrations/plan.ts'
import type { RuleView } from '../../../subjects/migrations/model/rules.ts'

export type PlanView = Output<typeof migrations.plan>

/** What an exclusion leaves out; without a name, what no inclusion matches. */
export type Excluding = Omit<ExcludedByRule, 'id'> & { readonly id?: string }

/** What leaves out something, and what somebody meant to. @param known rules of the migration, as far as they may be seen */
export function excludingIn(
  {
    excludedByRule,
    filesExcluded,
    foldersExcluded,
  }: Pick<PlanView, 'excludedByRule' | 'filesExcluded' | 'foldersExcluded'>,
  known: readonly Pick<RuleView, 'id' | 'defaultExclusion'>[],
): readonly Excluding[] {
  const defaults = new Set(known.filter((rule) => rule.defaultExclusion).map(({ id }) => id))
  const sum = (field: 'files' | 'folders') => excludedByRule.reduce((total, rule) => total + rule[field], 0)
  const others = { files: filesExcluded - sum('files'), folders: foldersExcluded - sum('folders') }
  return [
    // Most folders have nothing that a default exclusion is for.
    ...excludedByRule.filter(({ id, files, folders }) => files + folders > 0 || !defaults.has(id)),
    ...(others.files + others.folders > 0 ? [others] : []),
  ]
}
