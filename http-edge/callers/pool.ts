import { brokerError } from '../../broker/rpc/client.ts'
import { connectWithToken, type NatsConnection } from '../../broker/rpc/connection.ts'
import { wasNotJudged } from '../../broker/rpc/judged.ts'
import { every, type Task } from '../../broker/tasks/tasks.ts'
import { keyIdOf } from '../../broker/identity/token.ts'
import { GantryError } from '../../subjects/kit/errors.ts'
import { loopback } from '../../subjects/kit/names.ts'
import { maxPooledConnections } from '../../subjects/access/settings.ts'
import { Guard } from './guard.ts'

export interface PoolLimits {
  /** Each pooled connection costs the server some 80 kB. */
  readonly maxConnections: number
  /** A caller that has been silent for so long opens a connection again, in 2 ms. */
  readonly idleMs: number
  readonly sweepMs: number
  /** A connection that makes room for another stays open so long for the calls that it has under way. */
  readonly retireMs: number
}

/** Whose a key is, and how many connections its owner may have here. */
type LimitsOf = (
  keyId: string,
) => Promise<{ readonly owner: string; readonly maxConnections: number } | undefined>

/** What a connection is called that is opened for a client, by its address and token. */
type NameFor = (address: string, token: string) => string

/** 2,000 connections are 160 MB in the server; the longest call takes 30 s. */
const defaultLimits: PoolLimits = {
  maxConnections: maxPooledConnections,
  idleMs: 60_000,
  sweepMs: 10_000,
  retireMs: 35_000,
}
/** Whoever called within this time is calling now. */
const busyMs = 1_000
const connectTimeoutMs = 5_000

interface Pooled {
  readonly connection: Promise<NatsConnection>
  /** The connection once it is open. */
  open?: NatsConnection
  /** Once its token was found to be right. */
  owner?: string
  lastUsedMs: number
}

/**
 * One connection for each token in use, so that the broker itself decides on every call what that key may do. A
 * connection that the server closed (revoked, expired) is gone at once; the next call opens another or is refused.
 */
export class ConnectionPool {
  readonly #url: string
  readonly #limits: PoolLimits
  readonly #nameFor: NameFor | undefined
  readonly #limitsOf: LimitsOf
  /** In order of use: the first one was used longest ago. */
  readonly #byToken = new Map<string, Pooled>()
  readonly #retired = new Set<Pooled>()
  readonly #keyIds = new WeakMap<NatsConnection, string>()
  /** Who stands before the pool. */
  readonly guard: Guard
  readonly #sweeper: Task

  constructor(
    url: string,
    {
      nameFor,
      guard,
      limitsOf = () => Promise.resolve(undefined),
      ...limits
    }: Partial<PoolLimits> & { nameFor?: NameFor; guard?: Guard; limitsOf?: LimitsOf } = {},
  ) {
    this.#url = url
    this.guard = guard ?? new Guard()
    this.#nameFor = nameFor
    this.#limitsOf = limitsOf
    this.#limits = { ...defaultLimits, ...limits }
    this.#sweeper = every('edge.idle-connections', () => this.#closeIdle(), this.#limits.sweepMs)
  }

  /** Connections that are kept. */
  get size(): number {
    return this.#byToken.size
  }

  /** The key of a connection from here. */
  keyIdOf(connection: NatsConnection): string | undefined {
    return this.#keyIds.get(connection)
  }

