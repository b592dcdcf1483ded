import { subjectToken } from '../../../subjects/names.ts'
import { type Bucket, newBucket, noRates, type Rates, setRates } from '../engine/bucket.ts'
import { idOf, type Place, type Policies, ratesAt, type StoredPolicy } from './policies.ts'

/** How often the time of day is looked at; tables have minutes. */
const checkMs = 1_000

/** The limits of this process, by what they are about; they hold for all of its threads as soon as they are set. */
export class Buckets {
  readonly #buckets = new Map<string, Bucket>()

  of(id: string): Bucket {
    const known = this.#buckets.get(id) ?? newBucket()
    this.#buckets.set(id, known)
    return known
  }

  set(id: string, rates: Rates): void {
    setRates(this.of(id), rates)
  }
}

/** Names of the limits that hold for a migration, as tokens of a subject. */
const limitsOf = (migrationId: string, target: string): string[] => {
  const places: Place[] = [
    { scope: 'global' },
    { scope: 'migration', name: migrationId },
    { scope: 'target', name: target },
  ]
  return places.map((place) => subjectToken(idOf(place)))
}

/** Keeps the limits of the platform as its policies and the time of day say. */
export class Limits {
  readonly #policies = new Map<string, StoredPolicy>()
  readonly #buckets = new Buckets()
  #timer: NodeJS.Timeout | undefined
  #watch: { stop(): Promise<void> } | undefined

  /** Begins to follow the policies; resolves when those that are stored hold. */
  async start(policies: Policies): Promise<void> {
    for (const policy of await policies.list({ limit: Number.POSITIVE_INFINITY }))
      this.#changed(subjectToken(idOf(policy)), policy)
    this.#watch = await policies.watch((token, policy) => this.#changed(token, policy))
    this.#timer = setInterval(() => this.#setAll(), checkMs).unref()
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#watch?.stop()
  }

  /** The limits that hold for a migration, for the engine. */
  of(migrationId: string, target: string): Bucket[] {
    return limitsOf(migrationId, target).map((token) => this.#buckets.of(token))
  }

  #changed(token: string, policy: StoredPolicy | undefined): void {
    if (policy === undefined) {
      this.#policies.delete(token)
      this.#buckets.set(token, noRates)
    } else {
      this.#policies.set(token, policy)
      this.#buckets.set(token, ratesAt(policy, new Date()))
    }
  }

  #setAll(): void {
    const now = new Date()
    for (const [token, policy] of this.#policies) this.#buckets.set(token, ratesAt(policy, now))
  }
}
