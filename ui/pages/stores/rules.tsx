import { exclusions } from '../../../subjects/rules/exclusions.ts'
import { inclusions } from '../../../subjects/rules/inclusions.ts'
import type { RuleView } from '../../../subjects/migrations/model/rules.ts'
import { pollMs, useAll } from '../../data/calls.ts'
import { useMigrations } from '../../data/migrations.ts'
import { ruleContracts, type RuleList } from '../../data/rules.ts'
import { CreateRule } from '../../kit/create-rule.tsx'
import { Empty } from '../../kit/empty.tsx'
import { Named } from '../../kit/named.tsx'
import { Page } from '../../kit/page.tsx'
import { RuleLink } from '../../kit/rule-link.tsx'
import { ruleText } from '../../kit/rule-text.ts'
import { RuleMatches } from '../../kit/rule-matches.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { Tabs } from '../../kit/tabs.tsx'
import { useParam } from '../../kit/use-param.ts'
import { DeleteRule, isOwn, originOf } from './rule-parts.tsx'

/** What migrations leave out, and what they are about. */
export default function RulesPage() {
  const [tab] = useParam('tab')
  return (
    <Page title="Rules" contract={tab === 'Inclusions' ? inclusions.list : exclusions.list}>
      <Tabs
        label="Kinds of rules"
        parts={{
          Exclusions: <Rules effect="exclusions" what="exclusion" />,
          Inclusions: <Rules effect="inclusions" what="inclusion" />,
        }}
      />
    </Page>
  )
}

/** What comes with the platform does not stand before what somebody has made. */
const ownFirst = (rules: readonly RuleView[]): readonly RuleView[] => {
  return [...rules.filter(isOwn), ...rules.filter((rule) => !isOwn(rule))]
}

function Rules({ effect, what }: { readonly effect: RuleList; readonly what: string }) {
  const contracts = ruleContracts[effect]
  const { data } = useAll(contracts.list, ({ id }) => id, { everyMs: pollMs })
  const { data: migrations = [] } = useMigrations()
  const usersOf = (id: string) =>
    migrations
      .filter((one) => one[effect].some((rule) => rule.id === id))
      .map(({ migrationId }) => migrationId)
  const columns: readonly Column<RuleView>[] = [
    {
      label: 'Name',
      // What a target cannot hold is no rule that can be asked for.
      cell: ({ id, fsRestriction }) =>
        fsRestriction ? <Named>{id}</Named> : <RuleLink id={id} effect={effect} />,
      width: 1.5,
    },
    { label: 'Matches', cell: (rule) => <RuleMatches rule={rule} />, width: 4 },
    { label: 'Origin', cell: originOf },
    {
      label: 'Actions',
      needs: [contracts.delete],
      cell: (rule) =>
        isOwn(rule) && (
          <DeleteRule effect={effect} id={rule.id} users={usersOf(rule.id)} of={rule.id} isSmall />
        ),
    },
  ]
  return (
    <>
      <CreateRule contracts={contracts} what={what} isMain />
      {data?.length === 0 && <Empty>{`There are no ${what}s yet.`}</Empty>}
      {data !== undefined && data.length > 0 && (
        <Table
          label={`${what}s`}
          rows={ownFirst(data)}
          columns={columns}
          idOf={({ id }) => id}
          searchedIn={(rule) => [rule.id, rule.description, ruleText(rule)]}
        />
      )}
    </>
  )
}
