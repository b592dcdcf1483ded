import { Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { type User, users } from '../../../subjects/access/users.ts'
import { pollMs, useAll } from '../../data/calls.ts'
import { Named } from '../../kit/named.tsx'
import { Page } from '../../kit/page.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { timeColumn } from '../../kit/time-column.tsx'

const columns: readonly Column<User>[] = [
  { label: 'Name', cell: ({ name = '' }) => <Named>{name}</Named>, by: ({ name = '' }) => name },
  {
    label: 'Subject',
    cell: ({ subject }) => <Named>{subject}</Named>,
    by: ({ subject }) => subject,
    width: 1.5,
  },
  { label: 'Email', cell: ({ email = '' }) => <Named>{email}</Named>, width: 1.5 },
  { label: 'Groups', cell: ({ groups }) => <Named>{groups.join(', ')}</Named> },
  { label: 'Roles', cell: ({ roles }) => <Named>{roles.join(', ')}</Named> },
  timeColumn('Last sign-in', ({ lastLogin }) => lastLogin),
]

export default function UsersPage() {
  const { data = [], error } = useAll(users.list, ({ subject }) => subject, { everyMs: pollMs })
  return (
    <Page title="Users" error={error} contract={users.list}>
      <Text size="sm" mb="md">
        Users appear here after their first sign-in. The identity provider has their accounts; without one of
        your own, that is the development sign-in with its two users. Their roles come from{' '}
        <Link to="/administration/assignments">assignments</Link>.
      </Text>
      <Table
        label="Users"
        rows={data}
        columns={columns}
        idOf={({ subject }) => subject}
        searchedIn={searchedIn}
      />
    </Page>
  )
}

const searchedIn = ({ name = '', subject, email = '', groups, roles }: User) => [
  name,
  subject,
  email,
  ...groups,
  ...roles,
]
