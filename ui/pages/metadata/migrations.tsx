import { Link } from '@tanstack/react-router'
import { metadataCatalogs } from '../../../subjects/metadata/catalogs.ts'
import { type MetadataMigration, metadataMigrations } from '../../../subjects/metadata/migrations.ts'
import { metadataRules } from '../../../subjects/metadata/rules.ts'
import { useAll } from '../../data/calls.ts'
import { useEvents } from '../../data/events.ts'
import { Empty } from '../../kit/empty.tsx'
import { FormDialog } from '../../kit/form-dialog.tsx'
import { countText, durationText } from '../../kit/format.ts'
import { MigrationLink } from '../../kit/migration-link.tsx'
import { Named } from '../../kit/named.tsx'
import { Page } from '../../kit/page.tsx'
import { Status } from '../../kit/status.tsx'
import { type Column, Table } from '../../kit/table.tsx'

const columns: readonly Column<MetadataMigration>[] = [
  {
    label: 'Name',
    cell: ({ migrationName }) => <MigrationLink name={migrationName} of="metadata" />,
    by: ({ migrationName }) => migrationName,
    width: 2,
  },
  { label: 'State', cell: ({ state }) => <Status of={state} />, by: ({ state }) => state },
  {
    label: 'Source and target',
    cell: ({ source, target }) => <Named>{`${source} → ${target}`}</Named>,
    by: ({ source }) => source,
    width: 2,
  },
  { label: 'Databases', cell: ({ databases }) => countText(databases), by: ({ databases }) => databases },
  { label: 'Tables', cell: ({ tables }) => countText(tables), by: ({ tables }) => tables },
  {
    label: 'Lag',
    cell: ({ lagSeconds }) => (lagSeconds === undefined ? '–' : durationText(lagSeconds)),
    by: ({ lagSeconds = 0 }) => lagSeconds,
  },
]

/** Migrations of databases and tables, from a catalog to another. */
export default function MetadataMigrationsPage() {
  useEvents(metadataMigrations.list.resource)
  const { data, error } = useAll(metadataMigrations.list, ({ migrationName }) => migrationName)
  const { data: catalogs = [] } = useAll(metadataCatalogs.list, ({ catalogId }) => catalogId)
  const { data: rules = [] } = useAll(metadataRules.list, ({ ruleName }) => ruleName)
  const names = catalogs.map(({ catalogId }) => catalogId)
  return (
    <Page
      title="Metadata migrations"
      error={error}
      contract={metadataMigrations.list}
      actions={
        <FormDialog
          button="Create a metadata migration"
          isMain
          contract={metadataMigrations.create}
          verb="Create"
          choices={{ source: names, target: names, ruleNames: rules.map(({ ruleName }) => ruleName) }}
        />
      }
    >
      {data?.length === 0 && (
        <Empty>
          There are no metadata migrations yet. <Link to="/metadata/catalogs">Add two catalogs</Link>, create{' '}
          <Link to="/metadata/rules">a rule</Link> that selects the tables, then create a migration.
        </Empty>
      )}
      {data !== undefined && data.length > 0 && (
        <Table
          label="Metadata migrations"
          rows={data}
          columns={columns}
          idOf={({ migrationName }) => migrationName}
          searchedIn={({ migrationName, source, target }) => [migrationName, source, target]}
        />
      )}
    </Page>
  )
}
