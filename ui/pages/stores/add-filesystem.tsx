import { Modal, Select } from '@mantine/core'
import { useState } from 'react'
import { filesystems, kinds } from '../../../subjects/filesystems/filesystems.ts'
import { type FilesystemKind, filesystemKinds } from '../../../subjects/filesystems/kinds.ts'
import { CheckFirst } from '../../kit/check-first.tsx'
import { ContractForm } from '../../kit/contract-form.tsx'
import { shownText } from '../../kit/format.ts'
import { NotAllowed } from '../../kit/not-allowed.tsx'
import { mayCall } from '../../data/calls.ts'
import { useSession } from '../../data/session-context.ts'
import { foreignFields } from './role.ts'

/** A form for each kind, made from the schema of its contract: another kind needs no line here. */
export function AddFilesystem({
  role,
  isOpen,
  onClose,
}: {
  /** The one that is missing. */
  readonly role: 'source' | 'target' | undefined
  readonly isOpen: boolean
  readonly onClose: () => void
}) {
  const session = useSession()
  const [kind, setKind] = useState<FilesystemKind>('local')
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
        <ContractForm
          key={kind}
          contract={filesystems[`create-${kind}`]}
          verb="Check and add"
          secrets={filesystemKinds[kind].secrets}
          hidden={foreignFields}
          {...(role && { initial: { role } })}
          onCancel={onClose}
          onDone={onClose}
          beside={(input) => <CheckFirst contract={filesystems[`check-${kind}`]} input={input} />}
        />
      ) : (
        <NotAllowed contract={filesystems[`create-${kind}`]} />
      )}
    </Modal>
  )
}
