import { settings } from '../../../subjects/access/settings.ts'
import { mayCall, useAnswer } from '../../data/calls.ts'
import { useEvents } from '../../data/events.ts'
import { reportOutcome } from '../../data/outcomes.ts'
import { useSession } from '../../data/session-context.ts'
import { ContractForm } from '../../kit/contract-form.tsx'
import { Fact, Facts } from '../../kit/facts.tsx'
import { labelOf } from '../../kit/format.ts'
import { Page } from '../../kit/page.tsx'

export default function SettingsPage() {
  const session = useSession()
  useEvents(settings.get.resource)
  const { data, error, dataUpdatedAt } = useAnswer(settings.get, {})
  return (
    <Page title="Settings" error={error} contract={settings.get} hasForm={mayCall(session, settings.put)}>
      {data !== undefined &&
        (mayCall(session, settings.put) ? (
          <ContractForm
            // What somebody else has changed stands in the fields.
            key={dataUpdatedAt}
            contract={settings.put}
            verb="Save"
            initial={data}
            changedOnly
            onDone={() => reportOutcome('Settings saved')}
          />
        ) : (
          <Facts>
            {Object.entries(data).map(([name, value]) => (
              <Fact key={name} label={labelOf(name)}>
                {typeof value === 'object' ? JSON.stringify(value) : String(value)}
              </Fact>
            ))}
          </Facts>
        ))}
    </Page>
  )
}
