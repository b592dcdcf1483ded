import type { Log } from '../../../broker/common/log.ts'
import type { Sealer } from '../../../broker/identity/seal.ts'
import { whenDue } from '../../../broker/tasks/tasks.ts'
import { isGantryError } from '../../../subjects/kit/errors.ts'
import { maxTextLength } from '../../../subjects/kit/schemas.ts'
import { shortened } from '../../../subjects/kit/shortened.ts'
import { unguessable } from '../../../subjects/kit/unguessable.ts'
import {
  type AlertState,
  type Delivery,
  publicAlert,
  type StoredAlert,
  type StoredWebhook,
} from '../record.ts'
import { post } from './post.ts'

/** Pauses after each attempt: a restart, an outage, a weekend's beginning; then it is old news. */
const pausesMs = [1, 5, 30, 300, 1_800, 7_200, 28_800, 86_400].map((seconds) => seconds * 1_000)
/** A part of each pause is random, so that receivers are not hit by all at once when they are back. */
const jitter = 0.2
/** Messages that wait for one webhook: more than a person reads, and the oldest say the least. */
const maxWaiting = 1_000

export interface DeliveriesOptions {
  readonly state: Pick<AlertState, 'webhooks' | 'deliveries'>
  readonly sealer: Sealer
  readonly innerHosts: ReadonlySet<string>
  readonly log: Log
}

/** What came of one attempt. */
export interface Attempt {
  readonly time: string
  readonly problem?: string
}

const keyOf = ({ webhook, id }: Pick<Delivery, 'webhook' | 'id'>): string => `${webhook}/${id}`

/** Messages to webhooks: stored until they are taken, one at a time for each, again and again over restarts. */
export class Deliveries {
  readonly #options: DeliveriesOptions
  readonly #waiting = new Map<string, Delivery>()
  /** By webhook: what is being sent. */
  readonly #sending = new Map<string, Promise<void>>()
  readonly #stopping = new AbortController()
  readonly #task = whenDue('alerts.webhooks', () => this.#next())

  constructor(options: DeliveriesOptions) {
    this.#options = options
  }

