import { Alert, Group, Text } from '@mantine/core'
import { type Assignment, assignments } from '../../../subjects/access/assignments.ts'
import { roles } from '../../../subjects/access/roles.ts'
import { pollMs, useAll, useAnswer } from '../../data/calls.ts'
import { Action } from '../../kit/action.tsx'
import { Empty } from '../../kit/empty.tsx'
import { FormDialog } from '../../kit/form-dialog.tsx'
import { Named } from '../../kit/named.tsx'
import { Page } from '../../kit/page.tsx'
import { type Column, Table } from '../../kit/table.tsx'

export default function AssignmentsPage() {
  const { data, error } = useAll(assignments.list, ({ group }) => group, { everyMs: pollMs })
  const { data: allRoles = [] } = useAll(roles.list, ({ name }) => name)
  const choices = { roles: allRoles.map(({ name }) => name) }
  const columns: readonly Column<Assignment>[] = [
    { label: 'Group', cell: ({ group }) => <Named>{group}</Named>, by: ({ group }) => group, width: 2 },
    { label: 'Roles', cell: ({ roles: given }) => <Named>{given.join(', ')}</Named>, width: 2 },
    {
      label: 'Actions',
      needs: [assignments.put, assignments.delete],
      cell: ({ group, roles: given }) => (
        <Group gap="xs">
          <FormDialog
            button="Change"
            of={group}
            title={`Change the roles of ${group}`}
            contract={assignments.put}
            verb="Change"
            given={{ group }}
            initial={{ roles: given }}
            choices={choices}
            isSmall
          />
          <Action
            contract={assignments.delete}
            input={{ group }}
            of={group}
            isSmall
            confirm={{ name: group, warning: 'Members of the group lose these roles at their next sign-in.' }}
          >
            Remove
          </Action>
        </Group>
      ),
    },
  ]
  return (
    <Page
      title="Assignments"
      error={error}
      contract={assignments.list}
      actions={
        <FormDialog
          button="Assign roles"
          isMain
          contract={assignments.put}
          verb="Assign"
          initial={{ roles: [] }}
          choices={choices}
        />
      }
    >
      <Configured />
      {data?.length === 0 && (
        <Empty>
          No group has roles yet. Assign roles to a group of your identity provider. Its members get them at
          their next sign-in.
        </Empty>
      )}
      {data !== undefined && data.length > 0 && (
        <Table
          label="Assignments"
          rows={data}
          columns={columns}
          idOf={({ group }) => group}
          searchedIn={searchedIn}
        />
      )}
    </Page>
  )
}

/** Who has roles by no assignment. */
function Configured() {
  const { data } = useAnswer(assignments.configured, {})
  if (data === undefined) return null
  const { everybody, adminSubject, adminGroup, defaultRole } = data
  if (everybody)
    return (
      <Alert color="yellow" role="note" mb="md">
        Everybody who signs in is an administrator, because gantry.config sets neither admin_subject nor
        admin_group.
      </Alert>
    )
  return (
    <Text mb="md" role="note">
      Administrators are set in gantry.config:{' '}
      {adminSubject !== undefined && (
        <>
          the user <Named>{adminSubject}</Named> (admin_subject)
        </>
      )}
      {adminSubject !== undefined && adminGroup !== undefined && ' and '}
      {adminGroup !== undefined && (
        <>
          the members of the group <Named>{adminGroup}</Named> (admin_group)
        </>
      )}
      .
      {defaultRole !== undefined && (
        <>
          {' '}
          All other users have the role <Named>{defaultRole}</Named> (rbac.default_role).
        </>
      )}
    </Text>
  )
}

const searchedIn = ({ group, roles: given }: Assignment) => [group, ...given]
