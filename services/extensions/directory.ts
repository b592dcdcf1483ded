import { isSameConnection } from '../../broker/callout/disconnects.ts'
import type { ClientConnection } from '../../subjects/kit/contract.ts'
import { lostAfterMs } from '../../subjects/extensions/model.ts'
import { subjectToken } from '../../subjects/kit/names.ts'
import { type ExtensionState, instanceKey, type InstanceRecord } from './record.ts'

/** Stored changes are told within milliseconds; a broker that is slower answers the next call. */
const patienceMs = 2_000

/** An instance, and its last sign of life in milliseconds since 1970. */
export interface LiveInstance extends InstanceRecord {
  readonly seenMs: number
}

interface Waiter {
  readonly isDone: () => boolean
  readonly resolve: () => void
}

/** The instances that are there, as all nodes see them: what is stored, followed. */
export class Directory {
  readonly #records = new Map<string, InstanceRecord>()
  /** Tokens of the instances of each prefix. */
  readonly #tokens = new Map<string, Set<string>>()
  readonly #seenMs = new Map<string, number>()
  readonly #waiters = new Set<Waiter>()
  readonly #listeners: ((prefix: string) => void)[] = []

  /** Reads what is stored, and follows it until `stop`. */
  static async open({ instances, heartbeats }: Pick<ExtensionState, 'instances' | 'heartbeats'>): Promise<{
    directory: Directory
    stop(): Promise<void>
  }> {
    const directory = new Directory()
    for (const record of await instances.all()) directory.record(subjectToken(instanceKey(record)), record)
    const watches = await Promise.all([
      instances.watch((token, record) => directory.record(token, record)),
      heartbeats.watch((token, beat) => directory.seen(token, beat?.seen)),
    ])
    return {
      directory,
      stop: async () => {
        await Promise.all(watches.map((watch) => watch.stop()))
      },
    }
  }

  /** @param token the key of the instance as a subject token */
  record(token: string, record: InstanceRecord | undefined): void {
    const before = this.#records.get(token)
    if (before !== undefined) this.#tokens.get(before.prefix)?.delete(token)
    if (record === undefined) {
      this.#records.delete(token)
      this.#seenMs.delete(token)
      if (before !== undefined && this.#tokens.get(before.prefix)?.size === 0)
        this.#tokens.delete(before.prefix)
    } else {
      this.#records.set(token, record)
      const tokens = this.#tokens.get(record.prefix) ?? new Set()
      this.#tokens.set(record.prefix, tokens.add(token))
      this.seen(token, record.registered)
    }
    const prefix = (record ?? before)?.prefix
    if (prefix !== undefined) for (const listener of this.#listeners) listener(prefix)
    for (const waiter of this.#waiters) {
      if (waiter.isDone()) waiter.resolve()
    }
  }

  /** Calls back with the prefix whenever an instance has come, changed or gone. */
  onChange(listener: (prefix: string) => void): void {
    this.#listeners.push(listener)
  }

  seen(token: string, time: string | undefined): void {
    if (time === undefined) return
    this.#seenMs.set(token, Math.max(Date.parse(time), this.#seenMs.get(token) ?? 0))
  }

  get(prefix: string, instance: string): InstanceRecord | undefined {
    return this.#records.get(subjectToken(instanceKey({ prefix, instance })))
  }

  /** Those of a prefix, or all, the newest first: what that one registered is what holds. */
  instances(prefix?: string): LiveInstance[] {
    const tokens = prefix === undefined ? this.#records.keys() : (this.#tokens.get(prefix) ?? [])
    return [...tokens]
      .map((token) => ({ ...this.#records.get(token)!, seenMs: this.#seenMs.get(token) ?? 0 }))
      .toSorted((a, b) => (a.registered > b.registered ? -1 : 1))
  }

  /** Prefixes of all extensions, in order. */
  prefixes(): string[] {
    return [...this.#tokens.keys()].toSorted()
  }

  /** Those that go when this connection closes. */
  on(connection: ClientConnection): InstanceRecord[] {
    return [...this.#records.values()].filter(
      (record) => !record.registration.outlivesConnection && isSameConnection(record.connection, connection),
    )
  }

  /** Those that have been silent for too long. @param sinceMs since when they could be heard */
  silent(nowMs: number, sinceMs: number): LiveInstance[] {
    return [...this.#records]
      .map(([token, record]) => ({ ...record, seenMs: this.#seenMs.get(token) ?? 0 }))
      .filter(({ seenMs }) => nowMs - Math.max(seenMs, sinceMs) > lostAfterMs)
  }

  /** Resolves when the directory has what was just stored. */
  async until(isDone: () => boolean): Promise<void> {
    if (isDone()) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, patienceMs)
    const waiter = { isDone, resolve }
    this.#waiters.add(waiter)
    await promise
    clearTimeout(timer)
    this.#waiters.delete(waiter)
  }
}
