import { Group, Text } from '@mantine/core'
import { useMemo, useState } from 'react'
import type { Contract, Output } from '../../../subjects/kit/contract.ts'
import { type AlertKindName, kindOf } from '../../../subjects/observability/alert-model.ts'
import { alerts } from '../../../subjects/observability/alerts.ts'
import { pollMs, useAll } from '../../data/calls.ts'
import { useAnswer } from '../../data/calls.ts'
import { useEvents } from '../../data/events.ts'
import { reportOutcome } from '../../data/outcomes.ts'
import { Action } from '../../kit/action.tsx'
import { Empty } from '../../kit/empty.tsx'
import { FormDialog } from '../../kit/form-dialog.tsx'
import { durationText } from '../../kit/format.ts'
import { MigrationLink } from '../../kit/migration-link.tsx'
import { Named, Time } from '../../kit/named.tsx'
import { Page } from '../../kit/page.tsx'
import type { Choices } from '../../kit/schema-fields.tsx'
import { Status } from '../../kit/status.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { dateColumn, timeColumn } from '../../kit/time-column.tsx'
import { Tabs } from '../../kit/tabs.tsx'
import { TokenOnce } from '../../kit/token-once.tsx'
import { useParam } from '../../kit/use-param.ts'

/** What needs somebody, by which rules, and where it is sent. */
export default function AlertsPage() {
  useEvents(alerts.list.resource)
  const [tab] = useParam('tab')
  return (
    <Page title="Alerts" contract={shownBy[tab] ?? alerts.list}>
      <Tabs label="Alerts" parts={{ Alerts: <Alerts />, Rules: <Rules />, Webhooks: <Webhooks /> }} />
    </Page>
  )
}

/** What the parts beside the first show the answer of. */
const shownBy: Readonly<Record<string, Contract>> = { Rules: alerts.rules, Webhooks: alerts.webhooks }

type Alert = Output<(typeof alerts)['get']>

const alertColumns: readonly Column<Alert>[] = [
  { label: 'State', cell: ({ state }) => <Status of={state} />, by: ({ state }) => state, width: 0.9 },
  { label: 'Rule', cell: ({ rule }) => <Named>{rule}</Named>, by: ({ rule }) => rule },
  {
    label: 'Severity',
    cell: ({ severity }) => <Status of={severity} />,
    by: ({ severity }) => severity,
    width: 0.95,
  },
  {
    label: 'Object',
    cell: ({ kind, object }) => {
      const { migrationOf } = kindOf(kind)
      return migrationOf === undefined ? (
        <Named>{object}</Named>
      ) : (
        <MigrationLink name={object} of={migrationOf} />
      )
    },
    by: ({ object }) => object,
  },
  { label: 'Summary', cell: ({ summary }) => <Named>{summary}</Named>, width: 2 },
  timeColumn('Fired', ({ fired }) => fired),
  timeColumn('Resolved', ({ resolved }) => resolved),
]

function Alerts() {
  const { data } = useAnswer(alerts.list, {})
  if (data?.length === 0) return <Empty>No alert has fired.</Empty>
  return (
    <Table
      label="Alerts"
      rows={data ?? []}
      columns={alertColumns}
      idOf={({ id }) => id}
      searchedIn={({ object, summary }) => [object, summary]}
    />
  )
}

type Rule = Output<(typeof alerts)['rules']>[number]

function thresholdText({ kind, threshold }: Rule): string {
  const unit = kindOf(kind).threshold?.unit
  if (threshold === undefined || unit === undefined) return '–'
  return unit === 's' ? durationText(threshold) : `${threshold} ${unit}`
}

/** Fields that only some kinds have, and a threshold in its unit. @param usual the kind, where none is entered */
function ofKind(usual: AlertKindName) {
  const chosen = ({ kind = usual }: { readonly kind?: unknown }) => kindOf(kind as AlertKindName)
  return {
    hidden: (input: object) => {
      const { threshold, hasWindow = false, isOnly = false } = chosen(input)
      return [
        ...(threshold === undefined ? ['threshold'] : []),
        ...(hasWindow ? [] : ['windowSeconds']),
        // There is but one.
        ...(isOnly ? ['object'] : []),
      ]
    },
    helps: (input: object) => {
      const { threshold, object, isOnly = false } = chosen(input)
      return {
        ...(threshold !== undefined && { threshold: `In ${threshold.meaning}` }),
        ...(!isOnly && { object: `Only for this ${object}; if empty, the rule is for all` }),
        windowSeconds: 'Time over which the share is measured',
      }
    },
  }
}

