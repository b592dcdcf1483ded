/** A connection, as nats-server counts them. */
export interface Opening {
  /** Id of the server. */
  readonly server: string
  /** Its number there. */
  readonly id: number
}

export const nameOfOpening = ({ server, id }: Opening): string => `${server} ${id}`

/** More than a connection takes from our word that it may come in (`authTimeoutSeconds`) to the server's that it has. */
export const openingMs = 10_000

/**
 * The connections of each key that are on their way in: being judged, or let in a moment ago, so that the server may not
 * list them yet. What they may do was read from the record of their key before now.
 */
export class Openings {
  readonly #byKey = new Map<string, Set<string>>()

  /** Takes note of a connection before its key is looked at. @returns to be called with whether it was let in */
  begin(keyId: string, opening: Opening): (isLetIn: boolean) => void {
    const name = nameOfOpening(opening)
    const own = this.#byKey.get(keyId) ?? new Set()
    this.#byKey.set(keyId, own.add(name))
    const forget = () => {
      own.delete(name)
      if (own.size === 0 && this.#byKey.get(keyId) === own) this.#byKey.delete(keyId)
    }
    return (isLetIn) => {
      if (isLetIn) setTimeout(forget, openingMs).unref()
      else forget()
    }
  }

  /** Names of those of a key. */
  of(keyId: string): Iterable<string> {
    return this.#byKey.get(keyId) ?? []
  }
}
