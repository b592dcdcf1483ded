import { Button, Group } from '@mantine/core'

/** What stands at the end of a form. */
export function FormButtons({
  verb,
  onCancel,
  isPending = false,
  isReady = true,
  isDangerous = false,
}: {
  readonly verb: string
  readonly onCancel?: () => void
  readonly isPending?: boolean
  /** Whether there is enough to send it. */
  readonly isReady?: boolean
  readonly isDangerous?: boolean
}) {
  return (
    <Group mt="md" justify="flex-end">
      {onCancel && (
        <Button variant="default" onClick={onCancel}>
          Cancel
        </Button>
      )}
      <Button type="submit" loading={isPending} disabled={!isReady} {...(isDangerous && { color: 'red' })}>
        {verb}
      </Button>
    </Group>
  )
}
