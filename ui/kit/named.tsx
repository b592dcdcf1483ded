import { Tooltip } from '@mantine/core'
import { localDay, localTime, utcTime } from './format.ts'

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

/** The day of a moment in local time; the moment itself when it is pointed at. */
export const DateOf = ({ at }: { readonly at: string }) => (
  <Tooltip label={`${localTime(at)} (${utcTime(at)})`}>
    <time dateTime={at}>{localDay(at)}</time>
  </Tooltip>
)
