import type { Adapter, AdapterPayload } from 'oidc-provider'

/** Two people sign in here. */
const maxEntries = 1_000

interface Entry {
  readonly model: string
  readonly payload: AdapterPayload
  /** Milliseconds since 1970. */
  readonly expires: number
}

/** Sessions, codes and tokens of the development provider, in memory: they end with the process. */
export class MemoryStore {
  readonly #entries = new Map<string, Entry>()

  /** What the provider asks for each of its models. */
  of(model: string): Adapter {
    const key = (id: string) => `${model} ${id}`
    const live = ({ payload, expires }: Entry) => (expires > Date.now() ? payload : undefined)
    const find = (matches: (payload: AdapterPayload) => boolean) => {
      const found = [...this.#entries.values()].find(
        (entry) => entry.model === model && matches(entry.payload),
      )
      return Promise.resolve(found && live(found))
    }
    return {
      upsert: (id, payload, expiresInSeconds = Number.POSITIVE_INFINITY) => {
        this.#makeRoom()
        this.#entries.set(key(id), { model, payload, expires: Date.now() + expiresInSeconds * 1_000 })
        return Promise.resolve()
      },
      find: (id) => {
        const entry = this.#entries.get(key(id))
        return Promise.resolve(entry && live(entry))
      },
      findByUid: (uid) => find((payload) => payload.uid === uid),
      findByUserCode: (userCode) => find((payload) => payload.userCode === userCode),
      consume: (id) => {
        const entry = this.#entries.get(key(id))
        if (entry !== undefined) entry.payload.consumed = Math.floor(Date.now() / 1_000)
        return Promise.resolve()
      },
      destroy: (id) => {
        this.#entries.delete(key(id))
        return Promise.resolve()
      },
      revokeByGrantId: (grantId) => {
        for (const [id, { payload }] of this.#entries) {
          if (payload.grantId === grantId) this.#entries.delete(id)
        }
        return Promise.resolve()
      },
    }
  }

  /** Ends all that a person has begun here. */
  forget(accountId: string): void {
    for (const [id, { payload }] of this.#entries) {
      if (payload.accountId === accountId) this.#entries.delete(id)
    }
  }

  /** The oldest go first. */
  #makeRoom(): void {
    for (const id of this.#entries.keys()) {
      if (this.#entries.size < maxEntries) return
      this.#entries.delete(id)
    }
  }
}
