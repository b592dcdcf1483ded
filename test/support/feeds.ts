import type { FeedPositions } from '../../services/drivers/feeds/feed.ts'

/** For a feed that has none to keep. */
export const noPositions: FeedPositions = {
  reader: 'nobody',
  recall: async () => undefined,
  keep: async () => undefined,
}

/** Positions of many readers, in memory: as `StoredPositions`. */
export function memoryPositions() {
  const kept = new Map<string, { readonly reader: string; readonly at: string }>()
  const of = (reader: string): FeedPositions => ({
    reader,
    recall: async (stream) => {
      const known = kept.get(stream)
      return known?.reader === reader ? known.at : undefined
    },
    keep: async (stream, at) => void kept.set(stream, { reader, at }),
  })
  return { of, kept }
}
