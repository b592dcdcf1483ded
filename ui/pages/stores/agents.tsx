import { useState } from 'react'
import { Code } from '@mantine/core'
import type { Output } from '../../../subjects/kit/contract.ts'
import { product } from '../../../subjects/kit/names.ts'
import { agentKeys, agents } from '../../../subjects/migrations/agents.ts'
import { useAll, useAnswer } from '../../data/calls.ts'
import { Action } from '../../kit/action.tsx'
import { Empty } from '../../kit/empty.tsx'
import { FormDialog } from '../../kit/form-dialog.tsx'
import { sizeText, rateText } from '../../../subjects/kit/binary-size.ts'
import { countText } from '../../kit/format.ts'
import { Named, Time } from '../../kit/named.tsx'
import { Page } from '../../kit/page.tsx'
import { Status } from '../../kit/status.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { TokenOnce } from '../../kit/token-once.tsx'

type Agent = Output<(typeof agents)['get']>

const everyMs = 5_000

const columns: readonly Column<Agent>[] = [
  {
    label: 'Name',
    cell: ({ name, host }) => <Named>{`${name} on ${host}`}</Named>,
    by: ({ name }) => name,
    width: 2,
  },
  {
    label: 'Health',
    cell: ({ health }) => (
      <>
        <Status of={health.status} />
        <Named>{health.lastHealthMessage}</Named>
      </>
    ),
    by: ({ health }) => health.status,
    width: 1.5,
  },
  { label: 'Connected', cell: ({ connected }) => <Time at={connected} />, width: 1.4 },
  { label: 'Migrations', cell: ({ migrations }) => <Named>{migrations.join(', ')}</Named>, width: 1.5 },
  {
    label: 'Throughput',
    cell: ({ bytesPerSecond }) => rateText(bytesPerSecond),
    by: ({ bytesPerSecond }) => bytesPerSecond,
  },
  {
    label: 'Copied',
    cell: ({ transferredBytes, transferredFiles }) =>
      `${countText(transferredFiles)} files, ${sizeText(transferredBytes)}`,
    by: ({ transferredBytes }) => transferredBytes,
  },
  {
    label: 'Failures',
    cell: ({ transferFailures }) => countText(transferFailures),
    by: ({ transferFailures }) => transferFailures,
  },
  {
    label: 'Actions',
    cell: ({ name }) => (
      <Action
        contract={agents.remove}
        input={{ name }}
        of={name}
        isSmall
        confirm={{
          name,
          warning:
            'The agent finishes its current work and stops. Its key stays valid: revoke it too, so that the agent cannot reconnect.',
        }}
      >
        Remove
      </Action>
    ),
  },
]

/** Who moves the files, beside the platform itself. */
export default function AgentsPage() {
  const { data, error } = useAll(agents.list, ({ name }) => name, { everyMs })
  const settings = useAnswer(agents['get-settings'], {})
  const [token, setToken] = useState<string>()
  return (
    <Page
      title="Agents"
      error={error}
      contract={agents.list}
      actions={
        <>
          {settings.data && (
            <FormDialog
              button="Agent settings"
              contract={agents['put-settings']}
              verb="Save"
              initial={settings.data}
            />
          )}
          <FormDialog
            button="Register an agent"
            isMain
            contract={agentKeys.register}
            verb="Register"
            onDone={(key) => setToken(key.token)}
          />
        </>
      }
    >
      {data?.length === 0 && (
        <Empty>
          There are no agents. A transfer agent copies files from another host. Register it here, then start
          it on that host with <Code>{`${product} agent`}</Code> and its token.
        </Empty>
      )}
      {data !== undefined && data.length > 0 && (
        <Table label="Agents" rows={data} columns={columns} idOf={({ name }) => name} />
      )}
      <TokenOnce title="Agent token" token={token} onClose={() => setToken(undefined)} />
    </Page>
  )
}
