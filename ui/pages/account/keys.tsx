import { Button } from '@mantine/core'
import { keys } from '../../../subjects/access/keys.ts'
import { mayCall, pollMs, useAll } from '../../data/calls.ts'
import { useSession } from '../../data/session-context.ts'
import { Empty } from '../../kit/empty.tsx'
import { Page } from '../../kit/page.tsx'
import { useParam } from '../../kit/use-param.ts'
import { CreateKey } from './create-key.tsx'
import { KeyTable } from './key-table.tsx'

const onlyOwn = { own: true }

/** One's own keys for programs. */
export default function KeysPage() {
  const session = useSession()
  const [adding, setAdding] = useParam('add')
  const { data, error } = useAll(keys.list, ({ id }) => id, { filter: onlyOwn, everyMs: pollMs })
  const own = data?.filter(({ kind, revoked }) => kind === 'key' && revoked === undefined)
  return (
    <Page
      title="API keys"
      error={error}
      contract={keys.list}
      input={onlyOwn}
      actions={
        mayCall(session, keys.create) && <Button onClick={() => setAdding('1')}>Create an API key</Button>
      }
    >
      {own?.length === 0 && (
        <Empty>
          You have no active API keys. Programs and the command line authenticate with an API key. Create one
          with only the permissions that the program needs.
        </Empty>
      )}
      {own !== undefined && own.length > 0 && <KeyTable label="API keys" keys={own} />}
      <CreateKey isOpen={adding !== ''} onClose={() => setAdding('')} />
    </Page>
  )
}
