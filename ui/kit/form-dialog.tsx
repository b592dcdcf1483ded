import type { Contract } from '../../subjects/kit/contract.ts'
import { mayCall } from '../data/calls.ts'
import { reportOutcome } from '../data/outcomes.ts'
import { useSession } from '../data/session-context.ts'
import { ContractForm, type ContractFormProps } from './contract-form.tsx'
import { doneText } from './format.ts'
import { DialogButton, type DialogButtonProps } from './dialog-button.tsx'

/** A button that opens the form of a contract: there for those who may call it. */
export function FormDialog<C extends Contract>({
  button,
  of,
  title = button,
  isSmall = false,
  isMain = false,
  done,
  onDone,
  ...form
}: Omit<ContractFormProps<C>, 'onCancel' | 'onDone'> &
  DialogButtonProps & {
    /** What is said when it is done, or begun, where the title has no verb for it. */
    readonly done?: string
    readonly onDone?: ContractFormProps<C>['onDone']
  }) {
  const session = useSession()
  if (!mayCall(session, form.contract)) return null
  const shown = { button, title, isSmall, isMain, ...(of !== undefined && { of }) }
  return (
    <DialogButton {...shown}>
      {(close) => (
        <ContractForm
          {...form}
          onCancel={close}
          onDone={(output, input) => {
            close()
            if (onDone === undefined) reportOutcome(done ?? doneText(title))
            onDone?.(output, input)
          }}
        />
      )}
    </DialogButton>
  )
}
