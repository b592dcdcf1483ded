import { Modal, Select } from '@mantine/core'
import { useState } from 'react'
import { type Filesystem, filesystems, kinds } from '../../../subjects/filesystems/filesystems.ts'
import { type FilesystemKind, filesystemKinds } from '../../../subjects/filesystems/kinds.ts'
import { useCheckFirst } from '../../kit/check-first.tsx'
import { ContractForm, type ContractFormProps } from '../../kit/contract-form.tsx'
import { shownText } from '../../kit/format.ts'
import { NotAllowed } from '../../kit/not-allowed.tsx'
import { mayCall } from '../../data/calls.ts'
import { reportOutcome } from '../../data/outcomes.ts'
import type { Session } from '../../data/session.ts'
import { useSession } from '../../data/session-context.ts'
import { foreignFields } from './role.ts'

/** Whether somebody may add a store of any kind. */
export const mayAddStores = (session: Session): boolean =>
  kinds.some((kind) => mayCall(session, filesystems[`create-${kind}`]))

/** A form for each kind, made from the schema of its contract: another kind needs no line here. */
export function AddFilesystem({
  role,
  isOpen,
  onClose,
  onAdded,
}: {
  /** The one that is missing. */
  readonly role: 'source' | 'target' | undefined
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly onAdded?: (store: Filesystem) => void
}) {
  const session = useSession()
  const [kind, setKind] = useState<FilesystemKind>('local')
  // What is missing is no longer while the form is sent; and who opens it again has nothing filled in.
  const [opening, setOpening] = useState({ isOpen: false, count: 0, role })
  if (isOpen !== opening.isOpen)
    setOpening(isOpen ? { isOpen, count: opening.count + 1, role } : { ...opening, isOpen })
  return (
    <Modal opened={isOpen} onClose={onClose} title="Add a store" size="lg">
      <Select
        label="Kind"
        data={kinds.map((value) => ({
          value,
          label: shownText(`${value}: ${filesystemKinds[value].summary}`),
        }))}
        value={kind}
        allowDeselect={false}
        onChange={(value) => setKind(value ?? 'local')}
      />
      {mayCall(session, filesystems[`create-${kind}`]) ? (
        <Form
          key={`${kind} ${opening.count}`}
          kind={kind}
          {...(opening.role && { initial: { role: opening.role } })}
          onCancel={onClose}
          onDone={(store) => {
            reportOutcome(`Added ${store.fileSystemId}`)
            onClose()
            onAdded?.(store)
          }}
        />
      ) : (
        <NotAllowed contract={filesystems[`create-${kind}`]} />
      )}
    </Modal>
  )
}

type Create = (typeof filesystems)[`create-${FilesystemKind}`]

function Form({
  kind,
  ...form
}: { readonly kind: FilesystemKind } & Pick<ContractFormProps<Create>, 'initial' | 'onCancel' | 'onDone'>) {
  const checkFirst = useCheckFirst(filesystems[`check-${kind}`])
  return (
    <ContractForm
      contract={filesystems[`create-${kind}`]}
      secrets={filesystemKinds[kind].secrets}
      hidden={foreignFields}
      {...checkFirst}
      {...form}
    />
  )
}
