import { brokerError } from '../broker/client.ts'
import { connectWithToken, type NatsConnection } from '../broker/connection.ts'
import { GantryError } from '../subjects/errors.ts'

/** Each pooled connection costs the server some 80 kB: this many are 160 MB. */
const maxConnections = 2_000
/** A caller that has been silent for so long opens a connection again, in 2 ms. */
const idleMs = 60_000
const sweepMs = 10_000
const connectTimeoutMs = 5_000

interface Pooled {
  readonly connection: Promise<NatsConnection>
  /** The connection once it is open. */
  open?: NatsConnection
  lastUsedMs: number
}

/**
 * One connection for each token in use, so that the broker itself decides on every call what that key may do. A
 * connection that the server closed (revoked, expired) is gone at once; the next call opens another or is refused.
 */
export class ConnectionPool {
  readonly #url: string
  /** In order of use: the first one was used longest ago. */
  readonly #byToken = new Map<string, Pooled>()
  readonly #sweeper: NodeJS.Timeout

  constructor(url: string) {
    this.#url = url
    this.#sweeper = setInterval(() => this.#closeIdle(), sweepMs).unref()
  }

  /** @throws GantryError UNAUTHENTICATED when the broker refuses the token, UNAVAILABLE when it cannot be reached. */
  get(token: string): NatsConnection | Promise<NatsConnection> {
    let pooled = this.#byToken.get(token)
    if (pooled === undefined) {
      this.#makeRoom()
      pooled = { connection: this.#open(token), lastUsedMs: 0 }
    } else {
      this.#byToken.delete(token)
    }
    pooled.lastUsedMs = Date.now()
    this.#byToken.set(token, pooled)
    return pooled.open?.isClosed() === false ? pooled.open : this.#opened(token, pooled)
  }

  async #opened(token: string, pooled: Pooled): Promise<NatsConnection> {
    try {
      const connection = await pooled.connection
      pooled.open = connection
      if (!connection.isClosed()) return connection
    } catch (error) {
      this.#forget(token, pooled)
      throw brokerError(error, 'the broker')
    }
    this.#forget(token, pooled)
    return this.get(token)
  }

  async #open(token: string): Promise<NatsConnection> {
    const connection = await connectWithToken(this.#url, token, {
      name: 'edge',
      reconnect: false,
      timeoutMs: connectTimeoutMs,
    })
    void connection.closed().then(() => {
      const pooled = this.#byToken.get(token)
      if (pooled !== undefined) this.#forget(token, pooled)
    })
    return connection
  }

  #forget(token: string, pooled: Pooled): void {
    if (this.#byToken.get(token) === pooled) this.#byToken.delete(token)
  }

  #makeRoom(): void {
    const now = Date.now()
    for (const [token, pooled] of this.#byToken) {
      if (this.#byToken.size < maxConnections) return
      if (now - pooled.lastUsedMs < 1_000) {
        throw new GantryError(
          'OVERLOADED',
          `more than ${maxConnections} keys call at the same time; try again`,
        )
      }
      this.#close(token, pooled)
    }
  }

  #closeIdle(): void {
    const idleSinceMs = Date.now() - idleMs
    for (const [token, pooled] of this.#byToken) {
      if (pooled.lastUsedMs > idleSinceMs) return
      this.#close(token, pooled)
    }
  }

  #close(token: string, pooled: Pooled): void {
    this.#byToken.delete(token)
    pooled.connection.then((connection) => connection.drain()).catch(() => undefined)
  }

  async close(): Promise<void> {
    clearInterval(this.#sweeper)
    const open = [...this.#byToken.values()]
    this.#byToken.clear()
    await Promise.allSettled(open.map(async ({ connection }) => (await connection).close()))
  }
}
