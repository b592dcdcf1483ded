import { Modal, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { FormButtons } from './form-buttons.tsx'

/** Asks for the name of what is to go, as that cannot be undone. */
export function Confirm({
  verb,
  name,
  warning,
  isOpen,
  onClose,
  onConfirm,
}: {
  readonly verb: string
  readonly name: string
  readonly warning: string
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly onConfirm: () => void
}) {
  const [typed, setTyped] = useState('')
  const close = () => {
    setTyped('')
    onClose()
  }
  return (
    <Modal opened={isOpen} onClose={close} title={<span className="name">{`${verb}: ${name}`}</span>}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (typed !== name) return
          close()
          onConfirm()
        }}
      >
        <Text size="sm">{warning}</Text>
        <TextInput
          mt="sm"
          label={
            <span className="name">
              Type <strong>{name}</strong> to confirm
            </span>
          }
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
          data-autofocus
          autoComplete="off"
        />
        <FormButtons verb={verb} onCancel={close} isReady={typed === name} isDangerous />
      </form>
    </Modal>
  )
}
