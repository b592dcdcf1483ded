import { Button, Modal } from '@mantine/core'
import type { ReactNode } from 'react'
import { clearFailures } from '../data/outcomes.ts'
import { useDialog } from './use-dialog.ts'

export interface DialogButtonProps {
  readonly button: string
  /** What it is about, where several of them stand on a page. */
  readonly of?: string
  readonly title?: string
  readonly isSmall?: boolean
  /** What one comes to the page for. */
  readonly isMain?: boolean
  /** Why it cannot be done now. */
  readonly unless?: string | undefined
}

/** A button that opens a dialog. @param children given what closes it */
export function DialogButton({
  button,
  of,
  title = button,
  isSmall = false,
  isMain = false,
  unless,
  size = 'lg',
  children,
}: DialogButtonProps & {
  readonly size?: 'lg' | 'xl'
  readonly children: (close: () => void) => ReactNode
}) {
  const { isThere, isOpen, open, close } = useDialog()
  return (
    <>
      <Button
        variant={isMain ? 'filled' : 'default'}
        size={isSmall ? 'compact-sm' : 'sm'}
        disabled={unless !== undefined}
        title={unless}
        onClick={() => {
          // Somebody who begins something else has seen what went wrong, which would stand before the dialog.
          clearFailures()
          open()
        }}
        {...(of !== undefined && { 'aria-label': `${button} ${of}` })}
      >
        {button}
      </Button>
      {isThere && (
        <Modal opened={isOpen} onClose={close} title={<span className="name">{title}</span>} size={size}>
          {children(close)}
        </Modal>
      )}
    </>
  )
}
