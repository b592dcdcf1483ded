import { Button } from '@mantine/core'
import type { Contract, Input, Output } from '../../subjects/kit/contract.ts'
import { mayCall, useCommand } from '../data/calls.ts'
import { reportOutcome } from '../data/outcomes.ts'
import { useSession } from '../data/session-context.ts'
import { Confirm } from './confirm.tsx'
import { useDialog } from './use-dialog.ts'

/** A button that has something done: there for those who may do it. */
export function Action<C extends Contract>({
  contract,
  input,
  children,
  of,
  confirm,
  done,
  changes,
  onDone,
  unless,
  isSmall = false,
}: {
  readonly contract: C
  readonly input: Input<C>
  /** What it does, in a word or two. */
  readonly children: string
  /** What it is done to, where several of them stand on a page. */
  readonly of?: string
  /** For what cannot be undone: the name to type, and what is lost. */
  readonly confirm?: { readonly name: string; readonly warning: string } | undefined
  /** What to say when it is done and nothing else shows it. */
  readonly done?: string
  /** Resources that change with it, beside its own. */
  readonly changes?: readonly string[]
  readonly onDone?: (output: Output<C>) => void
  /** Why it cannot be done now; its button stays where it is, so that no other takes its place under the pointer. */
  readonly unless?: string | undefined
  /** In a row of a table. */
  readonly isSmall?: boolean
}) {
  const session = useSession()
  const command = useCommand(contract, { ...(changes && { changes }) })
  const asking = useDialog()
  if (!mayCall(session, contract)) return null
  const act = () =>
    command.mutate(input, {
      onSuccess: (output) => {
        if (done !== undefined) reportOutcome(done)
        onDone?.(output)
      },
    })
  return (
    <>
      <Button
        variant="default"
        size={isSmall ? 'compact-sm' : 'sm'}
        loading={command.isPending}
        disabled={unless !== undefined}
        title={unless}
        onClick={confirm === undefined ? act : asking.open}
        {...(of !== undefined && { 'aria-label': `${children} ${of}` })}
      >
        {children}
      </Button>
      {confirm && asking.isThere && (
        <Confirm verb={children} {...confirm} isOpen={asking.isOpen} onClose={asking.close} onConfirm={act} />
      )}
    </>
  )
}
