import { Breadcrumbs, Text, UnstyledButton } from '@mantine/core'
import { useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import type { Output } from '../../../subjects/kit/contract.ts'
import { metadataCatalogs } from '../../../subjects/metadata/catalogs.ts'
import { type CatalogKind, catalogKinds } from '../../../subjects/metadata/kinds.ts'
import { mayCall, pollMs, useAll, useAnswer } from '../../data/calls.ts'
import { useSession } from '../../data/session-context.ts'
import { Action } from '../../kit/action.tsx'
import { Checks } from '../../kit/checks.tsx'
import { Fact, Facts } from '../../kit/facts.tsx'
import { Failure } from '../../kit/failure.tsx'
import { FormDialog } from '../../kit/form-dialog.tsx'
import { propertyLabel } from '../../kit/format.ts'
import { catalogKindText } from '../../kit/catalog-kind.ts'
import { Named } from '../../kit/named.tsx'
import { NotAllowed } from '../../kit/not-allowed.tsx'
import { Page, Section } from '../../kit/page.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { useParam } from '../../kit/use-param.ts'

/** One catalog, and what it describes. */
export default function CatalogPage() {
  const { catalogId } = useParams({ strict: false }) as { readonly catalogId: string }
  const navigate = useNavigate()
  const { data, error } = useAnswer(metadataCatalogs.get, { catalogId }, { everyMs: pollMs })
  const [checked, setChecked] = useState<Output<(typeof metadataCatalogs)['check-stored']>>()
  const kind = data?.kind as CatalogKind | undefined
  return (
    <Page
      title={catalogId}
      of={{ to: '/metadata/catalogs', label: 'Catalogs' }}
      error={error}
      contract={metadataCatalogs.get}
      input={{ catalogId }}
      actions={
        kind && (
          <>
            <Action contract={metadataCatalogs['check-stored']} input={{ catalogId }} onDone={setChecked}>
              Check
            </Action>
            <FormDialog
              button="Change"
              title={`Change ${catalogId}`}
              contract={metadataCatalogs[`update-${kind}`]}
              verb="Save"
              given={{ catalogId }}
              secrets={catalogKinds[kind].secrets}
            />
            <Action
              contract={metadataCatalogs.delete}
              input={{ catalogId }}
              confirm={{ name: catalogId, warning: 'The catalog is deleted from Gantry. Its contents stay.' }}
              onDone={() => void navigate({ to: '/metadata/catalogs' })}
            >
              Delete
            </Action>
          </>
        )
      }
    >
      {checked && <Checks of={checked} what="catalog" />}
      {data && (
        <Facts>
          <Fact label="Kind">{kind && catalogKindText(kind)}</Fact>
          {Object.entries(data.properties).map(([name, value]) => (
            <Fact key={name} label={propertyLabel(name)}>
              <Named>{value}</Named>
            </Fact>
          ))}
        </Facts>
      )}
      {data && (
        <Section title="Browse">
          <Browser catalogId={catalogId} />
        </Section>
      )}
    </Page>
  )
}

/** Databases, their tables, and what a table is made of. */
function Browser({ catalogId }: { readonly catalogId: string }) {
  const [database, setDatabase] = useParam('database')
  const [table, setTable] = useParam('table')
  const session = useSession()
  if (!mayCall(session, metadataCatalogs.databases))
    return <NotAllowed contract={metadataCatalogs.databases} />
  return (
    <>
      <Breadcrumbs component="nav" aria-label="Location in the catalog" mb="sm">
        <Step text="Databases" onOpen={() => setDatabase('')} />
        {database !== '' && <Step text={database} onOpen={() => setTable('')} />}
        {database !== '' && table !== '' && <Named>{table}</Named>}
      </Breadcrumbs>
      {database === '' ? (
        <Databases catalogId={catalogId} onOpen={setDatabase} />
      ) : table === '' ? (
        <Tables catalogId={catalogId} database={database} onOpen={setTable} />
      ) : (
        <OneTable catalogId={catalogId} database={database} table={table} />
      )}
    </>
  )
}

const Step = ({ text, onOpen }: { readonly text: string; readonly onOpen: () => void }) => (
  <UnstyledButton onClick={onOpen} td="underline" fz="sm">
    <Named>{text}</Named>
  </UnstyledButton>
)

function Databases({
  catalogId,
  onOpen,
}: {
  readonly catalogId: string
  readonly onOpen: (name: string) => void
}) {
  const { data, error } = useAll(metadataCatalogs.databases, ({ name }) => name, { filter: { catalogId } })
  const columns: readonly Column<{ readonly name: string }>[] = [
    {
      label: 'Database',
      cell: ({ name }) => <Step text={name} onOpen={() => onOpen(name)} />,
      by: ({ name }) => name,
    },
  ]
  if (error) return <Failure title="Databases" error={error} />
  if (data?.length === 0) return <Text>This catalog has no databases.</Text>
  return (
    <Table
      label="Databases"
      rows={data ?? []}
      columns={columns}
      idOf={({ name }) => name}
      searchedIn={({ name }) => [name]}
    />
  )
}

type TableName = Output<(typeof metadataCatalogs)['tables']>[number]

function Tables({
  catalogId,
  database,
  onOpen,
}: {
  readonly catalogId: string
  readonly database: string
  readonly onOpen: (name: string) => void
}) {
  const { data, error } = useAll(metadataCatalogs.tables, ({ name }) => name, {
    filter: { catalogId, database },
  })
  const columns: readonly Column<TableName>[] = [
    {
      label: 'Table',
      cell: ({ name }) => <Step text={name} onOpen={() => onOpen(name)} />,
      by: ({ name }) => name,
      width: 2,
    },
    { label: 'Type', cell: ({ type }) => type, by: ({ type }) => type },
    { label: 'Comment', cell: ({ comment = '' }) => <Named>{comment}</Named>, width: 2 },
  ]
  if (error) return <Failure title={database} error={error} />
  if (data?.length === 0) return <Text>This database has no tables.</Text>
  return (
    <Table
      label="Tables"
      rows={data ?? []}
      columns={columns}
      idOf={({ name }) => name}
      searchedIn={({ name }) => [name]}
    />
  )
}

type MetadataTable = Output<(typeof metadataCatalogs)['table']>
type TableColumn = MetadataTable['columns'][number]
type Partition = Output<(typeof metadataCatalogs)['partitions']>[number]

const columnsOfTable: readonly Column<TableColumn>[] = [
  { label: 'Column', cell: ({ name }) => <Named>{name}</Named> },
  { label: 'Type', cell: ({ type }) => <Named>{type}</Named> },
  { label: 'Comment', cell: ({ comment = '' }) => <Named>{comment}</Named>, width: 2 },
]

const columnsOfPartitions: readonly Column<Partition>[] = [
  { label: 'Partition', cell: ({ name }) => <Named>{name}</Named>, by: ({ name }) => name },
  { label: 'Location', cell: ({ location = '' }) => <Named>{location}</Named>, width: 2 },
]

function OneTable(input: { readonly catalogId: string; readonly database: string; readonly table: string }) {
  const { data, error } = useAnswer(metadataCatalogs.table, input)
  const isPartitioned = data !== undefined && data.partitionKeys.length > 0
  const { data: partitions = [] } = useAll(metadataCatalogs.partitions, ({ name }) => name, {
    filter: input,
    isWanted: isPartitioned,
  })
  if (error) return <Failure title={input.table} error={error} />
  if (data === undefined) return null
  return (
    <>
      <Facts>
        <Fact label="Type">{data.type}</Fact>
        <Fact label="Owner">
          <Named>{data.owner?.name ?? '–'}</Named>
        </Fact>
        <Fact label="Location">
          <Named>{data.storage.location ?? '–'}</Named>
        </Fact>
      </Facts>
      <Table
        label="Columns"
        rows={[...data.columns, ...data.partitionKeys]}
        columns={columnsOfTable}
        idOf={({ name }) => name}
      />
      {isPartitioned && (
        <Section title="Partitions">
          <Table
            label="Partitions"
            rows={partitions}
            columns={columnsOfPartitions}
            idOf={({ name }) => name}
          />
        </Section>
      )}
    </>
  )
}
