import type { Output } from '../../../subjects/kit/contract.ts'
import { filesystems } from '../../../subjects/filesystems/filesystems.ts'
import { pathMappings } from '../../../subjects/rules/path-mappings.ts'
import { pollMs, useAll } from '../../data/calls.ts'
import { Action } from '../../kit/action.tsx'
import { Empty } from '../../kit/empty.tsx'
import { FormDialog } from '../../kit/form-dialog.tsx'
import { Named } from '../../kit/named.tsx'
import { Page } from '../../kit/page.tsx'
import { type Column, Table } from '../../kit/table.tsx'

type Mapping = Output<(typeof pathMappings)['get']>

const columns: readonly Column<Mapping>[] = [
  { label: 'Name', cell: ({ id }) => <Named>{id}</Named>, by: ({ id }) => id },
  {
    label: 'From',
    cell: ({ sourceFileSystem, sourcePath }) => <Named>{`${sourceFileSystem}: ${sourcePath}`}</Named>,
    by: ({ sourceFileSystem }) => sourceFileSystem,
    width: 2,
  },
  {
    label: 'To',
    cell: ({ targetFileSystem, targetPath }) => <Named>{`${targetFileSystem}: ${targetPath}`}</Named>,
    by: ({ targetFileSystem }) => targetFileSystem,
    width: 2,
  },
  { label: 'Description', cell: ({ description }) => <Named>{description}</Named>, width: 2 },
  {
    label: 'Actions',
    needs: [pathMappings.delete],
    cell: ({ id }) => (
      <Action
        contract={pathMappings.delete}
        input={{ pathMappingId: id }}
        of={id}
        isSmall
        confirm={{ name: id, warning: 'Existing migrations keep the mapping; new migrations do not use it.' }}
      >
        Delete
      </Action>
    ),
  },
]

/** Which folders go elsewhere at a target. */
export default function MappingsPage() {
  const { data, error } = useAll(pathMappings.list, ({ id }) => id, { everyMs: pollMs })
  const { data: stores = [] } = useAll(filesystems.list, ({ fileSystemId }) => fileSystemId)
  const named = (isSource: boolean) =>
    stores.filter((store) => store.isSource === isSource).map(({ fileSystemId }) => fileSystemId)
  return (
    <Page
      title="Path mappings"
      error={error}
      contract={pathMappings.list}
      actions={
        <FormDialog
          button="Create a path mapping"
          isMain
          contract={pathMappings.create}
          verb="Create"
          choices={{ sourceFileSystem: named(true), targetFileSystem: named(false) }}
        />
      }
    >
      {data?.length === 0 && (
        <Empty>
          There are no path mappings yet. A path mapping gives a source folder a different path at the target.
          It applies to migrations that are created or reset afterwards.
        </Empty>
      )}
      {data !== undefined && data.length > 0 && (
        <Table
          label="Path mappings"
          rows={data}
          columns={columns}
          idOf={({ id }) => id}
          searchedIn={({ id, sourcePath, targetPath, description }) => [
            id,
            sourcePath,
            targetPath,
            description,
          ]}
        />
      )}
    </Page>
  )
}
