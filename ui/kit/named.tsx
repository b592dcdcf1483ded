import { Tooltip } from '@mantine/core'
import type { ReactNode } from 'react'
import { localDay, localTime, utcTime } from './format.ts'

/** A name that somebody else has chosen. */
export const Named = ({ children }: { readonly children: string }) => (
  <bdi className="name">{breakable(children)}</bdi>
)

/** Words that a column may have no room for; shorter ones stay whole. */
const longWord = /\S{18,}/
const betweenParts = /(?<=[\p{L}\p{N}][._/:=@,])(?=[\p{L}\p{N}])/u

/** A text whose long words are broken between their parts, where there are some, and not within one. */
const breakable = (text: string): ReactNode =>
  longWord.test(text)
    ? text
        .split(/(\s+)/)
        .flatMap((word) => (longWord.test(word) ? withBreaks(word.split(betweenParts)) : [word]))
        .map((part, index) => (part === null ? <wbr key={index} /> : part))
    : text

const withBreaks = (parts: readonly string[]): (string | null)[] =>
  parts.flatMap((part, index) => (index === 0 ? [part] : [null, part]))

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
