import { DiscardPolicy, type StreamInfo } from '@nats-io/jetstream'
import type { LossKind } from './record-losses.ts'

/** What a stream had when it was looked at. */
export interface SeenStream {
  /** When it was looked at, in milliseconds since 1970: what it has got since is no older. */
  readonly atMs: number
  readonly created: string
  readonly first: number
  readonly last: number
  readonly messages: number
  readonly bytes: number
  /** When the first message was stored, in milliseconds since 1970; 0 for an empty stream. */
  readonly firstMs: number
  /** Whether all that is in its index follows from its messages. Of what a limit for each subject removed the index alone knows. */
  readonly isPlain: boolean
  /** Earlier moments, in milliseconds since 1970, and the last sequence at each, for streams whose messages expire. */
  readonly marks: readonly (readonly [atMs: number, last: number])[]
}

/** What is wrong with a stream, and how many messages are concerned. */
export interface StreamLoss {
  readonly kind: LossKind
  readonly messages: number
}

const nsPerMs = 1e6

/** Marks in the lifetime of a message: what is lost among the oldest of so many parts may be taken for expired. */
const marksInLife = 50
/** A clock that was set by so little makes no false alarm. */
const slackMs = 10_000
/** A stream that is so full has removed its oldest messages for want of space: a message takes far less than the rest. */
const fullShare = 0.9

const maxAgeMsOf = ({ config }: StreamInfo): number => config.max_age / nsPerMs

/** What to remember of a stream. @param atMs when it was asked for @param before what was remembered of it last */
export function seenStream(info: StreamInfo, atMs: number, before: SeenStream | undefined): SeenStream {
  const { first_seq: first, last_seq: last, messages, bytes, first_ts } = info.state
  const maxAgeMs = maxAgeMsOf(info)
  const marks = before?.created === info.created ? [...before.marks] : []
  const isDue = atMs - (marks.at(-1)?.[0] ?? 0) >= maxAgeMs / marksInLife
  if (maxAgeMs > 0 && isDue) marks.push([atMs, last])
  return {
    atMs,
    created: info.created,
    first,
    last,
    messages,
    bytes,
    firstMs: messages === 0 ? 0 : Date.parse(first_ts),
    isPlain: info.config.max_msgs_per_subject <= 0,
    marks: marks.slice(-marksInLife - 1),
  }
}

/**
 * What a stream has lost since it was looked at, apart from what its limits and the platform itself have removed.
 * @param removed messages that the platform has removed since, at most @param nowMs the time, in milliseconds since 1970
 * @param wasStopped nothing was changed since, as the platform was stopped in order
 */
export function streamLoss(
  before: SeenStream,
  now: StreamInfo | undefined,
  {
    removed,
    nowMs,
    wasStopped,
  }: { readonly removed: number; readonly nowMs: number; readonly wasStopped: boolean },
): StreamLoss | undefined {
  if (now === undefined || now.created !== before.created)
    return before.messages > removed ? { kind: 'STREAM_LOST', messages: before.messages } : undefined
  const { first_seq: first, last_seq: last, messages } = now.state
  const missing = before.messages + added(before, now) - messages - removed - expired(before, now, nowMs)
  const lost = Math.max(missing, before.last - last)
  if (lost > 0) return { kind: 'MESSAGES_LOST', messages: lost }
  // An older version of a record has taken the place of a lost one. After a kill, more messages than before are what it
  // undid of removals: nats-server does not write down at once that a limit removed the version before.
  const isOlder = messages > 0 && first < before.first
  return isOlder && (wasStopped || (removed === 0 && messages <= before.messages))
    ? { kind: 'MESSAGES_RETURNED', messages: before.first - first }
    : undefined
}

/** Messages that must have been added. A new value of a key replaces the old one, so there a new message need not be one more. */
const added = (before: SeenStream, { config, state }: StreamInfo): number =>
  config.max_msgs_per_subject > 0 ? 0 : Math.max(0, state.last_seq - before.last)

/** How many of the oldest messages the limits of the stream may have removed. */
function expired(before: SeenStream, now: StreamInfo, nowMs: number): number {
  const gone = now.state.first_seq - before.first
  return Math.max(0, Math.min(gone, removable(before, now, nowMs) - before.first + 1))
}

/** The highest sequence that the limits of the stream may have removed. */
function removable(before: SeenStream, now: StreamInfo, nowMs: number): number {
  const { discard, max_bytes } = now.config
  const bytes = Math.max(before.bytes, now.state.bytes)
  if (discard === DiscardPolicy.Old && max_bytes > 0 && bytes >= max_bytes * fullShare) return Infinity
  const maxAgeMs = maxAgeMsOf(now)
  if (maxAgeMs === 0) return 0
  const untilMs = nowMs - maxAgeMs + slackMs
  if (before.firstMs > untilMs) return 0
  // What came after a moment is younger than that.
  const marks = [...before.marks, [before.atMs, before.last] as const]
  const mark = marks.find(([atMs]) => atMs > untilMs)
  return mark === undefined ? Infinity : mark[1]
}
