/** Admits what owners make up to a limit. What an owner has is counted when it may have reached the limit: until then each new one is added to the last count, since all that others do makes it less. */
export class OwnerRooms {
  readonly #groups = new Map<string, Group>()

  /**
   * Makes one more, unless `whenFull` throws. Exact however many are asked for at once, as long as one process makes them.
   * @param name whose they are, and what they are
   */
  async make<T>(name: string, { limit, count, whenFull }: Room, make: () => Promise<T>): Promise<T> {
    const group: Group = this.#groups.get(name) ?? { turn: Promise.resolve(), making: new Set() }
    this.#groups.set(name, group)
    const admitted = group.turn.then(async () => {
      if (group.atMost === undefined || group.atMost >= limit) {
        await Promise.allSettled(group.making)
        group.atMost = await count()
        if (group.atMost >= limit) {
          await whenFull()
          group.atMost = limit - 1
        }
      }
      group.atMost += 1
      const made = make()
      group.making.add(made)
      // Not awaited here: the next one need not wait for it.
      const isMade = () => void group.making.delete(made)
      made.then(isMade, isMade)
      return { made }
    })
    group.turn = admitted.then(
      () => undefined,
      () => undefined,
    )
    return (await admitted).made
  }
}

/** What an owner may have. */
export interface Room {
  readonly limit: number
  /** How many there are; called when what was counted last and made since has reached the limit. */
  readonly count: () => Promise<number>
  /** Is called when there are as many as there may be: makes room for one, or throws. */
  readonly whenFull: () => void | Promise<void>
}

/** What one owner has of one kind. */
interface Group {
  /** No less than there are; undefined until they are counted. */
  atMost?: number
  /** Resolves when all that came before were admitted or refused. */
  turn: Promise<void>
  /** Those that were admitted, and may not be stored yet. */
  readonly making: Set<Promise<unknown>>
}
