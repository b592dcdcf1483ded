import { Button, Group, Text } from '@mantine/core'

/** What stands at the end of a form. */
export function FormButtons({
  verb,
  onCancel,
  isPending = false,
  isReady = true,
  lacking = [],
  isDangerous = false,
}: {
  readonly verb: string
  readonly onCancel?: () => void
  readonly isPending?: boolean
  /** Whether there is enough to send it, where the form says by itself what is missing. */
  readonly isReady?: boolean
  /** Labels of fields that have to be filled in first. */
  readonly lacking?: readonly string[]
  readonly isDangerous?: boolean
}) {
  return (
    <Group mt="md" justify="flex-end" className="form-buttons">
      <StillNeeded fields={lacking} />
      {onCancel && (
        <Button variant="default" onClick={onCancel}>
          Cancel
        </Button>
      )}
      <Button
        type="submit"
        loading={isPending}
        disabled={!isReady || lacking.length > 0}
        {...(isDangerous && { color: 'red' })}
      >
        {verb}
      </Button>
    </Group>
  )
}

/** Why the button beside it cannot be used yet. @param fields their labels */
export const StillNeeded = ({ fields }: { readonly fields: readonly string[] }) =>
  fields.length > 0 && <Text size="sm">{`Still needed: ${fields.join(', ')}`}</Text>
