import { Alert, Button, Code, Group, Modal, Text } from '@mantine/core'
import { tokenVariable } from '../../subjects/kit/names.ts'
import { Copy } from './copy.tsx'

/** Shows a secret that can be read this once. */
export function TokenOnce({
  token,
  title,
  use,
  onClose,
}: {
  readonly token: string | undefined
  readonly title: string
  /** What it is for, where it is no API token. */
  readonly use?: string
  readonly onClose: () => void
}) {
  return (
    <Modal
      opened={token !== undefined}
      onClose={onClose}
      title={title}
      size="lg"
      // It cannot be shown again: nobody closes it by mistake.
      closeOnClickOutside={false}
      closeOnEscape={false}
    >
      <Alert color="yellow" title="Copy this value now">
        It is shown only once.
      </Alert>
      <Code block mt="md" className="name" data-testid="token">
        {token}
      </Code>
      <Text size="sm" mt="sm">
        {use ?? (
          <>
            The command line, and the requests that pages show, take it from the variable{' '}
            <Code>{tokenVariable}</Code>.
          </>
        )}
      </Text>
      <Group mt="md" justify="flex-end">
        <Copy text={token ?? ''} what="this value" />
        <Button onClick={onClose}>Done</Button>
      </Group>
    </Modal>
  )
}
