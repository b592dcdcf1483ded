import type { FeedPositions } from '../../services/drivers/feeds/feed.ts'

/** For a feed that has none to keep. */
export const noPositions: FeedPositions = {
  reader: 'nobody',
  isComplete: false,
  recall: async () => undefined,
  readersOf: async () => [],
  keep: async () => undefined,
}

/** Positions of many readers, in memory: as `StoredPositions`. */
export function memoryPositions() {
  const kept = new Map<string, { readonly readers: readonly string[]; readonly at: string }>()
  const of = (reader: string): FeedPositions => ({
    reader,
    isComplete: true,
    readersOf: async (stream) => kept.get(stream)?.readers ?? [],
    recall: async (stream) => {
      const known = kept.get(stream)
      return known?.readers.includes(reader) === true ? known.at : undefined
    },
    keep: async (stream, at, readers = [reader]) => void kept.set(stream, { readers, at }),
  })
  return { of, kept }
}
