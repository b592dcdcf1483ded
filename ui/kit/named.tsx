import { Tooltip } from '@mantine/core'
import { localTime, utcTime } from './format.ts'

/** A name that somebody else has chosen. */
export const Named = ({ children }: { readonly children: string }) => <bdi className="name">{children}</bdi>

/** Local time; that of UTC when it is pointed at. */
export function Time({ at }: { readonly at: string | number | undefined }) {
  if (at === undefined) return <span>–</span>
  const timestamp = typeof at === 'number' ? new Date(at).toISOString() : at
  return (
    <Tooltip label={utcTime(timestamp)}>
      <time dateTime={timestamp}>{localTime(timestamp)}</time>
    </Tooltip>
  )
}
