import type { Input } from '../../../subjects/kit/contract.ts'
import { notifications } from '../../../subjects/observability/notifications.ts'
import { pollMs, useAnswer } from '../../data/calls.ts'
import { Filters } from '../../kit/filters.tsx'
import { Page } from '../../kit/page.tsx'
import { useFilters } from '../../kit/use-param.ts'
import { NotificationTable } from './notification-table.tsx'

/** What happened, the newest first. */
export default function NotificationsPage() {
  const [filter, setFilter] = useFilters<Input<(typeof notifications)['list']>>()
  const { data, error } = useAnswer(notifications.list, filter, { everyMs: pollMs })
  return (
    <Page title="Notifications" error={error} contract={notifications.list} input={filter}>
      <Filters
        contract={notifications.list}
        fields={['type', 'level', 'object', 'since', 'resolved']}
        values={filter}
        onChange={setFilter}
      />
      {data && <NotificationTable notifications={data} />}
    </Page>
  )
}
