import type { Output } from '../../../subjects/kit/contract.ts'
import { agents } from '../../../subjects/migrations/agents.ts'
import { Action } from '../../kit/action.tsx'
import { sizeText, rateText } from '../../../subjects/kit/binary-size.ts'
import { countText } from '../../kit/format.ts'
import { Named } from '../../kit/named.tsx'
import { Status } from '../../kit/status.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { timeColumn } from '../../kit/time-column.tsx'

type Agent = Output<(typeof agents)['get']>

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
  timeColumn('Connected', ({ connected }) => connected),
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
    needs: [agents.remove],
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

export const AgentTable = ({ agents: shown }: { readonly agents: readonly Agent[] }) => (
  <Table label="Agents" rows={shown} columns={columns} idOf={({ name }) => name} />
)
