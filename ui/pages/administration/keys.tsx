import { keys } from '../../../subjects/access/keys.ts'
import { pollMs, useAll } from '../../data/calls.ts'
import { reportOutcome } from '../../data/outcomes.ts'
import { FormDialog } from '../../kit/form-dialog.tsx'
import { Page } from '../../kit/page.tsx'
import { KeyTable } from '../account/key-table.tsx'

/** Keys and sessions of everybody. */
export default function AllKeysPage() {
  const { data = [], error } = useAll(keys.list, ({ id }) => id, { everyMs: pollMs })
  return (
    <Page
      title="All keys"
      error={error}
      contract={keys.list}
      actions={
        <FormDialog
          button="Examine a token"
          contract={keys.examine}
          verb="Examine"
          secrets={['token']}
          onDone={({ explanation }) => reportOutcome(explanation)}
        />
      }
    >
      <KeyTable label="All keys" keys={data} withOwner />
    </Page>
  )
}
