import { Link } from '@tanstack/react-router'
import type { Output } from '../../../subjects/kit/contract.ts'
import { extensions } from '../../../subjects/extensions/extensions.ts'
import { pollMs, useAll } from '../../data/calls.ts'
import { Empty } from '../../kit/empty.tsx'
import { countText } from '../../kit/format.ts'
import { Named } from '../../kit/named.tsx'
import { Page } from '../../kit/page.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { timeColumn } from '../../kit/time-column.tsx'

type Extension = Output<(typeof extensions)['list']>[number]

const columns: readonly Column<Extension>[] = [
  {
    label: 'Name',
    cell: ({ prefix, name }) => (
      <Link to="/extensions/$prefix" params={{ prefix }}>
        <Named>{name}</Named>
      </Link>
    ),
    by: ({ name }) => name,
    width: 2,
  },
  { label: 'Prefix', cell: ({ prefix }) => prefix, by: ({ prefix }) => prefix },
  { label: 'Version', cell: ({ version }) => <Named>{version}</Named> },
  { label: 'Description', cell: ({ description = '' }) => <Named>{description}</Named>, width: 2 },
  { label: 'Owner', cell: ({ owner }) => <Named>{owner}</Named>, by: ({ owner }) => owner },
  { label: 'Instances', cell: ({ instances }) => countText(instances), by: ({ instances }) => instances },
  timeColumn('Since', ({ since }) => since),
]

/** Programs that extend the platform. */
export default function ExtensionsPage() {
  const { data, error } = useAll(extensions.list, ({ prefix }) => prefix, { everyMs: pollMs })
  return (
    <Page title="Extensions" error={error} contract={extensions.list}>
      {data?.length === 0 && (
        <Empty>
          There are no extensions that you can see. An extension connects with{' '}
          <Link to="/account/keys">its own API key</Link>. To see it, users need a role that lists it under
          Visible extensions, and permission to subscribe to its subjects.
        </Empty>
      )}
      {data !== undefined && data.length > 0 && (
        <Table
          label="Extensions"
          rows={data}
          columns={columns}
          idOf={({ prefix }) => prefix}
          searchedIn={({ prefix, name, description = '' }) => [prefix, name, description]}
        />
      )}
    </Page>
  )
}
