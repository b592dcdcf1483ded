import { Button, Group, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import type { ReactNode } from 'react'
import type { Filesystem } from '../../../subjects/filesystems/filesystems.ts'
import { useSession } from '../../data/session-context.ts'
import { AddFilesystem, mayAddStores } from '../stores/add-filesystem.tsx'
import { roleOf } from '../stores/role.ts'

type Role = ReturnType<typeof roleOf>

/** Below the choice of a source or target: adds one that is missing without leaving what is filled in. */
function StoreButton({
  role,
  isMissing,
  onAdded,
}: {
  readonly role: Role
  /** Whether there is none to choose. */
  readonly isMissing: boolean
  readonly onAdded: (store: Filesystem) => void
}) {
  const session = useSession()
  const [isAdding, adding] = useDisclosure()
  const mayAdd = mayAddStores(session)
  if (!mayAdd && !isMissing) return null
  return (
    <Group gap="sm" mt={6}>
      {isMissing && (
        <Text size="sm">
          {`There is no ${role} yet.`}
          {!mayAdd && ' Ask somebody who may add stores to add one.'}
        </Text>
      )}
      {mayAdd && (
        <>
          <Button variant={isMissing ? 'filled' : 'default'} size="xs" onClick={adding.open}>
            {`Add a ${role}`}
          </Button>
          <AddFilesystem role={role} isOpen={isAdding} onClose={adding.close} onAdded={onAdded} />
        </>
      )}
    </Group>
  )
}

/** These buttons by their fields. @param onAdded told the role of the new store, which may be another one, and its name */
export function storeButtons(
  stores: readonly Filesystem[],
  onAdded: (role: Role, name: string) => void,
): Readonly<Record<Role, ReactNode>> {
  const button = (role: Role) => (
    <StoreButton
      role={role}
      isMissing={stores.every((store) => roleOf(store) !== role)}
      onAdded={(store) => onAdded(roleOf(store), store.fileSystemId)}
    />
  )
  return { source: button('source'), target: button('target') }
}
