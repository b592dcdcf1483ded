import { Group } from '@mantine/core'
import { type ListedRole, type Role, roles } from '../../../subjects/access/roles.ts'
import { pollMs, useAll } from '../../data/calls.ts'
import { Action } from '../../kit/action.tsx'
import { Named } from '../../kit/named.tsx'
import { Page } from '../../kit/page.tsx'
import { Permissions } from '../../kit/permission-list.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { PutRole } from './put-role.tsx'

const builtIn = 'Built-in roles cannot be changed. Create another role instead.'

const roleOf = ({ builtIn: _known, ...role }: ListedRole): Role => role

const columns: readonly Column<ListedRole>[] = [
  { label: 'Name', cell: ({ name }) => <Named>{name}</Named>, by: ({ name }) => name },
  { label: 'Description', cell: ({ description }) => <Named>{description}</Named>, width: 2 },
  {
    label: 'Permissions',
    cell: ({ pub, sub, visible_extensions: visible }) => (
      <Permissions pub={pub} sub={sub} visible={visible} />
    ),
    width: 3.5,
  },
  {
    label: 'Actions',
    needs: [roles.put, roles.delete],
    cell: (role) => (
      <Group gap="xs">
        <PutRole
          button="Change"
          of={role.name}
          title={`Change the role ${role.name}`}
          role={roleOf(role)}
          isSmall
          unless={role.builtIn ? builtIn : undefined}
        />
        <Action
          contract={roles.delete}
          input={{ name: role.name }}
          of={role.name}
          isSmall
          changes={['assignments']}
          unless={role.builtIn ? builtIn : undefined}
          confirm={{ name: role.name, warning: 'Users lose this role at their next sign-in.' }}
        >
          Delete
        </Action>
      </Group>
    ),
    width: 1.4,
  },
]

export default function RolesPage() {
  const { data = [], error } = useAll(roles.list, ({ name }) => name, { everyMs: pollMs })
  return (
    <Page
      title="Roles"
      error={error}
      contract={roles.list}
      actions={<PutRole button="Create a role" title="Create a role" isMain />}
    >
      <Table label="Roles" rows={data} columns={columns} idOf={({ name }) => name} searchedIn={searchedIn} />
    </Page>
  )
}

const searchedIn = ({ name, description }: ListedRole) => [name, description]
