import { maxPositionText } from '../../feeds/feed.ts'

/** A block in the files of a shard: the number of its file, and where it begins there. */
export interface Place {
  readonly chunk: number
  readonly offset: number
}

/** From where a later reader is to be told again. */
export interface Position {
  /** Of the feed; see `ChangeLog.identity`. */
  readonly feed: string
  /** All that was there at this time was read, milliseconds since 1970 by the clock of the service. */
  readonly readMs: number
  /** Segment up to which all is done. */
  readonly after: string
  /** Of segments after it, up to where their shards are done; what is not in it is read from its beginning. */
  readonly segments: Readonly<Record<string, Readonly<Record<string, Place>>>>
}

/**
 * As text; undefined where even the shortest is too long. Where a segment has more shards than fit, all of them are told again.
 */
export function positionText({ segments, ...position }: Position): string | undefined {
  const compact = Object.entries(segments).map(([segment, shards]) => [
    segment,
    Object.entries(shards).map(([shard, { chunk, offset }]) => [shard, chunk, offset]),
  ])
  const full = JSON.stringify({ ...position, segments: compact })
  if (full.length <= maxPositionText) return full
  const short = JSON.stringify({ ...position, segments: compact.map(([segment]) => [segment, []]) })
  return short.length <= maxPositionText ? short : undefined
}

/** What `positionText` made; undefined for nothing. */
export function positionIn(text: string | undefined): Position | undefined {
  if (text === undefined || text === '') return undefined
  const { segments, ...position } = JSON.parse(text) as Omit<Position, 'segments'> & {
    readonly segments: readonly [string, readonly [string, number, number][]][]
  }
  const read = segments.map(([segment, shards]) => [
    segment,
    Object.fromEntries(shards.map(([shard, chunk, offset]) => [shard, { chunk, offset }])),
  ])
  return { ...position, segments: Object.fromEntries(read) as Position['segments'] }
}