  /**
   * @param address where the request comes from, for throttling and the record of a refusal; undefined for our own
   * @throws GantryError UNAUTHENTICATED when the broker refuses the token, THROTTLED when it is not asked after too many
   *   refusals, OVERLOADED when all connections of the owner, or of all, are in use, UNAVAILABLE when it cannot be reached
   */
  get(token: string, address?: string): NatsConnection | Promise<NatsConnection> {
    let pooled = this.#byToken.get(token)
    if (pooled === undefined) {
      const keyId = keyIdOf(token)
      if (keyId === undefined) this.guard.refuseGarbage(address)
      const presented = { token, address, keyId }
      this.guard.admit(presented)
      this.#makeRoom()
      const judged = this.guard.judged(presented, () => this.#open(token, address))
      const own: Pooled = {
        connection: judged.then((connection) => this.#withinLimits(own, keyId, connection)),
        lastUsedMs: 0,
      }
      pooled = own
    } else {
      this.#byToken.delete(token)
    }
    pooled.lastUsedMs = Date.now()
    this.#byToken.set(token, pooled)
    return pooled.open?.isClosed() === false ? pooled.open : this.#opened(token, pooled, address)
  }

  async #opened(token: string, pooled: Pooled, address?: string): Promise<NatsConnection> {
    try {
      const connection = await pooled.connection
      if (pooled.open === undefined) {
        pooled.open = connection
        this.#keyIds.set(connection, keyIdOf(token)!)
        void connection.closed().then(() => this.#forget(token, pooled))
      }
      if (!connection.isClosed()) return connection
    } catch (error) {
      this.#forget(token, pooled)
      throw brokerError(error, 'the broker')
    }
    this.#forget(token, pooled)
    return this.get(token, address)
  }

  /** Only now is it known that the caller is who it says: nobody else can take connections from an owner. */
  async #withinLimits(pooled: Pooled, keyId: string, connection: NatsConnection): Promise<NatsConnection> {
    const limits = await this.#limitsOf(keyId)
    if (limits === undefined) return connection
    const { owner, maxConnections } = limits
    pooled.owner = owner
    const own = [...this.#byToken].filter(([, { owner: other }]) => other === owner)
    const [oldest] = own
    if (oldest === undefined || own.length <= maxConnections) return connection
    if (Date.now() - oldest[1].lastUsedMs >= busyMs) {
      this.#retire(...oldest)
      return connection
    }
    await connection.close()
    throw new GantryError(
      'OVERLOADED',
      `${owner} already uses ${maxConnections} keys at the same time, which is the limit (maxConnections): try again later, or use fewer keys`,
    )
  }

  /** Tries once more when nobody was there to judge the token, as in the moment after a restart of the broker. */
  async #open(token: string, address?: string): Promise<NatsConnection> {
    const name = this.#nameFor?.(address ?? loopback, token) ?? 'edge'
    const connect = () =>
      connectWithToken(this.#url, token, { name, reconnect: false, timeoutMs: connectTimeoutMs })
    const began = performance.now()
    try {
      return await connect()
    } catch (error) {
      if (!wasNotJudged(error, performance.now() - began)) throw error
    }
    const beganAgain = performance.now()
    return connect().catch((error: unknown) => {
      if (!wasNotJudged(error, performance.now() - beganAgain)) throw error
      throw new GantryError(
        'UNAVAILABLE',
        'the broker does not accept connections at the moment; try again',
        { cause: error },
      )
    })
  }

  #forget(token: string, pooled: Pooled): void {
    if (this.#byToken.get(token) === pooled) this.#byToken.delete(token)
  }

  #makeRoom(): void {
    const { maxConnections } = this.#limits
    const now = Date.now()
    for (const [token, pooled] of this.#byToken) {
      if (this.#byToken.size < maxConnections) return
      if (now - pooled.lastUsedMs < busyMs) {
        throw new GantryError(
          'OVERLOADED',
          `more than ${maxConnections} keys are in use at the same time; try again`,
        )
      }
      this.#retire(token, pooled)
    }
  }

  #retire(token: string, pooled: Pooled): void {
    this.#byToken.delete(token)
    this.#retired.add(pooled)
    setTimeout(() => {
      this.#retired.delete(pooled)
      closeQuietly(pooled)
    }, this.#limits.retireMs).unref()
  }

  #closeIdle(): void {
    const idleSinceMs = Date.now() - this.#limits.idleMs
    for (const [token, pooled] of this.#byToken) {
      if (pooled.lastUsedMs > idleSinceMs) return
      this.#byToken.delete(token)
      closeQuietly(pooled)
    }
  }

  async close(): Promise<void> {
    this.#sweeper.stop()
    const open = [...this.#byToken.values(), ...this.#retired]
    this.#byToken.clear()
    this.#retired.clear()
    await Promise.allSettled(open.map(async ({ connection }) => (await connection).close()))
  }
}

function closeQuietly({ connection }: Pooled): void {
  connection.then((open) => open.close()).catch(() => undefined)
}
