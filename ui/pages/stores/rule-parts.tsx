import { listed } from '../../../subjects/kit/plural.ts'
import type { RuleView } from '../../../subjects/migrations/model/rules.ts'
import { ruleContracts, type RuleList } from '../../data/rules.ts'
import { Action } from '../../kit/action.tsx'

export const originOf = (rule: RuleView) =>
  rule.fsRestriction
    ? 'target restriction'
    : rule.sourceFsExclusion
      ? 'source kind'
      : rule.globalExclusion
        ? 'all migrations'
        : 'user-defined'

/** What comes with the platform stays. */
export const isOwn = (rule: RuleView): boolean => originOf(rule) === 'user-defined'

/** Deletes a rule that no migration uses. @param users names of migrations */
export const DeleteRule = ({
  effect,
  id,
  users,
  onDone,
  ...shown
}: {
  readonly effect: RuleList
  readonly id: string
  readonly users: readonly string[]
  /** Which one, where several of them stand on a page. */
  readonly of?: string
  readonly isSmall?: boolean
  readonly onDone?: () => void
}) => (
  <Action
    contract={ruleContracts[effect].delete}
    input={{ id }}
    {...shown}
    unless={
      users.length === 0
        ? undefined
        : `In use by ${listed('migration', users)}: remove it under Rules of the migration first.`
    }
    confirm={{ name: id, warning: 'A rule that a migration uses cannot be deleted.' }}
    {...(onDone && { onDone })}
  >
    Delete
  </Action>
)