const ruleColumns: readonly Column<Rule>[] = [
  { label: 'Name', cell: ({ name }) => <Named>{name}</Named>, by: ({ name }) => name, width: 1.3 },
  {
    label: 'Kind',
    cell: ({ kind, object = '' }) => <Named>{`${kind} ${object}`}</Named>,
    by: ({ kind }) => kind,
    width: 1.3,
  },
  {
    label: 'Description',
    cell: ({ description, warning }) => (
      <>
        <Named>{description}</Named>
        {warning !== undefined && (
          <Text size="sm" role="note">
            <Status of="warning" /> <Named>{warning}</Named>
          </Text>
        )}
      </>
    ),
    width: 1.8,
  },
  { label: 'Threshold', cell: thresholdText },
  { label: 'For', cell: ({ forSeconds }) => durationText(forSeconds), width: 0.75 },
  { label: 'Severity', cell: ({ severity }) => <Status of={severity} />, width: 0.95 },
  { label: 'Enabled', cell: ({ enabled }) => (enabled ? 'yes' : 'no'), width: 0.9 },
  {
    label: 'Actions',
    needs: [alerts['put-rule'], alerts['delete-rule']],
    cell: ({ builtIn, kind, name, warning: _warning, ...rule }) => (
      <Group gap={4}>
        <FormDialog
          button="Change"
          of={name}
          title={`Change ${name}`}
          contract={alerts['put-rule']}
          verb="Save"
          given={{ name }}
          initial={builtIn ? rule : { ...rule, kind }}
          {...ofKind(kind)}
          isSmall
        />
        <Action
          contract={alerts['delete-rule']}
          input={{ name }}
          of={name}
          isSmall
          confirm={{
            name,
            warning: builtIn
              ? 'The built-in rule is reset to its defaults, and its alerts are resolved.'
              : 'The alerts of this rule are resolved.',
          }}
        >
          {builtIn ? 'Reset' : 'Delete'}
        </Action>
      </Group>
    ),
    width: 1.6,
  },
]

function Rules() {
  const { data = [] } = useAll(alerts.rules, ({ name }) => name, { everyMs: pollMs })
  return (
    <>
      <Group mb="sm">
        <FormDialog
          button="Create a rule"
          contract={alerts['put-rule']}
          verb="Create"
          needed={['kind']}
          initial={{ kind: 'migration-failed', severity: 'warning', enabled: true }}
          {...ofKind('migration-failed')}
        />
      </Group>
      <Table label="Alert rules" rows={data} columns={ruleColumns} idOf={({ name }) => name} />
    </>
  )
}

type Webhook = Output<(typeof alerts)['webhooks']>[number]

/** @param choices rules to choose from */
const webhookColumns = (choices: Choices): readonly Column<Webhook>[] => [
  { label: 'Name', cell: ({ name }) => <Named>{name}</Named>, by: ({ name }) => name, width: 0.9 },
  { label: 'URL', cell: ({ url }) => <Named>{url}</Named>, width: 1.7 },
  { label: 'Rules', cell: ({ rules }) => <Named>{rules?.join(', ') ?? 'all'}</Named>, width: 0.8 },
  { label: 'Enabled', cell: ({ enabled }) => (enabled ? 'yes' : 'no'), width: 0.9 },
  { label: 'Pending', cell: ({ waiting }) => waiting, width: 0.9 },
  dateColumn('Last success', ({ lastSuccess }) => lastSuccess?.time),
  {
    label: 'Last failure',
    cell: ({ lastFailure }) => (
      <>
        <Time at={lastFailure?.time} /> <Named>{lastFailure?.problem ?? ''}</Named>
      </>
    ),
    width: 2.1,
  },
  {
    label: 'Actions',
    needs: [alerts['test-webhook'], alerts['put-webhook'], alerts['delete-webhook']],
    cell: ({ name, url, enabled, rules }) => (
      <Group gap={4}>
        <Action
          contract={alerts['test-webhook']}
          input={{ name }}
          of={name}
          isSmall
          onDone={({ delivered, problem, elapsedMs }) =>
            reportOutcome(
              delivered ? `Delivered to ${name} in ${elapsedMs} ms` : `Not delivered to ${name}`,
              delivered ? undefined : new Error(problem),
            )
          }
        >
          Test
        </Action>
        <FormDialog
          button="Change"
          of={name}
          title={`Change ${name}`}
          contract={alerts['put-webhook']}
          verb="Save"
          choices={choices}
          given={{ name }}
          initial={{ url, enabled, ...(rules && { rules }) }}
          secrets={['secret']}
          isSmall
        />
        <Action
          contract={alerts['delete-webhook']}
          input={{ name }}
          of={name}
          isSmall
          confirm={{ name, warning: 'Pending messages are deleted.' }}
        >
          Delete
        </Action>
      </Group>
    ),
    width: 1.65,
  },
]

function Webhooks() {
  const { data } = useAnswer(alerts.webhooks, {}, { everyMs: pollMs })
  const { data: rules = [] } = useAll(alerts.rules, ({ name }) => name)
  const choices = useMemo(() => ({ rules: rules.map(({ name }) => name) }), [rules])
  const columns = useMemo(() => webhookColumns(choices), [choices])
  const [secret, setSecret] = useState<string>()
  return (
    <>
      <Group mb="sm">
        <FormDialog
          button="Add a webhook"
          contract={alerts['put-webhook']}
          verb="Add"
          needed={['url']}
          choices={choices}
          secrets={['secret']}
          onDone={(added) => setSecret(added.secret)}
        />
      </Group>
      {data?.length === 0 && (
        <Empty>There are no webhooks yet. A webhook receives each alert as a signed request.</Empty>
      )}
      {data !== undefined && data.length > 0 && (
        <Table
          label="Webhooks"
          rows={data}
          columns={columns}
          idOf={({ name }) => name}
          searchedIn={({ name, url }) => [name, url]}
        />
      )}
      <TokenOnce
        title="Signing secret"
        token={secret}
        use="Each message is signed with it, as Standard Webhooks describes. Give it to the receiver, so that it can check the signature."
        onClose={() => setSecret(undefined)}
      />
    </>
  )
}