  async start(): Promise<void> {
    for (const delivery of await this.#options.state.deliveries.all())
      this.#waiting.set(keyOf(delivery), delivery)
    this.#next()
  }

  /** What is being sent is given up, and sent again at the next start. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#task.stop()
    await Promise.all(this.#sending.values())
  }

  waiting(webhook: string): number {
    return this.#of(webhook).length
  }

  /** Makes a message for each webhook that wants to hear of it. */
  async tell(alert: StoredAlert): Promise<void> {
    for (const webhook of await this.#options.state.webhooks.list()) {
      if (!webhook.enabled || webhook.rules?.includes(alert.rule) === false) continue
      await this.#add(webhook.name, alert)
    }
    this.#next()
  }

  async #add(webhook: string, alert: StoredAlert): Promise<void> {
    const { deliveries } = this.#options.state
    const now = new Date().toISOString()
    const type = alert.state === 'firing' ? 'alert.fired' : 'alert.resolved'
    const delivery: Delivery = {
      // The same when it is made again, so that a receiver can tell.
      id: `msg_${alert.id}_${alert.state}`,
      webhook,
      body: JSON.stringify({ type, timestamp: alert.resolved ?? alert.fired, data: publicAlert(alert) }),
      created: now,
      attempts: 0,
      next: now,
    }
    const key = keyOf(delivery)
    if (this.#waiting.has(key)) return
    await deliveries.put(key, delivery)
    this.#waiting.set(key, delivery)
    for (const old of this.#of(webhook).slice(0, -maxWaiting)) await this.#remove(old)
  }

  /** Sends a message for a trial, once. */
  async test(webhook: StoredWebhook): Promise<Attempt> {
    const now = new Date().toISOString()
    const body = JSON.stringify({ type: 'alert.test', timestamp: now, data: { webhook: webhook.name } })
    return this.#post(webhook, `msg_test_${unguessable()}`, body)
  }

  /** Forgets what waits for a webhook. */
  async drop(webhook: string): Promise<void> {
    await this.#sending.get(webhook)
    for (const delivery of this.#of(webhook)) await this.#remove(delivery)
  }

  /** Those of a webhook, the oldest first. */
  #of(webhook: string): Delivery[] {
    return [...this.#waiting.values()]
      .filter((one) => one.webhook === webhook)
      .toSorted((a, b) => (a.created < b.created ? -1 : 1))
  }

  /** Sends what is due, and sets the timer for what is due next. */
  #next(): void {
    this.#task.notDue()
    if (this.#stopping.signal.aborted) return
    let nextMs = Infinity
    const nowMs = Date.now()
    for (const delivery of this.#soonest()) {
      const { webhook } = delivery
      if (this.#sending.has(webhook)) continue
      const dueMs = Date.parse(delivery.next)
      if (dueMs > nowMs) {
        nextMs = Math.min(nextMs, dueMs)
        continue
      }
      const sending = this.#send(delivery)
        .catch((err: unknown) =>
          this.#options.log.warn({ err, webhook }, 'The result of a webhook message could not be stored.'),
        )
        .finally(() => {
          this.#sending.delete(webhook)
          this.#next()
        })
      this.#sending.set(webhook, sending)
    }
    if (nextMs < Infinity) this.#task.due(nextMs - nowMs)
  }

  /** Of each webhook what is due first. */
  #soonest(): Delivery[] {
    const soonest = new Map<string, Delivery>()
    for (const delivery of this.#waiting.values()) {
      const known = soonest.get(delivery.webhook)
      const isSooner = known === undefined || delivery.next < known.next
      if (isSooner || (delivery.next === known.next && delivery.created < known.created))
        soonest.set(delivery.webhook, delivery)
    }
    return [...soonest.values()]
  }

  async #send(delivery: Delivery): Promise<void> {
    const { state, log } = this.#options
    const { id, webhook: name, body } = delivery
    const webhook = await state.webhooks.get(name)
    if (webhook === undefined || !webhook.enabled) return this.#remove(delivery)
    const attempt = await this.#post(webhook, id, body)
    // It was broken off by our own end.
    if (this.#stopping.signal.aborted && attempt.problem !== undefined) return
    if (attempt.problem === undefined) return this.#remove(delivery)
    const pauseMs = pausesMs[delivery.attempts]
    const { problem } = attempt
    const attempts = delivery.attempts + 1
    if (pauseMs === undefined) {
      log.warn(
        { webhook: name, message: id, attempts, problem },
        'An alert could not be delivered to a webhook; giving up.',
      )
      return this.#remove(delivery)
    }
    log.info(
      { webhook: name, message: id, attempts, problem },
      'An alert could not be delivered to a webhook; retrying.',
    )
    const next = new Date(Date.now() + pauseMs * (1 + jitter * Math.random())).toISOString()
    const later = { ...delivery, attempts, next }
    this.#waiting.set(keyOf(delivery), later)
    await state.deliveries.put(keyOf(delivery), later)
  }

  async #post({ name, sealedUrl, sealedSecret }: StoredWebhook, id: string, body: string): Promise<Attempt> {
    const { state, sealer, innerHosts } = this.#options
    const time = new Date().toISOString()
    const message = { id, url: sealer.open(sealedUrl), secret: sealer.open(sealedSecret), body }
    const { signal } = this.#stopping
    const problem = await post(message, { innerHosts, signal }).then(
      () => undefined,
      (error: Error) => shortened(error.message, maxTextLength),
    )
    if (signal.aborted) return { time, ...(problem === undefined ? {} : { problem }) }
    const outcome = problem === undefined ? { lastSuccess: { time } } : { lastFailure: { time, problem } }
    await state.webhooks
      .update(name, (current) => ({ ...current, ...outcome }))
      .catch((error: unknown) => {
        // It was deleted meanwhile.
        if (!isGantryError(error, 'NOT_FOUND')) throw error
      })
    return { time, ...(problem === undefined ? {} : { problem }) }
  }

  async #remove(delivery: Delivery): Promise<void> {
    const key = keyOf(delivery)
    await this.#options.state.deliveries.erase(key)
    this.#waiting.delete(key)
  }
}
