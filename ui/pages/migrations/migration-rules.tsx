import { Alert, Text } from '@mantine/core'
import { useState } from 'react'
import type { Output } from '../../../subjects/kit/contract.ts'
import type { Migration } from '../../../subjects/migrations/model/model.ts'
import type { RuleView } from '../../../subjects/migrations/model/rules.ts'
import { exclusions } from '../../../subjects/rules/exclusions.ts'
import { migrations } from '../../../subjects/migrations/migrations.ts'
import { mayCall, useAll, useAnswer, useCommand } from '../../data/calls.ts'
import { useSession } from '../../data/session-context.ts'
import { Action } from '../../kit/action.tsx'
import { ContractForm } from '../../kit/contract-form.tsx'
import { CreateRule } from '../../kit/create-rule.tsx'
import { FormDialog } from '../../kit/form-dialog.tsx'
import { Named } from '../../kit/named.tsx'
import { Section } from '../../kit/page.tsx'
import { RuleLink } from '../../kit/rule-link.tsx'
import { RuleMatches } from '../../kit/rule-matches.tsx'
import { Status } from '../../kit/status.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { ruleContracts, type RuleList } from '../../data/rules.ts'

/** What a migration leaves out, and what it does with a path. */
export function MigrationRules({ migration }: { readonly migration: Migration }) {
  const { migrationId, pathMappings } = migration
  return (
    <>
      <Attached migrationId={migrationId} effect="exclusions" title="Exclusions" />
      <Attached migrationId={migrationId} effect="inclusions" title="Inclusions" />
      {pathMappings.length > 0 && (
        <Section title="Path mappings">
          {pathMappings.map(({ id, sourcePath, targetPath }) => (
            <Text key={id}>
              <Named>{`${sourcePath} → ${targetPath}`}</Named>
            </Text>
          ))}
        </Section>
      )}
      <TestPath migration={migration} />
    </>
  )
}

function Attached({
  migrationId,
  effect,
  title,
}: {
  readonly migrationId: string
  readonly effect: RuleList
  readonly title: string
}) {
  const contracts = ruleContracts[effect]
  const { data = [] } = useAnswer(contracts.attached, { migrationId })
  const { data: all = [] } = useAll(contracts.list, ({ id }) => id)
  const changes = [migrations.get.resource]
  const session = useSession()
  const attach = useCommand(contracts.attach, { changes })
  const columns: readonly Column<RuleView>[] = [
    { label: 'Name', cell: ({ id }) => <RuleLink id={id} effect={effect} />, by: ({ id }) => id },
    { label: 'Matches', cell: (rule) => <RuleMatches rule={rule} />, width: 2 },
    {
      label: 'Actions',
      needs: [contracts.detach],
      cell: ({ id, fsRestriction }) =>
        !fsRestriction && (
          <Action contract={contracts.detach} input={{ migrationId, id }} of={id} isSmall changes={changes}>
            Remove
          </Action>
        ),
    },
  ]
  const free = all.filter(({ id, fsRestriction }) => !fsRestriction && data.every((rule) => rule.id !== id))
  return (
    <Section
      title={title}
      actions={
        <>
          {free.length > 0 && (
            <FormDialog
              button="Add"
              of={title.toLowerCase()}
              title={`Add ${title.toLowerCase()}`}
              contract={contracts.attach}
              verb="Add"
              given={{ migrationId }}
              choices={{ id: free.map(({ id }) => id) }}
              changes={changes}
            />
          )}
          {mayCall(session, contracts.attach) && (
            <CreateRule
              contracts={contracts}
              what={title.toLowerCase().slice(0, -1)}
              isInline
              onDone={(id) => attach.mutate({ migrationId, id })}
            />
          )}
        </>
      }
    >
      {data.length === 0 ? (
        <Text>{`No ${title.toLowerCase()}.`}</Text>
      ) : (
        <Table label={title} rows={data} columns={columns} idOf={({ id }) => id} />
      )}
    </Section>
  )
}

/** What becomes of a path, and by which rule. */
function TestPath({ migration: { migrationId, path } }: { readonly migration: Migration }) {
  const session = useSession()
  const [verdict, setVerdict] = useState<Output<typeof exclusions.test>>()
  if (!mayCall(session, exclusions.test)) return null
  return (
    <Section title="Test a path">
      <ContractForm
        contract={exclusions.test}
        verb="Test"
        given={{ migrationId }}
        initial={{ path, patternType: 'GLOB' }}
        unsaid={/^Without one|^With a pattern/}
        mayBeSent={async () => {
          // What was said of another path does not stay beside an error.
          setVerdict(undefined)
          return true
        }}
        onDone={setVerdict}
      />
      {verdict && (
        <Alert role="status" mt="sm" title={<Status of={verdict.decision} />}>
          <Named>{`${verdict.path}: ${verdict.explanation}`}</Named>
        </Alert>
      )}
    </Section>
  )
}
