import { Notification, Stack } from '@mantine/core'
import { closeOutcome, type Outcome, useOutcomes } from '../data/outcomes.ts'
import { useEffect } from 'react'
import { saidText } from '../kit/format.ts'

/** What went well needs no closing. */
const goodMs = 6_000

/** At the end of the window on every page: what was done, and what was not. */
export function Outcomes() {
  return (
    <Stack className="outcomes" gap="xs">
      {useOutcomes().map((one) => (
        <One key={one.id} {...one} />
      ))}
    </Stack>
  )
}

function One({ id, title, error }: Outcome) {
  useEffect(() => {
    if (error !== undefined) return
    const timer = setTimeout(() => closeOutcome(id), goodMs)
    return () => clearTimeout(timer)
  }, [id, error])
  return (
    <Notification
      color={error === undefined ? 'green' : 'red'}
      role={error === undefined ? 'status' : 'alert'}
      title={title}
      withBorder
      onClose={() => closeOutcome(id)}
      closeButtonProps={{ 'aria-label': 'Close' }}
      className="name"
    >
      {error instanceof Error ? saidText(error.message) : null}
    </Notification>
  )
}
