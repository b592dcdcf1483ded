import { agents } from '../../../subjects/migrations/agents.ts'
import type { Migration } from '../../../subjects/migrations/model/model.ts'
import { useAnswer } from '../../data/calls.ts'
import { optionText } from '../../kit/format.ts'

/** What moves the files of a migration: as it says, or as the agent settings do. */
export function MovedBy({ migration: { movedBy } }: { readonly migration: Migration }) {
  const settings = useAnswer(agents['get-settings'], {}, { isWanted: movedBy === undefined })
  if (movedBy !== undefined) return optionText(movedBy).toLowerCase()
  const usual = settings.data?.movedBy
  return usual === undefined ? 'default' : `${optionText(usual).toLowerCase()} (default)`
}
