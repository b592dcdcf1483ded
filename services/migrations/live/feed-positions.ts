import { hash } from 'node:crypto'
import { Type } from 'typebox'
import type { NatsConnection } from '../../../broker/rpc/connection.ts'
import { Collection } from '../../../broker/state/collection.ts'
import type { RecordJournals } from '../../../broker/state/books/record-journal.ts'
import { strict } from '../../../subjects/kit/schemas.ts'
import type { FeedPositions } from '../../drivers/feeds/feed.ts'

const StoredPosition = strict({
  stream: Type.String({ maxLength: 1_000 }),
  /** Who kept it: another one has to compare everything. */
  reader: Type.String({ maxLength: 200 }),
  at: Type.String({ maxLength: 4_000 }),
})

/** A stream's name may be an address, which no key can be. */
const keyOf = (stream: string): string => hash('sha256', stream)

/** Where live migrations are in the streams of changes that they read: by stream, as all readers of one share it. */
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
    return {
      reader,
      recall: async (stream) => {
        const known = await this.#positions.get(keyOf(stream))
        return known?.stream === stream && known.reader === reader ? known.at : undefined
      },
      keep: (stream, at) => this.#positions.put(keyOf(stream), { stream, reader, at }),
    }
  }

  /** Deletes those of readers that are no longer. */
  async sweep(isReader: (reader: string) => boolean): Promise<void> {
    for (const { stream, reader } of await this.#positions.all())
      if (!isReader(reader)) await this.#positions.erase(keyOf(stream))
  }
}
