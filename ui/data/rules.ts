import { useQueries } from '@tanstack/react-query'
import type { Migration } from '../../subjects/migrations/model/model.ts'
import { exclusions } from '../../subjects/rules/exclusions.ts'
import { inclusions } from '../../subjects/rules/inclusions.ts'
import { keyOf, mayCall } from './calls.ts'
import { useMigrations } from './migrations.ts'
import { useSession } from './session-context.ts'

/** Rules by what they do to the paths that they match. */
export const ruleContracts = { exclusions, inclusions } as const
export type RuleList = keyof typeof ruleContracts

const has = (rules: readonly { readonly id: string }[], id: string): boolean =>
  rules.some((rule) => rule.id === id)

/** Whether a list of migrations had no room for the rules of this one. */
const lacksRules = ({ exclusions: excluding, inclusions: including, ruleCount }: Migration): boolean =>
  excluding.length + including.length < ruleCount

/** The migrations that use a rule; undefined until that is known, and for those who may not see it. */
export function useUsersOf(effect: RuleList, id: string): readonly Migration[] | undefined {
  const session = useSession()
  const contract = ruleContracts[effect].attached
  const { data: all, isPartial } = useMigrations()
  const lacking = mayCall(session, contract) ? (all ?? []).filter(lacksRules) : []
  const asked = useQueries({
    queries: lacking.map(({ migrationId }) => ({
      queryKey: keyOf(contract, { migrationId }),
      queryFn: () => session.call(contract, { migrationId }),
    })),
  })
  if (all === undefined || isPartial || asked.some(({ isLoading }) => isLoading)) return undefined
  const found = new Set(
    lacking.flatMap(({ migrationId }, index) => (has(asked[index]?.data ?? [], id) ? [migrationId] : [])),
  )
  return all.filter((one) => has(one[effect], id) || found.has(one.migrationId))
}
