import { Link, useNavigate, useParams } from '@tanstack/react-router'
import type { Output } from '../../../subjects/kit/contract.ts'
import { extensions } from '../../../subjects/extensions/extensions.ts'
import { extensionStorage } from '../../../subjects/extensions/storage.ts'
import { usage } from '../../../subjects/observability/usage.ts'
import { useAnswer } from '../../data/calls.ts'
import { Action } from '../../kit/action.tsx'
import { Download } from '../../kit/download.tsx'
import { Empty } from '../../kit/empty.tsx'
import { Fact, Facts } from '../../kit/facts.tsx'
import { Failure } from '../../kit/failure.tsx'
import { countText } from '../../kit/format.ts'
import { Named, Time } from '../../kit/named.tsx'
import { Page, Section } from '../../kit/page.tsx'
import { Status } from '../../kit/status.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { timeColumn } from '../../kit/time-column.tsx'
import { Tabs } from '../../kit/tabs.tsx'
import { Endpoints } from './endpoints.tsx'

type Details = Output<(typeof extensions)['show']>

/** One extension. */
export default function ExtensionPage() {
  const { prefix } = useParams({ strict: false }) as { readonly prefix: string }
  const navigate = useNavigate()
  const { data, error } = useAnswer(extensions.show, { prefix })
  return (
    <Page
      title={data?.name ?? prefix}
      of={{ to: '/extensions', label: 'Extensions' }}
      error={error}
      contract={extensions.show}
      input={{ prefix }}
      actions={
        data?.instances.length === 0 && (
          <Action
            contract={extensions.release}
            input={{ prefix }}
            confirm={{
              name: prefix,
              warning: 'All data stored for this extension is deleted. Others can then register the prefix.',
            }}
            onDone={() => void navigate({ to: '/extensions' })}
          >
            Release the prefix
          </Action>
        )
      }
    >
      {data?.description !== undefined && <Named>{data.description}</Named>}
      {data && (
        <Tabs
          label="Parts of the extension"
          parts={{
            Overview: <Overview details={data} />,
            Endpoints: <Endpoints prefix={prefix} endpoints={data.endpoints} />,
            Log: <Logs prefix={prefix} />,
            Storage: <Storage prefix={prefix} />,
            Usage: <Usage prefix={prefix} />,
          }}
        />
      )}
    </Page>
  )
}

type Instance = Details['instances'][number]

const instanceColumns: readonly Column<Instance>[] = [
  { label: 'Instance', cell: ({ id }) => <Named>{id}</Named>, by: ({ id }) => id },
  { label: 'Version', cell: ({ version }) => <Named>{version}</Named> },
  { label: 'Key', cell: ({ key }) => key },
  timeColumn('Registered', ({ registered }) => registered),
  timeColumn('Last seen', ({ seen }) => seen),
]

function Overview({ details: { prefix, version, owner, since, instances } }: { readonly details: Details }) {
  const { data = [] } = useAnswer(extensions.features, { prefix })
  const routes = data.find((one) => one.prefix === prefix)?.routes ?? []
  return (
    <>
      <Facts>
        <Fact label="Prefix">{prefix}</Fact>
        <Fact label="Version">
          <Named>{version}</Named>
        </Fact>
        <Fact label="Owner">
          <Named>{owner}</Named>
        </Fact>
        <Fact label="Since">
          <Time at={since} />
        </Fact>
      </Facts>
      {routes.length > 0 && (
        <Section title="Pages">
          <ul>
            {routes.map(({ path, title }) => (
              <li key={path}>
                <Link to={`/extensions/${prefix}/pages${path}` as never}>
                  <Named>{title}</Named>
                </Link>
              </li>
            ))}
          </ul>
        </Section>
      )}
      <Section title="Instances">
        {instances.length === 0 ? (
          <Empty>No instance is connected.</Empty>
        ) : (
          <Table label="Instances" rows={instances} columns={instanceColumns} idOf={({ id }) => id} />
        )}
      </Section>
    </>
  )
}

type Entry = Output<(typeof extensions)['logs']>[number]

const logColumns: readonly Column<Entry>[] = [
  timeColumn('Time', ({ time }) => time),
  { label: 'Level', cell: ({ level }) => <Status of={level} />, by: ({ level }) => level },
  {
    label: 'Message',
    cell: ({ message, count }) => (
      <Named>{count === undefined ? message : `${message} (${count} times)`}</Named>
    ),
    width: 4,
  },
  { label: 'Instance', cell: ({ instance = '' }) => <Named>{instance}</Named> },
]

function Logs({ prefix }: { readonly prefix: string }) {
  const { data, error } = useAnswer(extensions.logs, { prefix }, { everyMs: 10_000 })
  if (error) return <Failure title="Log" error={error} />
  return (
    <Table
      label="Log"
      rows={(data ?? []).toReversed()}
      columns={logColumns}
      idOf={(entry) => JSON.stringify(entry)}
      searchedIn={({ message }) => [message]}
    />
  )
}

type StoredKey = Output<(typeof extensionStorage)['list']>[number]

function Storage({ prefix }: { readonly prefix: string }) {
  const { data, error } = useAnswer(extensionStorage.list, { prefix })
  const columns: readonly Column<StoredKey>[] = [
    { label: 'Key', cell: ({ key }) => <Named>{key}</Named>, by: ({ key }) => key, width: 2 },
    { label: 'Value', cell: ({ key }) => <Value prefix={prefix} name={key} />, width: 4 },
    { label: 'Revision', cell: ({ revision }) => countText(revision), by: ({ revision }) => revision },
  ]
  if (error) return <Failure title="Storage" error={error} />
  if (data?.length === 0) return <Empty>This extension has no stored values.</Empty>
  return (
    <Table
      label="Storage"
      rows={data ?? []}
      columns={columns}
      idOf={({ key }) => key}
      searchedIn={({ key }) => [key]}
    />
  )
}

function Value({ prefix, name }: { readonly prefix: string; readonly name: string }) {
  const { data } = useAnswer(extensionStorage.get, { prefix, key: name })
  return <Named>{data?.value ?? ''}</Named>
}

type Total = Output<(typeof usage)['totals']>[number]

const totalColumns: readonly Column<Total>[] = [
  {
    label: 'Dimension',
    cell: ({ dimension }) => <Named>{dimension}</Named>,
    by: ({ dimension }) => dimension,
  },
  { label: 'Owner', cell: ({ owner }) => <Named>{owner}</Named>, by: ({ owner }) => owner },
  { label: 'Quantity', cell: ({ quantity }) => countText(quantity), by: ({ quantity }) => quantity },
  { label: 'Records', cell: ({ records }) => countText(records), by: ({ records }) => records },
]

function Usage({ prefix }: { readonly prefix: string }) {
  const { data, error } = useAnswer(usage.totals, { prefix })
  if (error) return <Failure title="Usage" error={error} />
  if (data?.length === 0) return <Empty>This extension has recorded no usage.</Empty>
  return (
    <>
      <Download contract={usage.export} input={{ prefix }}>
        Export
      </Download>
      <Table
        label="Usage"
        rows={data ?? []}
        columns={totalColumns}
        idOf={({ dimension, owner }) => `${dimension} ${owner}`}
      />
    </>
  )
}
