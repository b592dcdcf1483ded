import { hash } from 'node:crypto'
import { Type } from 'typebox'
import type { NatsConnection } from '../../../broker/rpc/connection.ts'
import { Collection } from '../../../broker/state/collection.ts'
import type { RecordJournals } from '../../../broker/state/books/record-journal.ts'
import { strict } from '../../../subjects/kit/schemas.ts'
import { type FeedPositions, maxPositionText } from '../../drivers/feeds/feed.ts'

/** Live migrations that read one stream together and go on where they were; further ones compare everything instead. */
const maxReaders = 1_000

const StoredPosition = strict({
  stream: Type.String({ maxLength: 1_000 }),
  /** Who is there: any other one has to compare everything. */
  readers: Type.Array(Type.String({ maxLength: 200 }), { maxItems: maxReaders }),
  at: Type.String({ maxLength: maxPositionText }),
})

/** A stream's name may be an address, which no key can be. */
const keyOf = (stream: string): string => hash('sha256', stream)

/** Where live migrations are in the streams of changes that they read: by stream, as what one reader of it took no other is told. */
export class StoredPositions {
  readonly #positions: Collection<typeof StoredPosition>

  private constructor(positions: Collection<typeof StoredPosition>) {
    this.#positions = positions
  }

  static async open(connection: NatsConnection, journals: RecordJournals): Promise<StoredPositions> {
    const options = { bucket: 'feed-positions', schema: StoredPosition, version: 1, journals }
    return new StoredPositions(await Collection.open(connection, options))
  }

  /** @param reader the same only for who needs to be told the same */
  of(reader: string): FeedPositions {
    const kept = async (stream: string) => {
      const known = await this.#positions.get(keyOf(stream))
      return known?.stream === stream ? known : undefined
    }
    return {
      reader,
      isComplete: true,
      recall: async (stream) => {
        const known = await kept(stream)
        return known?.readers.includes(reader) === true ? known.at : undefined
      },
      readersOf: async (stream) => (await kept(stream))?.readers ?? [],
      keep: (stream, at, readers = [reader]) =>
        this.#positions.put(keyOf(stream), { stream, readers: readers.slice(0, maxReaders), at }),
    }
  }

  /** Deletes those of readers that are no longer. */
  async sweep(isReader: (reader: string) => boolean): Promise<void> {
    for (const { stream, readers } of await this.#positions.all())
      if (!readers.some(isReader)) await this.#positions.erase(keyOf(stream))
  }
}
