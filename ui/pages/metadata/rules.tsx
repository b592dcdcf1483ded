import { Group } from '@mantine/core'
import type { Output } from '../../../subjects/kit/contract.ts'
import { metadataRules } from '../../../subjects/metadata/rules.ts'
import { pollMs, useAll } from '../../data/calls.ts'
import { reportOutcome } from '../../data/outcomes.ts'
import { Action } from '../../kit/action.tsx'
import { Empty } from '../../kit/empty.tsx'
import { FormDialog } from '../../kit/form-dialog.tsx'
import { Named } from '../../kit/named.tsx'
import { Page } from '../../kit/page.tsx'
import { type Column, Table } from '../../kit/table.tsx'

type Rule = Output<(typeof metadataRules)['get']>

const columns: readonly Column<Rule>[] = [
  { label: 'Name', cell: ({ ruleName }) => <Named>{ruleName}</Named>, by: ({ ruleName }) => ruleName },
  { label: 'Databases', cell: ({ databasePattern }) => <Named>{databasePattern}</Named> },
  { label: 'Tables', cell: ({ tablePattern }) => <Named>{tablePattern}</Named> },
  {
    label: 'Actions',
    needs: [metadataRules.update, metadataRules.delete],
    cell: (rule) => (
      <Group gap={4}>
        <FormDialog
          button="Change"
          of={rule.ruleName}
          contract={metadataRules.update}
          verb="Save"
          given={{ ruleName: rule.ruleName }}
          initial={rule}
          isSmall
        />
        <Action
          contract={metadataRules.delete}
          input={{ ruleName: rule.ruleName }}
          of={rule.ruleName}
          isSmall
          confirm={{ name: rule.ruleName, warning: 'A rule that a migration uses cannot be deleted.' }}
        >
          Delete
        </Action>
      </Group>
    ),
    width: 1.4,
  },
]

/** Which databases and tables migrations of metadata are about. */
export default function MetadataRulesPage() {
  const { data, error } = useAll(metadataRules.list, ({ ruleName }) => ruleName, { everyMs: pollMs })
  return (
    <Page
      title="Metadata rules"
      error={error}
      contract={metadataRules.list}
      actions={
        <>
          <FormDialog
            button="Test a table"
            contract={metadataRules.test}
            verb="Test"
            onDone={({ ruleNames }, { table }) =>
              reportOutcome(
                ruleNames.length === 0
                  ? `No rule matches ${table}`
                  : `${table} matches ${ruleNames.join(', ')}`,
              )
            }
          />
          <FormDialog button="Create a rule" isMain contract={metadataRules.create} verb="Create" />
        </>
      }
    >
      {data?.length === 0 && (
        <Empty>
          There are no metadata rules yet. A rule selects the databases and tables of a metadata migration.
        </Empty>
      )}
      {data !== undefined && data.length > 0 && (
        <Table label="Metadata rules" rows={data} columns={columns} idOf={({ ruleName }) => ruleName} />
      )}
    </Page>
  )
}
