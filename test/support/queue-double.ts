import type {
  MessageQueue,
  QueueMessage,
  ReceivedMessage,
} from '../../services/drivers/notifications/message-queue.ts'
import type { StoreError } from '../../services/drivers/contract/driver.ts'

interface Held {
  readonly body: string
  readonly sentMs: number
  /** Of the last time that it was received; what has another one is not there any more. */
  receipt: number
  visibleFromMs: number
}

/** A queue of a cloud, in memory: it gives what was sent in any order, again when it is not removed, and fails when it is told to. */
export class QueueDouble {
  readonly stream: string
  readonly keepsMs: number
  readonly hiddenMs: number
  #held: Held[] = []
  #receipts = 0
  #waiting = new Set<() => void>()
  /** Thrown by everything. */
  failure: StoreError | undefined
  /** Thrown by `remove`. */
  removeFailure: StoreError | undefined
  received = 0
  hidden = 0

  constructor({ stream = 'queue 1', keepsMs = 4 * 24 * 3_600_000, hiddenMs = 60_000 } = {}) {
    this.stream = stream
    this.keepsMs = keepsMs
    this.hiddenMs = hiddenMs
  }

  /** Messages that nobody has removed. */
  get left(): number {
    return this.#held.length
  }

  send(body: string, sentMs = Date.now()): void {
    this.#held.push({ body, sentMs, receipt: 0, visibleFromMs: 0 })
    this.wake()
  }

  /** Whoever waits looks again. */
  wake(): void {
    for (const wake of this.#waiting) wake()
  }

  /** What was received and not removed comes again, as after a kill. */
  expire(): void {
    for (const held of this.#held) held.visibleFromMs = 0
    this.wake()
  }

  open(): MessageQueue {
    return {
      name: 'the queue double',
      hiddenMs: this.hiddenMs,
      identify: async () => {
        this.#require()
        return { stream: this.stream, keepsMs: this.keepsMs }
      },
      receive: (signal) => this.#receive(signal),
      remove: async (messages) => {
        this.#require()
        if (this.removeFailure !== undefined) throw this.removeFailure
        const receipts = new Set(messages.map(({ receipt }) => Number(receipt)))
        this.#held = this.#held.filter(({ receipt }) => !receipts.has(receipt))
      },
      hide: async (messages) => messages.map((message) => this.#hide(message)),
      close: () => undefined,
    }
  }

  #hide(message: ReceivedMessage): ReceivedMessage | undefined {
    this.#require()
    const held = this.#held.find(({ receipt }) => receipt === Number(message.receipt))
    if (held === undefined) return undefined
    this.hidden++
    held.visibleFromMs = Date.now() + this.hiddenMs
    held.receipt = ++this.#receipts
    return { sentMs: message.sentMs, receipt: String(held.receipt) }
  }

  #require(): void {
    if (this.failure !== undefined) throw this.failure
  }

  async #receive(signal: AbortSignal): Promise<readonly QueueMessage[]> {
    const endsMs = Date.now() + 50
    for (;;) {
      signal.throwIfAborted()
      this.#require()
      const visible = this.#held.filter(({ visibleFromMs }) => visibleFromMs <= Date.now())
      const taken = visible.toSorted(() => Math.random() - 0.5).slice(0, 10)
      if (taken.length > 0 || Date.now() >= endsMs)
        return taken.map((held) => {
          held.receipt = ++this.#receipts
          held.visibleFromMs = Date.now() + this.hiddenMs
          this.received++
          return { body: held.body, sentMs: held.sentMs, receipt: String(held.receipt) }
        })
      await this.#news(endsMs - Date.now())
    }
  }

  #news(withinMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, Math.max(withinMs, 1))
    this.#waiting.add(resolve)
    return promise.finally(() => {
      clearTimeout(timer)
      this.#waiting.delete(resolve)
    })
  }
}
