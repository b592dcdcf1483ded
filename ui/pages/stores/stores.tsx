import { Button, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { filesystems, type Filesystem } from '../../../subjects/filesystems/filesystems.ts'
import { placeText } from '../../../subjects/filesystems/kinds.ts'
import { migrations } from '../../../subjects/migrations/migrations.ts'
import { mayCall, useAll } from '../../data/calls.ts'
import { useEvents } from '../../data/events.ts'
import { useSession } from '../../data/session-context.ts'
import { Empty } from '../../kit/empty.tsx'
import { saidText } from '../../kit/format.ts'
import { Named } from '../../kit/named.tsx'
import { Page, Section } from '../../kit/page.tsx'
import { Status } from '../../kit/status.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { useParam } from '../../kit/use-param.ts'
import { AddFilesystem, mayAddStores } from './add-filesystem.tsx'
import { roleOf } from './role.ts'

const healthEveryMs = 30_000

/** Filesystems by what they are for. */
export default function StoresPage() {
  const session = useSession()
  useEvents(filesystems.list.resource)
  const [adding, setAdding] = useParam('add')
  const { data, error } = useAll(filesystems.list, ({ fileSystemId }) => fileSystemId)
  return (
    <Page
      title="Stores"
      error={error}
      contract={filesystems.list}
      actions={
        <>
          {data !== undefined && missingRole(data) === undefined && mayCall(session, migrations.create) && (
            <Button component={Link} to="/new-migration" variant="default">
              Create a migration
            </Button>
          )}
          {mayAddStores(session) && <Button onClick={() => setAdding('1')}>Add a store</Button>}
        </>
      }
    >
      {data?.length === 0 && (
        <Empty>
          There are no stores yet. Gantry reads from sources and writes to targets. Add one of each.
        </Empty>
      )}
      {[true, false].map((isSource) => (
        <Places
          key={`${isSource}`}
          isSource={isSource}
          all={(data ?? []).filter((one) => one.isSource === isSource)}
        />
      ))}
      {data && (
        <AddFilesystem role={missingRole(data)} isOpen={adding !== ''} onClose={() => setAdding('')} />
      )}
    </Page>
  )
}

/** What a migration needs first. */
const missingRole = (all: readonly Filesystem[]) =>
  !all.some(({ isSource }) => isSource)
    ? 'source'
    : !all.some(({ isSource }) => !isSource)
      ? 'target'
      : undefined

function Places({ isSource, all }: { readonly isSource: boolean; readonly all: readonly Filesystem[] }) {
  const { data: health = [] } = useAll(filesystems['health-all'], ({ fsId }) => fsId, {
    everyMs: healthEveryMs,
    isWanted: all.length > 0,
  })
  if (all.length === 0) return null
  const title = isSource ? 'Sources' : 'Targets'
  const columns: readonly Column<Filesystem>[] = [
    {
      label: 'Name',
      cell: (store) => (
        <Link
          to="/stores/$role/$fileSystemId"
          params={{ role: roleOf(store), fileSystemId: store.fileSystemId }}
        >
          <Named>{store.fileSystemId}</Named>
        </Link>
      ),
      by: ({ fileSystemId }) => fileSystemId,
      width: 2,
    },
    { label: 'Kind', cell: ({ fsType }) => fsType, by: ({ fsType }) => fsType, width: 0.7 },
    { label: 'Location', cell: (store) => <Named>{placeText(store)}</Named>, by: placeText, width: 2 },
    {
      label: 'Health',
      cell: ({ fileSystemId }) => {
        const found = health.find(({ fsId }) => fsId === fileSystemId)
        if (found === undefined) return <Text size="sm">checking…</Text>
        return (
          <>
            <Status of={found.healthy ? 'healthy' : 'not healthy'} />
            {found.cause !== undefined && <Named>{saidText(found.cause)}</Named>}
          </>
        )
      },
      width: 2,
    },
  ]
  return (
    <Section title={title}>
      <Table label={title} rows={all} columns={columns} idOf={({ fileSystemId }) => fileSystemId} />
    </Section>
  )
}
