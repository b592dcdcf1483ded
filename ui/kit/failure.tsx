import { Alert } from '@mantine/core'
import { isGantryError } from '../../subjects/kit/errors.ts'
import { saidText } from './format.ts'

/** It may come below what one sees. */
export const showFully = (element: HTMLElement | null) => element?.scrollIntoView({ block: 'nearest' })

/** What went wrong, in the words of the platform. */
export function Failure({ title, error }: { readonly title: string; readonly error: unknown }) {
  const said = error instanceof Error ? error.message : String(error)
  return (
    <Alert color="red" title={title} role="alert" my="md" className="name" ref={showFully}>
      {saidText(said)}
      {isGantryError(error, 'DENIED') && '. Ask an administrator for a role with this permission.'}
    </Alert>
  )
}
