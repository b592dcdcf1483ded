import { hostname } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { pauseAfter } from '../../../broker/common/retry.ts'
import type { NatsConnection } from '../../../broker/rpc/connection.ts'
import type { Log } from '../../../broker/common/log.ts'
import { createSealedBox } from '../../../broker/common/sealed-box.ts'
import { version } from '../../../broker/common/version.ts'
import { agentProtocol, agentWork, type Assignment } from '../../../subjects/migrations/agent-work.ts'
import type { Output } from '../../../subjects/kit/contract.ts'
import { isGantryError } from '../../../subjects/kit/errors.ts'
import { allow, createBounds, type OwnFolder, type StoreBounds } from '../../drivers/contract/bounds.ts'
import { requireShareable, shareOf } from '../../drivers/index.ts'
import { Buckets } from '../../bandwidth/buckets.ts'
import { movedOf } from '../../engine/run/counts.ts'
import { Mover } from '../../engine/mover.ts'
import { InFlightProgress } from '../progress/in-flight-progress.ts'
import { AgentApiClient } from './agent-api-client.ts'
import { AgentMigration } from './agent-migration.ts'
import { MovedSoFar } from '../assignments/throughput.ts'

/** How long an agent that ends may take for its work in progress; then it is handed back. */
const drainMs = 20_000
/** A flush that takes no longer is waited for, so that the platform learns at once; the next question tells of a longer one. */
const promptFlushMs = 1_000
/** Name of the agent's own limit among those of the platform, whose names have no blank. */
const ownLimit = 'own limit'

export interface AgentOptions {
  readonly connection: NatsConnection
  /** Key of the connection. */
  readonly keyId: string
  /** Default: that of the key. */
  readonly name?: string | undefined
  /** Folders of this host that it may read and write. */
  readonly shares: readonly string[]
  /** Folders of Gantry itself on this host, which no share may be, be in or contain. */
  readonly ownFolders: readonly OwnFolder[]
  readonly threads: number
  /** What it moves in a second at most; undefined for no limit of its own. */
  readonly bytesPerSecond?: number | undefined
  readonly log: Log
}

/** Moves files for a platform elsewhere, as that says. */
export class Agent {
  readonly #options: AgentOptions
  readonly #api: AgentApiClient
  readonly #box = createSealedBox()
  readonly #mover: Mover
  /** What is shared is checked with each folder that is opened. */
  readonly #bounds: StoreBounds
  readonly #buckets = new Buckets()
  readonly #moved = new MovedSoFar()
  readonly #inFlight = new InFlightProgress((moved) => this.#moved.add(moved))
  readonly #shares: string[]
  /** By work id. */
  readonly #migrations = new Map<string, AgentMigration>()
  /** What is being made safe of migrations that are let go, by work id. */
  readonly #flushing = new Map<string, Promise<unknown>>()
  /** Aborts when nothing more is to be taken. */
  readonly #taking = new AbortController()

  /**
   * Throws system errors when a folder that is to be shared is not there, GantryError NOT_ACCEPTED for one that may not be
   * shared.
   */
  constructor(options: AgentOptions) {
    const { connection, keyId, shares, ownFolders, threads, bytesPerSecond, log } = options
    this.#options = options
    this.#api = new AgentApiClient(connection, keyId, crypto.randomUUID())
    this.#shares = shares.map(shareOf)
    const anywhere = createBounds(ownFolders)
    for (const share of shares) requireShareable(share, anywhere, '--share')
    this.#bounds = createBounds(ownFolders, { roots: this.#shares, hosts: undefined })
    this.#mover = new Mover({ threads, bounds: this.#bounds, log })
    this.#buckets.set(ownLimit, { bytesPerSecond, requestsPerSecond: undefined })
  }

  /**
   * Works until it is told to end. Resolves to why the platform wants that; undefined when the signal aborted or the
   * connection is closed. @throws GantryError DENIED when the key is not that of an agent
   */
  async run(signal: AbortSignal): Promise<string | undefined> {
    const attended = new AbortController()
    const attending = this.#attend(attended.signal)
    try {
      return await Promise.race([
        attending,
        once(signal),
        this.#options.connection.closed().then(() => undefined),
      ])
    } finally {
      await this.#drain()
      attended.abort()
      await attending.catch(() => undefined)
      await this.#mover.close()
    }
  }

