import { Group, Text } from '@mantine/core'
import { useState } from 'react'
import { defaultOverlapMinutes, type Key, keys } from '../../../subjects/access/keys.ts'
import { useAnswer } from '../../data/calls.ts'
import { Action } from '../../kit/action.tsx'
import { FormDialog } from '../../kit/form-dialog.tsx'
import { Named, Time } from '../../kit/named.tsx'
import { Permissions } from '../../kit/permission-list.tsx'
import { Status } from '../../kit/status.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { dateColumn } from '../../kit/time-column.tsx'
import { TokenOnce } from '../../kit/token-once.tsx'

/** Keys and sessions, with what can be done with each. */
export function KeyTable({
  label,
  keys: shown,
  withOwner = false,
}: {
  readonly label: string
  readonly keys: readonly Key[]
  readonly withOwner?: boolean
}) {
  const [token, setToken] = useState<string>()
  const { data: own } = useAnswer(keys.self, {})
  const owner: Column<Key> = {
    label: 'Owner',
    cell: (key) => <Named>{key.owner}</Named>,
    by: (key) => key.owner,
    width: 1.25,
  }
  const columns: readonly Column<Key>[] = [
    {
      label: 'Name',
      cell: ({ name, id, notes }) => (
        <>
          <Named>{name}</Named>
          {id === own?.id && (
            <Text size="xs" fw="bold">
              This session
            </Text>
          )}
          <Text size="xs" className="name">
            {[id, notes].filter((text) => text !== '').join(' · ')}
          </Text>
        </>
      ),
      by: ({ name }) => name,
      width: 1.7,
    },
    ...(withOwner ? [owner] : []),
    {
      label: 'Permissions',
      cell: ({ capabilities, visible_extensions: visible }) => (
        <Permissions {...capabilities} visible={visible} />
      ),
      width: 1.8,
    },
    {
      label: 'Kind',
      cell: ({ kind, revoked, oldTokenExpires }) => (
        <>
          <Status of={revoked === undefined ? kind : 'revoked'} />
          {oldTokenExpires !== undefined && (
            <Text size="xs">
              Old token valid until <Time at={oldTokenExpires} />
            </Text>
          )}
        </>
      ),
      by: ({ kind }) => kind,
      width: 0.95,
    },
    dateColumn('Created', ({ created }) => created),
    dateColumn('Expires', ({ expires }) => expires, 'never'),
    dateColumn('Last used', ({ lastUsed }) => lastUsed),
    {
      label: 'Actions',
      needs: [keys.update, keys.rotate, keys.revoke],
      cell: ({ id, name, kind, revoked, notes }) =>
        revoked === undefined && (
          <Group gap={4}>
            {kind === 'key' && (
              <>
                <FormDialog
                  button="Change"
                  of={name}
                  title={`Change ${name}`}
                  contract={keys.update}
                  verb="Save"
                  given={{ id }}
                  fields={['name', 'notes']}
                  initial={{ name, notes }}
                  isSmall
                />
                <FormDialog
                  button="Rotate"
                  of={name}
                  title={`Rotate ${name}`}
                  contract={keys.rotate}
                  verb="Rotate"
                  given={{ id }}
                  initial={{ overlapMinutes: defaultOverlapMinutes }}
                  isSmall
                  onDone={(rotated) => setToken(rotated.token)}
                />
              </>
            )}
            <Action
              contract={keys.revoke}
              input={{ id }}
              of={name}
              isSmall
              confirm={{
                name,
                warning:
                  id === own?.id
                    ? 'This is the session of this page: you are signed out immediately.'
                    : 'The token stops working immediately, and its connections are closed. This cannot be undone.',
              }}
            >
              Revoke
            </Action>
          </Group>
        ),
      width: 1.05,
    },
  ]
  return (
    <>
      <Table label={label} rows={shown} columns={columns} idOf={({ id }) => id} searchedIn={searchedIn} />
      <TokenOnce title="New token" token={token} onClose={() => setToken(undefined)} />
    </>
  )
}

const searchedIn = ({ id, name, notes, owner, kind }: Key) => [id, name, notes, owner, kind]
