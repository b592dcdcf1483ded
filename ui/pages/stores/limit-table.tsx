import { Group } from '@mantine/core'
import {
  bandwidth,
  type BandwidthPolicy,
  limitsNothing,
  unlimited,
} from '../../../subjects/migrations/bandwidth.ts'
import { Action } from '../../kit/action.tsx'
import { rateText } from '../../../subjects/kit/binary-size.ts'
import { countText } from '../../kit/format.ts'
import { Named } from '../../kit/named.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { SetLimit } from './set-limit.tsx'

const limitText = (limit: number) => (limit === unlimited ? 'no limit' : rateText(limit))
const requestsText = (limit: number) => (limit === unlimited ? 'no limit' : `${countText(limit)}/s`)

const figures: readonly Column<BandwidthPolicy>[] = [
  {
    label: 'Applies to',
    cell: ({ description }) => <Named>{description}</Named>,
    by: ({ id }) => id,
    width: 2,
  },
  {
    label: 'Limit',
    cell: ({ limitBytesPerSecond }) => limitText(limitBytesPerSecond),
    by: ({ limitBytesPerSecond }) => limitBytesPerSecond,
  },
  { label: 'Requests', cell: ({ limitRequestsPerSecond }) => requestsText(limitRequestsPerSecond) },
  {
    label: 'Schedule',
    cell: ({ schedule }) =>
      schedule === undefined ? (
        'none'
      ) : (
        <Named>
          {`${schedule.windows.map(({ days, from, to, limitBytesPerSecond = unlimited }) => `${days?.join(' ') ?? 'every day'} ${from}–${to} ${limitText(limitBytesPerSecond)}`).join('; ')} (${schedule.timeZone})`}
        </Named>
      ),
    width: 2,
  },
  { label: 'Current limit', cell: ({ now }) => limitText(now.limitBytesPerSecond) },
]

const actions: Column<BandwidthPolicy> = {
  label: 'Actions',
  needs: [bandwidth.set, bandwidth.delete],
  cell: ({ scope, name, description, ...policy }) => {
    const place = { scope, ...(name !== undefined && { name }) }
    return (
      <Group gap={4}>
        <SetLimit button="Change" of={description} place={place} policy={policy} isSmall />
        {!limitsNothing(policy) && (
          <Action contract={bandwidth.delete} input={place} of={description} isSmall>
            Remove
          </Action>
        )}
      </Group>
    )
  },
  width: 1.4,
}

/** @param isShownOnly where limits of others stand beside one's own: they are changed where all of them are */
export const LimitTable = ({
  policies,
  isShownOnly = false,
}: {
  readonly policies: readonly BandwidthPolicy[]
  readonly isShownOnly?: boolean
}) => (
  <Table
    label="Limits"
    rows={policies}
    columns={isShownOnly ? figures : [...figures, actions]}
    idOf={({ id }) => id}
  />
)
