import { exclusions } from '../../../subjects/rules/exclusions.ts'
import { inclusions } from '../../../subjects/rules/inclusions.ts'
import { listed } from '../../../subjects/kit/plural.ts'
import type { RuleView } from '../../../subjects/migrations/model/rules.ts'
import { pollMs, useAll } from '../../data/calls.ts'
import { useMigrations } from '../../data/migrations.ts'
import { Action } from '../../kit/action.tsx'
import { CreateRule } from '../../kit/create-rule.tsx'
import { Empty } from '../../kit/empty.tsx'
import { Named } from '../../kit/named.tsx'
import { Page } from '../../kit/page.tsx'
import { ruleText } from '../../kit/rule-text.ts'
import { RuleMatches } from '../../kit/rule-matches.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { Tabs } from '../../kit/tabs.tsx'
import { useParam } from '../../kit/use-param.ts'

/** What migrations leave out, and what they are about. */
export default function RulesPage() {
  const [tab] = useParam('tab')
  return (
    <Page title="Rules" contract={tab === 'Inclusions' ? inclusions.list : exclusions.list}>
      <Tabs
        label="Kinds of rules"
        parts={{
          Exclusions: <Rules contracts={exclusions} what="exclusion" />,
          Inclusions: <Rules contracts={inclusions} what="inclusion" />,
        }}
      />
    </Page>
  )
}

type Contracts = typeof exclusions | typeof inclusions

const originOf = (rule: RuleView) =>
  rule.fsRestriction
    ? 'target restriction'
    : rule.sourceFsExclusion
      ? 'source kind'
      : rule.globalExclusion
        ? 'all migrations'
        : 'user-defined'

/** What comes with the platform does not stand before what somebody has made. */
const ownFirst = (rules: readonly RuleView[]): readonly RuleView[] => {
  const isOwn = (rule: RuleView) => originOf(rule) === 'user-defined'
  return [...rules.filter(isOwn), ...rules.filter((rule) => !isOwn(rule))]
}

/** Why a rule has to stay. @param users names of migrations */
const inUse = (users: readonly string[]): string | undefined =>
  users.length === 0
    ? undefined
    : `In use by ${listed('migration', users)}: remove it under Rules of the migration first.`

function Rules({ contracts, what }: { readonly contracts: Contracts; readonly what: string }) {
  const { data } = useAll(contracts.list, ({ id }) => id, { everyMs: pollMs })
  const { data: migrations = [] } = useMigrations()
  const usersOf = (id: string) =>
    migrations
      .filter(({ userDefinedExclusions, inclusions: included }) =>
        (contracts === exclusions ? userDefinedExclusions : included).some((rule) => rule.id === id),
      )
      .map(({ migrationId }) => migrationId)
  const columns: readonly Column<RuleView>[] = [
    { label: 'Name', cell: ({ id }) => <Named>{id}</Named>, width: 1.5 },
    { label: 'Matches', cell: (rule) => <RuleMatches rule={rule} />, width: 4 },
    { label: 'Origin', cell: originOf },
    {
      label: 'Actions',
      needs: [contracts.delete],
      cell: (rule) =>
        originOf(rule) === 'user-defined' && (
          <Action
            contract={contracts.delete}
            input={{ id: rule.id }}
            of={rule.id}
            isSmall
            unless={inUse(usersOf(rule.id))}
            confirm={{ name: rule.id, warning: 'A rule that a migration uses cannot be deleted.' }}
          >
            Delete
          </Action>
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
