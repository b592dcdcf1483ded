import { every, type Task } from '../../broker/tasks/tasks.ts'
import { rateText } from '../../subjects/kit/binary-size.ts'
import { subjectToken } from '../../subjects/kit/names.ts'
import { type Bucket, noRates, type Rates } from '../engine/run/bucket.ts'
import { Buckets } from './buckets.ts'
import { idOf, type Place, type Policies, ratesAt, type StoredPolicy } from './policies.ts'

const tokenOf = (place: Place): string => subjectToken(idOf(place))

/** Keeps the limits of the platform as its policies and the time of day say. */
export class Limits {
  readonly #policies = new Map<string, StoredPolicy>()
  readonly #buckets = new Buckets()
  #workersUnder: (token: string) => number = () => 1
  #onChange: () => void = () => undefined
  #task: Task | undefined
  #watch: { stop(): Promise<void> } | undefined

  /** Begins to follow the policies; resolves when those that are stored hold. */
  async start(policies: Policies): Promise<void> {
    for (const policy of await policies.all()) this.#policies.set(tokenOf(policy), policy)
    this.refresh()
    this.#watch = await policies.watch((token, policy) => this.#changed(token, policy))
    this.#task = every('bandwidth.timetable', () => this.#lookAtTime())
  }

  async stop(): Promise<void> {
    this.#task?.stop()
    await this.#watch?.stop()
  }

  /**
   * Says that other processes move under the same limits.
   * @param workersUnder how many there are under a limit, this process included
   * @param onChange called when a limit has changed
   */
  share(workersUnder: (token: string) => number, onChange: () => void): void {
    this.#workersUnder = workersUnder
    this.#onChange = onChange
  }

  /** The limits that hold for a migration, for the engine. */
  of(migrationId: string, target: string): Bucket[] {
    return this.tokensOf(migrationId, target).map((token) => this.#buckets.of(token))
  }

  /** Names of the limits that hold for a migration, whoever moves it, as tokens of a subject. */
  tokensOf(migrationId: string, target: string): string[] {
    return [
      tokenOf({ scope: 'global' }),
      tokenOf({ scope: 'migration', name: migrationId }),
      tokenOf({ scope: 'target', name: target }),
    ]
  }

  /** The same of the limit that holds for all that an agent moves. */
  tokenOfAgent(name: string): string {
    return tokenOf({ scope: 'agent', name })
  }

  /** The limits that hold for a migration at the moment, in words; undefined when none does. */
  inWords(migrationId: string, target: string): string | undefined {
    const now = new Date()
    const words = this.tokensOf(migrationId, target)
      .flatMap((token) => this.#policies.get(token) ?? [])
      .flatMap((policy) => {
        const { bytesPerSecond, requestsPerSecond } = ratesAt(policy, now)
        const rates = [
          ...(bytesPerSecond === undefined ? [] : [rateText(bytesPerSecond)]),
          ...(requestsPerSecond === undefined ? [] : [`${requestsPerSecond} requests/s`]),
        ]
        return rates.length === 0 ? [] : [`${idOf(policy)}, ${rates.join(' and ')}`]
      })
    return words.length === 0 ? undefined : words.join('; ')
  }

  /** What each process may move under a limit: they are given equal parts. */
  partOf(token: string): Rates {
    const policy = this.#policies.get(token)
    if (policy === undefined) return noRates
    const { bytesPerSecond, requestsPerSecond } = ratesAt(policy, new Date())
    const part = (rate: number | undefined) =>
      rate === undefined ? undefined : Math.max(1, rate / this.#workersUnder(token))
    return { bytesPerSecond: part(bytesPerSecond), requestsPerSecond: part(requestsPerSecond) }
  }

  /** Sets what holds now; returns whether something else holds than before. */
  refresh(): boolean {
    const changed = [...this.#policies.keys()].map((token) => this.#buckets.set(token, this.partOf(token)))
    return changed.includes(true)
  }

  #changed(token: string, policy: StoredPolicy | undefined): void {
    if (policy === undefined) this.#policies.delete(token)
    else this.#policies.set(token, policy)
    this.#buckets.set(token, this.partOf(token))
    this.#onChange()
  }

  #lookAtTime(): void {
    if (this.refresh()) this.#onChange()
  }
}