  /** Asks what there is to do, again and again; also while it drains, as what it has done is taken from who is there alone. */
  async #attend(signal: AbortSignal): Promise<string | undefined> {
    const { connection, log } = this.#options
    let revision = ''
    for (let attempt = 1; !signal.aborted && !connection.isClosed(); attempt++) {
      try {
        const answer = await Promise.race([this.#ask(revision), once(signal)])
        if (answer === undefined) return undefined
        if (answer.leave !== undefined) return answer.leave
        if (answer.problem !== undefined && answer.revision !== revision)
          log.warn({ problem: answer.problem }, 'The platform does not assign work to this agent.')
        revision = answer.revision
        await this.#apply(answer)
        attempt = 0
      } catch (error) {
        if (isGantryError(error, 'DENIED')) throw error
        log.warn(
          { err: error },
          `The platform does not answer the agent${whyNot(error, revision)}; retrying.`,
        )
        await pauseAfter(attempt, signal)
      }
    }
    return undefined
  }

  #ask(revision: string) {
    const { name, threads, bytesPerSecond } = this.#options
    const migrations = [...this.#migrations.values()]
    this.#inFlight.tell()
    return this.#api.ask(agentWork.attend, {
      instance: this.#api.instance,
      protocol: agentProtocol,
      ...(name === undefined ? {} : { name }),
      host: hostname(),
      version,
      shares: this.#shares,
      threads,
      ...(bytesPerSecond === undefined ? {} : { limitBytesPerSecond: bytesPerSecond }),
      publicKey: this.#box.publicKey,
      revision,
      holding: [...new Set([...this.#migrations.keys(), ...this.#flushing.keys()])],
      itemsInHand: migrations.reduce((sum, { itemsInHand }) => sum + itemsInHand, 0),
      moved: this.#moved.all,
      underWay: [...this.#migrations.keys()].map((migration) => ({
        migration,
        ...this.#inFlight.of(migration),
      })),
    })
  }

  /** Begins and ends as the answer says; resolves when what it ended is handed back, so that the next question says so. */
  async #apply({ assignments, limits }: Output<(typeof agentWork)['attend']>): Promise<void> {
    for (const { id, bytesPerSecond, requestsPerSecond } of limits)
      this.#buckets.set(id, { bytesPerSecond, requestsPerSecond })
    const wanted = new Map(assignments.map((assignment) => [assignment.migration, assignment]))
    const ending = [...this.#migrations].filter(
      ([workId, { fingerprint }]) => wanted.get(workId)?.fingerprint !== fingerprint,
    )
    for (const [, migration] of ending) migration.end()
    await Promise.all(ending.map(([, { ended }]) => ended))
    for (const [workId, migration] of ending) {
      this.#migrations.delete(workId)
      this.#letGo(workId, migration)
    }
    await Promise.race([
      Promise.all(this.#flushing.values()),
      delay(promptFlushMs, undefined, { ref: false }),
    ])
    if (this.#taking.signal.aborted) return
    for (const [workId, assignment] of wanted) {
      const known = this.#migrations.get(workId)
      if (known === undefined) this.#migrations.set(workId, this.#begin(assignment))
      else known.update(assignment)
    }
  }

  /** What it has written of one is made safe, which may take long, before the platform is told that it is let go. */
  #letGo(workId: string, { flushed }: AgentMigration): void {
    const known = this.#flushing.get(workId)
    const all = Promise.all([known, flushed])
    this.#flushing.set(workId, all)
    void all.then(() => {
      if (this.#flushing.get(workId) === all) this.#flushing.delete(workId)
    })
  }

  #begin(assignment: Assignment): AgentMigration {
    return new AgentMigration({
      ...this.#options,
      api: this.#api,
      box: this.#box,
      mover: this.#mover,
      shares: this.#shares,
      onAllowed: (allowed) => allow(this.#bounds, { roots: this.#shares, ...allowed }),
      assignment,
      limits: [ownLimit, ...assignment.limits].map((id) => this.#buckets.of(id)),
      taking: this.#taking.signal,
      inFlight: this.#inFlight,
      onCount: (counts) => this.#moved.add(movedOf(counts)),
    })
  }

  /** Finishes the work in progress, or hands it back when that takes too long. */
  async #drain(): Promise<void> {
    const { connection } = this.#options
    this.#taking.abort(new Error('the agent ends'))
    const ended = Promise.all([...this.#migrations.values()].map((migration) => migration.ended))
    if (!connection.isClosed()) await Promise.race([ended, delay(drainMs, undefined, { ref: false })])
    for (const migration of this.#migrations.values()) migration.end()
    await ended
    await Promise.all([...this.#migrations.values()].map(({ flushed }) => flushed))
    await Promise.all(this.#flushing.values())
    if (connection.isClosed()) return
    await this.#api.ask(agentWork.leave, { instance: this.#api.instance }).catch(() => undefined)
  }
}

function whyNot(error: unknown, revision: string): string {
  if (isGantryError(error, 'INVALID_INPUT'))
    return ': it does not support the release of this agent; update the older of the two'
  // Whoever has any other token may ask, and reaches nobody.
  return revision === '' ? ': it is not ready, or the token does not belong to a transfer agent' : ''
}

/** Resolves when the signal aborts. */
const once = (signal: AbortSignal): Promise<undefined> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve(undefined)
    signal.addEventListener('abort', () => resolve(undefined), { once: true })
  })
