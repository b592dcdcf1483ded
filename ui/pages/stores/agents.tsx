import { useState } from 'react'
import { Code } from '@mantine/core'
import { product } from '../../../subjects/kit/names.ts'
import { agentKeys, agents } from '../../../subjects/migrations/agents.ts'
import { useAll, useAnswer } from '../../data/calls.ts'
import { Empty } from '../../kit/empty.tsx'
import { FormDialog } from '../../kit/form-dialog.tsx'
import { Page } from '../../kit/page.tsx'
import { TokenOnce } from '../../kit/token-once.tsx'
import { AgentTable } from './agent-table.tsx'

const everyMs = 5_000

/** Who moves the files, beside the platform itself. */
export default function AgentsPage() {
  const { data, error } = useAll(agents.list, ({ name }) => name, { everyMs })
  const settings = useAnswer(agents['get-settings'], {})
  const [token, setToken] = useState<string>()
  return (
    <Page
      title="Agents"
      error={error}
      contract={agents.list}
      actions={
        <>
          {settings.data && (
            <FormDialog
              button="Agent settings"
              done="Agent settings saved"
              contract={agents['put-settings']}
              verb="Save"
              initial={settings.data}
            />
          )}
          <FormDialog
            button="Register an agent"
            isMain
            contract={agentKeys.register}
            verb="Register"
            onDone={(key) => setToken(key.token)}
          />
        </>
      }
    >
      {data?.length === 0 && (
        <Empty>
          There are no agents. A transfer agent copies files from another host. Register it here, then start
          it on that host with <Code>{`${product} agent`}</Code> and its token.
        </Empty>
      )}
      {data !== undefined && data.length > 0 && <AgentTable agents={data} />}
      <TokenOnce title="Agent token" token={token} onClose={() => setToken(undefined)} />
    </Page>
  )
}
