import type { NatsConnection } from '../../broker/rpc/connection.ts'
import { askLimits, limitReached } from '../../broker/rpc/owners.ts'
import { product } from '../../subjects/kit/names.ts'
import type { ExtensionState } from './record.ts'

/** A limit that was changed holds after this at the latest. */
const askAgainMs = 60_000
/** What an owner has removed makes room after this: measuring asks the broker about each storage of the owner. */
const measureAgainMs = 1_000
const mib = 2 ** 20

interface Measured {
  /** No less than all storages of the owner take. */
  atMostBytes: number
  readonly maxBytes: number
  readonly atMs: number
}

/** What is to be stored. */
interface Put {
  readonly keyId: string
  readonly owner: string
  readonly addedBytes: number
  /** Bytes of the value that it replaces. */
  readonly replacedBytes: () => Promise<number>
}

/** Holds owners to what all their extensions may store together. */
export class OwnerStorage {
  readonly #connection: NatsConnection
  readonly #owned: ExtensionState['owned']
  readonly #bytesOf: (prefix: string) => Promise<number>
  readonly #byOwner = new Map<string, Promise<Measured>>()

  /** @param bytesOf what a storage takes */
  constructor(
    connection: NatsConnection,
    { owned }: Pick<ExtensionState, 'owned'>,
    bytesOf: (prefix: string) => Promise<number>,
  ) {
    this.#connection = connection
    this.#owned = owned
    this.#bytesOf = bytesOf
  }

  /** @throws GantryError LIMIT_REACHED */
  async requireRoom({ keyId, owner, addedBytes, replacedBytes }: Put): Promise<void> {
    let last = this.#byOwner.get(owner) ?? this.#measure(keyId, owner)
    let known = await last
    const isFull = () => known.atMostBytes + addedBytes > known.maxBytes
    const ageMs = performance.now() - known.atMs
    if (ageMs > askAgainMs || (isFull() && ageMs > measureAgainMs)) {
      // Of many at once, the first one measures.
      const current = this.#byOwner.get(owner)
      last = current === undefined || current === last ? this.#measure(keyId, owner) : current
      known = await last
    }
    if (isFull()) {
      const freeBytes = Math.max(0, known.maxBytes - known.atMostBytes)
      // What is replaced makes room, and what does not grow needs none.
      if (addedBytes - (await replacedBytes()) <= freeBytes) return
      throw limitReached(
        `the extensions of ${owner} already store ${known.maxBytes / mib} MiB, which is the limit`,
        'maxStorageMib',
        `delete values with "${product} extension-storage delete"`,
      )
    }
    known.atMostBytes += addedBytes
  }

  #measure(keyId: string, owner: string): Promise<Measured> {
    const measured = this.#measured(keyId, owner)
    this.#byOwner.set(owner, measured)
    measured.catch(() => this.#byOwner.delete(owner))
    return measured
  }

  async #measured(keyId: string, owner: string): Promise<Measured> {
    const [{ limits }, prefixes] = await Promise.all([
      askLimits(this.#connection, keyId),
      this.#owned.listGroup(owner),
    ])
    const sizes = await Promise.all(prefixes.map(({ prefix }) => this.#bytesOf(prefix)))
    return {
      atMostBytes: sizes.reduce((sum, bytes) => sum + bytes, 0),
      maxBytes: limits.maxStorageMib * mib,
      atMs: performance.now(),
    }
  }
}
