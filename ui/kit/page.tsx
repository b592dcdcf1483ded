import { Group, Title } from '@mantine/core'
import { useDocumentTitle } from '@mantine/hooks'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { Contract } from '../../subjects/kit/contract.ts'
import { isGantryError } from '../../subjects/kit/errors.ts'
import { title as product } from '../../subjects/kit/names.ts'
import { mayCall } from '../data/calls.ts'
import { useSession } from '../data/session-context.ts'
import { AsCommand } from './as-command.tsx'
import { Failure } from './failure.tsx'
import { NotAllowed } from './not-allowed.tsx'

/** What every page has: its name, what can be done, what went wrong, and how to get the same elsewhere. */
export function Page({
  title,
  of,
  beside,
  actions,
  error,
  contract,
  input,
  hasForm = false,
  children,
}: {
  readonly title: string
  /** The list that what the page shows is in. */
  readonly of?: { readonly to: string; readonly label: string }
  /** Beside the name. */
  readonly beside?: ReactNode
  readonly actions?: ReactNode
  readonly error?: unknown
  /** That the page shows the answer of. */
  readonly contract?: Contract
  readonly input?: Readonly<Record<string, unknown>>
  /** Whether its content is a form, which has a command of its own: two beside each other are told apart by nobody. */
  readonly hasForm?: boolean
  readonly children: ReactNode
}) {
  const session = useSession()
  const isAllowed = contract === undefined || mayCall(session, contract)
  useDocumentTitle(`${title} · ${product}`)
  return (
    <>
      {of && (
        <nav aria-label="Belongs to">
          <Link to={of.to}>{of.label}</Link>
        </nav>
      )}
      <Group justify="space-between" mb="md">
        <Group gap="sm">
          <Title order={1} size="h2" className="name" tabIndex={-1}>
            {title}
          </Title>
          {beside}
        </Group>
        <Group gap="xs" className="page-actions">
          {actions}
        </Group>
      </Group>
      {isAllowed ? (
        error !== null &&
        error !== undefined && (
          <Failure
            title={isGantryError(error, 'NOT_FOUND') ? 'Not found' : 'This could not be loaded'}
            error={error}
          />
        )
      ) : (
        <NotAllowed contract={contract} />
      )}
      {isAllowed && children}
      {isAllowed && contract && !hasForm && <AsCommand contract={contract} {...(input && { input })} />}
    </>
  )
}

/** A part of a page. */
export function Section({
  title,
  actions,
  children,
}: {
  readonly title: string
  readonly actions?: ReactNode
  readonly children: ReactNode
}) {
  return (
    <section>
      <Group justify="space-between" mt="xl" mb="xs">
        <Title order={2} size="h3">
          {title}
        </Title>
        <Group gap="xs">{actions}</Group>
      </Group>
      {children}
    </section>
  )
}
