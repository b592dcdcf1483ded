import type { Output } from '../../../subjects/kit/contract.ts'
import { type AlertKindName, kindOf } from '../../../subjects/observability/alert-model.ts'
import type { notifications as contracts } from '../../../subjects/observability/notifications.ts'
import { Empty } from '../../kit/empty.tsx'
import { wordsOf } from '../../kit/format.ts'
import { MigrationLink } from '../../kit/migration-link.tsx'
import { Named } from '../../kit/named.tsx'
import { Status } from '../../kit/status.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { timeColumn } from '../../kit/time-column.tsx'

type Notification = Output<typeof contracts.get>

/** The object of an alert is the alert: its migration, or else its rule, says more. */
const objectOf = ({ object, facts: { rule, migration } }: Notification): string =>
  typeof migration === 'string' ? migration : typeof rule === 'string' ? `alert ${rule}` : object

function ObjectOf({ notification }: { readonly notification: Notification }) {
  const { rule, migration, kind } = notification.facts
  const name = objectOf(notification)
  // Notifications without a rule are about migrations of files.
  if (rule === undefined) return <MigrationLink name={name} />
  return migration === undefined ? (
    <Named>{name}</Named>
  ) : (
    <MigrationLink name={name} of={kindOf(kind as AlertKindName).migrationOf ?? 'files'} />
  )
}

const columns: readonly Column<Notification>[] = [
  timeColumn('Time', ({ created }) => created),
  { label: 'Level', cell: ({ level }) => <Status of={level} />, by: ({ level }) => level, width: 0.9 },
  { label: 'Resolved', cell: ({ resolved }) => (resolved ? 'yes' : ''), width: 0.9 },
  { label: 'Type', cell: ({ type }) => wordsOf(type), by: ({ type }) => type },
  { label: 'Object', cell: (one) => <ObjectOf notification={one} />, by: objectOf },
  { label: 'Message', cell: ({ message }) => <Named>{message}</Named>, width: 3 },
]

export const NotificationTable = ({ notifications }: { readonly notifications: readonly Notification[] }) =>
  notifications.length === 0 ? (
    <Empty>There are no notifications.</Empty>
  ) : (
    <Table
      label="Notifications"
      rows={notifications}
      columns={columns}
      idOf={({ id }) => id}
      searchedIn={({ object, message }) => [object, message]}
    />
  )
