import { bandwidth } from '../../../subjects/migrations/bandwidth.ts'
import { pollMs, useAnswer } from '../../data/calls.ts'
import { Empty } from '../../kit/empty.tsx'
import { Page } from '../../kit/page.tsx'
import { LimitTable } from './limit-table.tsx'
import { SetLimit } from './set-limit.tsx'

/** What is moved in a second, at most. */
export default function BandwidthPage() {
  const { data, error } = useAnswer(bandwidth.list, {}, { everyMs: pollMs })
  return (
    <Page
      title="Bandwidth"
      error={error}
      contract={bandwidth.list}
      actions={<SetLimit button="Set a limit" place={{}} isMain />}
    >
      {data?.length === 0 && (
        <Empty>There are no limits. Files are copied as fast as the stores and the network allow.</Empty>
      )}
      {data !== undefined && data.length > 0 && <LimitTable policies={data} />}
    </Page>
  )
}
