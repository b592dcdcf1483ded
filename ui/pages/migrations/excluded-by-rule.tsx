import { Text } from '@mantine/core'
import { exclusions } from '../../../subjects/rules/exclusions.ts'
import type { RuleView } from '../../../subjects/migrations/model/rules.ts'
import { useAnswer } from '../../data/calls.ts'
import { countText } from '../../kit/format.ts'
import { Section } from '../../kit/page.tsx'
import { RuleLink } from '../../kit/rule-link.tsx'
import { RuleMatches } from '../../kit/rule-matches.tsx'
import { Status } from '../../kit/status.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { type Excluding, excludingIn, type PlanView } from './excluding.ts'

const columns = (isComplete: boolean, known: readonly RuleView[]): readonly Column<Excluding>[] => [
  {
    label: 'Exclusion',
    cell: ({ id, files, folders }) => (
      <>
        {id === undefined ? 'No inclusion matches' : <RuleLink id={id} effect="exclusions" />}
        {isComplete && files + folders === 0 && (
          <div>
            <Status of="leaves out nothing" />
          </div>
        )}
      </>
    ),
    width: 1.5,
  },
  {
    label: 'Matches',
    cell: ({ id }) => {
      const rule = known.find((one) => one.id === id)
      return rule === undefined ? '–' : <RuleMatches rule={rule} />
    },
    width: 2,
  },
  { label: 'Files', cell: ({ files }) => countText(files), by: ({ files }) => files },
  { label: 'Folders', cell: ({ folders }) => countText(folders), by: ({ folders }) => folders },
]

/** What each exclusion of a plan leaves out, and which of them leave out nothing. */
export function ExcludedByRule({
  plan,
  migrationId,
}: {
  readonly plan: PlanView
  readonly migrationId: string
}) {
  const { data: known = [], isLoading } = useAnswer(exclusions.attached, { migrationId })
  if (isLoading) return null
  const rows = excludingIn(plan, known)
  if (rows.length === 0) return null
  const isComplete = plan.status === 'COMPLETE'
  const hasIdle = isComplete && rows.some(({ files, folders }) => files + folders === 0)
  return (
    <Section title="Left out by rules">
      <Text size="sm" mb="sm">
        A path counts for the first exclusion that matches it, and what is in an excluded folder is not
        counted.
        {hasIdle &&
          ' An exclusion that leaves out nothing may be mistyped, or matches only what others leave out.'}
      </Text>
      <Table
        label="Left out by rules"
        rows={rows}
        columns={columns(isComplete, known)}
        idOf={({ id = '' }) => id}
      />
    </Section>
  )
}
