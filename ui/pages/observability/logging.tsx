import { logging } from '../../../subjects/observability/logging.ts'
import { mayCall, pollMs, useAnswer } from '../../data/calls.ts'
import { reportOutcome } from '../../data/outcomes.ts'
import { useSession } from '../../data/session-context.ts'
import { ContractForm } from '../../kit/contract-form.tsx'
import { Fact, Facts } from '../../kit/facts.tsx'
import { Page } from '../../kit/page.tsx'

/** What the platform writes into its log. */
export default function LoggingPage() {
  const session = useSession()
  const { data, error } = useAnswer(logging.get, {}, { everyMs: pollMs })
  return (
    <Page title="Log level" error={error} contract={logging.get} hasForm={mayCall(session, logging.put)}>
      {data && (
        <Facts>
          <Fact label="Level">{data.level}</Fact>
        </Facts>
      )}
      {data && mayCall(session, logging.put) && (
        <ContractForm
          key={data.level}
          contract={logging.put}
          verb="Change"
          initial={data}
          onDone={({ level }) => reportOutcome(`Log level set to ${level} until the next restart`)}
        />
      )}
    </Page>
  )
}
