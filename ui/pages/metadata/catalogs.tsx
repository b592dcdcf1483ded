import { Button, Modal, Select } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { Output } from '../../../subjects/kit/contract.ts'
import { filesystems } from '../../../subjects/filesystems/filesystems.ts'
import { metadataCatalogs } from '../../../subjects/metadata/catalogs.ts'
import { type CatalogKind, catalogKinds } from '../../../subjects/metadata/kinds.ts'
import { mayCall, pollMs, useAll } from '../../data/calls.ts'
import { useSession } from '../../data/session-context.ts'
import { useCheckFirst } from '../../kit/check-first.tsx'
import { ContractForm } from '../../kit/contract-form.tsx'
import { Empty } from '../../kit/empty.tsx'
import { catalogKindText } from '../../kit/catalog-kind.ts'
import { Named } from '../../kit/named.tsx'
import { Page } from '../../kit/page.tsx'
import { type Column, Table } from '../../kit/table.tsx'

type Catalog = Output<(typeof metadataCatalogs)['get']>

const kinds = Object.keys(catalogKinds) as CatalogKind[]

const columns: readonly Column<Catalog>[] = [
  {
    label: 'Name',
    cell: ({ catalogId }) => (
      <Link to="/metadata/catalogs/$catalogId" params={{ catalogId }}>
        <Named>{catalogId}</Named>
      </Link>
    ),
    by: ({ catalogId }) => catalogId,
    width: 2,
  },
  { label: 'Kind', cell: ({ kind }) => catalogKindText(kind), by: ({ kind }) => kind },
]

/** Where databases and tables are described. */
export default function CatalogsPage() {
  const session = useSession()
  const { data, error } = useAll(metadataCatalogs.list, ({ catalogId }) => catalogId, { everyMs: pollMs })
  const [kind, setKind] = useState<CatalogKind>()
  const offered = kinds.filter((one) => mayCall(session, metadataCatalogs[`create-${one}`]))
  return (
    <Page
      title="Catalogs"
      error={error}
      contract={metadataCatalogs.list}
      actions={offered.length > 0 && <Button onClick={() => setKind(offered[0])}>Add a catalog</Button>}
    >
      {data?.length === 0 && (
        <Empty>
          There are no catalogs yet. A catalog contains the metadata of databases and tables. Add a source
          catalog and a target catalog.
        </Empty>
      )}
      {data !== undefined && data.length > 0 && (
        <Table label="Catalogs" rows={data} columns={columns} idOf={({ catalogId }) => catalogId} />
      )}
      <Modal opened={kind !== undefined} onClose={() => setKind(undefined)} title="Add a catalog" size="lg">
        <Select
          label="Kind"
          data={offered.map((value) => ({ value, label: catalogKindText(value) }))}
          value={kind ?? null}
          allowDeselect={false}
          onChange={(value) => setKind(value ?? undefined)}
        />
        {kind && <AddCatalog key={kind} kind={kind} onDone={() => setKind(undefined)} />}
      </Modal>
    </Page>
  )
}

/** A form for each kind, made from the schema of its contract: another kind needs no line here. */
function AddCatalog({ kind, onDone }: { readonly kind: CatalogKind; readonly onDone: () => void }) {
  const { data: stores = [] } = useAll(filesystems.list, ({ fileSystemId }) => fileSystemId)
  const checkFirst = useCheckFirst(metadataCatalogs[`check-${kind}`])
  return (
    <ContractForm
      contract={metadataCatalogs[`create-${kind}`]}
      {...checkFirst}
      secrets={catalogKinds[kind].secrets}
      choices={{ fileSystemId: [...new Set(stores.map(({ fileSystemId }) => fileSystemId))] }}
      onCancel={onDone}
      onDone={onDone}
    />
  )
}
