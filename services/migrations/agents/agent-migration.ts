import { pauseAfter } from '../../../broker/common/retry.ts'
import type { NatsConnection } from '../../../broker/rpc/connection.ts'
import type { Log } from '../../../broker/common/log.ts'
import { QueueWork } from '../../../broker/queue/work.ts'
import { lifeOf } from '../../../broker/common/reconnects.ts'
import type { SealedBox } from '../../../broker/common/sealed-box.ts'
import { type Assignment, agentWork } from '../../../subjects/migrations/agent-work.ts'
import type { Bucket } from '../../engine/run/bucket.ts'
import type { Allowed } from '../../drivers/contract/bounds.ts'
import { isSameFolder, resolvedFolder } from '../../drivers/index.ts'
import type { Mover, MoveSpec } from '../../engine/mover.ts'
import { flushWithin } from '../execution/flush-target.ts'
import { failureNotes } from '../failures/failures.ts'
import type { InFlightProgress } from '../progress/in-flight-progress.ts'
import { ItemLoop } from '../execution/item-loop.ts'
import { firstLanesOf } from '../execution/lanes.ts'
import { Poller } from '../../scheduling/poller.ts'
import { placeOfSource, placeOfTarget } from '../execution/roots.ts'
import { type CountListener, CheckpointWriter } from '../progress/checkpoint-writer.ts'
import type { AgentApiClient } from './agent-api-client.ts'
import { isShared } from '../assignments/shares.ts'
import { migrationOfBytes, type SentMigration } from '../assignments/spec-bytes.ts'

export interface AgentMigrationOptions {
  readonly connection: NatsConnection
  readonly api: AgentApiClient
  readonly box: SealedBox
  readonly mover: Mover
  readonly threads: number
  readonly shares: readonly string[]
  /** Told what the platform allows stores: inner hosts (undefined when it does not say so), credentials of this host. */
  readonly onAllowed: (allowed: Pick<Allowed, 'hosts' | 'hostCredentials'>) => void
  readonly assignment: Assignment
  readonly limits: readonly Bucket[]
  readonly onCount: CountListener
  readonly inFlight: InFlightProgress
  /** Aborts when no more is to be taken, and work in progress is to be finished. */
  readonly taking: AbortSignal
  readonly log: Log
}

/** An agent that ends makes safe what it has written as well, unless its mount hangs. */
const flushMs = 60_000

/** An agent's part of the work on one migration. */
export class AgentMigration {
  #assignment: Assignment
  /** Resolves when no work is in progress any more. Never rejects. */
  readonly ended: Promise<void>
  /** Resolves when what it has written is safe as well, or cannot be made so. Never rejects. */
  readonly flushed: Promise<void>
  readonly #options: AgentMigrationOptions
  readonly #end = new AbortController()
  readonly #held = new Set<number>()
  /** Once it may have written something. */
  #spec: MoveSpec | undefined

  constructor(options: AgentMigrationOptions) {
    this.#assignment = options.assignment
    this.#options = options
    this.ended = this.#keepWorking()
    this.flushed = this.ended.then(() => this.#flush())
  }

  get fingerprint(): string {
    return this.#assignment.fingerprint
  }

  /** The same migration, with something new about those who work on it. */
  update(assignment: Assignment): void {
    this.#assignment = assignment
  }

  get itemsInHand(): number {
    return this.#held.size
  }

  /** Hands back the work in progress. */
  end(): void {
    this.#end.abort(new Error('the migration was taken back'))
  }

  async #keepWorking(): Promise<void> {
    const { log, taking, assignment } = this.#options
    const signal = AbortSignal.any([this.#end.signal, taking])
    for (let attempt = 1; !signal.aborted; attempt++) {
      try {
        await this.#work()
      } catch (error) {
        if (signal.aborted) return
        log.warn(
          { err: error, migration: assignment.migration },
          'The agent cannot work on a migration; retrying.',
        )
      }
      await pauseAfter(attempt, signal)
    }
  }

  /** Once for all that it has done, as each flush may take long. */
  async #flush(): Promise<void> {
    const { log, assignment } = this.#options
    try {
      if (this.#spec !== undefined) await flushWithin(this.#spec, flushMs)
    } catch (error) {
      log.error(
        { err: error, migration: assignment.migration },
        'Files written by the agent may not be on disk yet: check the target, and verify the migration.',
      )
    }
  }

  async #work(): Promise<void> {
    const { connection, api, mover, threads, assignment, limits, taking, onCount, inFlight, log } =
      this.#options
    const { migration } = assignment
    const { signal } = this.#end
    const { spec, queueCreated } = await this.#open()
    this.#spec = spec
    const { marks, require } = await placesOf(spec)
    const changed = new AbortController()
    await using _looks = looking(require, (reason) => changed.abort(reason))
    const work = { migration, queueCreated }
    const office = api.officeOf(work, signal)
    const queue = new QueueWork({ name: migration, connection, office, log, inboxPrefix: api.inbox })
    const loop = new ItemLoop({
      workId: migration,
      spec: { ...spec, limits, ...marks },
      mover,
      threads,
      queue,
      queueCreated,
      checkpoints: new CheckpointWriter({
        keeper: api.keeperOf(work, signal),
        asksAlways: true,
        published: () => queue.published,
        life: lifeOf(connection),
        isOpen: async (sequence) => this.#held.has(sequence) || (await office.has(sequence)),
        onCount,
      }),
      room: (_, stop) => api.room(migration, stop),
      hasHelp: () => this.#assignment.hasHelp,
      failures: api.failuresOf(migration, failureNotes(connection), signal),
      inFlight,
      held: this.#held,
      onIdle: () => undefined,
      signal,
      log,
    })
    log.info({ migration }, 'The agent works on a migration.')
    await loop.run(firstLanesOf(false), AbortSignal.any([signal, taking, changed.signal]))
    changed.signal.throwIfAborted()
  }

  /** What the migration is. @throws when it needs a folder of this host that is not shared, or is another than the platform's */
  async #open(): Promise<SentMigration> {
    const { api, box, assignment, shares, onAllowed } = this.#options
    const { migration } = assignment
    const { sealed, publicKey } = await api.askOn(
      agentWork.open,
      { instance: api.instance, migration },
      this.#end.signal,
    )
    const opened = migrationOfBytes(box.open(sealed, publicKey))
    onAllowed({ hosts: opened.storeHosts, hostCredentials: opened.hostCredentials })
    for (const { path, witness } of opened.folders) {
      if (!isShared(resolvedFolder(path), shares))
        throw new Error(`the folder ${path} of this host is not shared; start the agent with --share`)
      if (!isSameFolder(path, witness))
        throw new Error(
          `the folder ${path} of this host is not the same as on the platform; mount the same file system, or do not share the folder`,
        )
    }
    return opened
  }
}

/** What source and target are on this host, and what throws when they are others by now. Throws system errors. */
async function placesOf(spec: MoveSpec) {
  const [source, target] = await Promise.all([placeOfSource(spec), placeOfTarget(spec)])
  const [from, to] = await Promise.all([source?.look(), target?.look()])
  if (source !== undefined && from === undefined) throw new Error(`the folder ${source.name} does not exist`)
  const marks: Pick<MoveSpec, 'sourceMark' | 'targetMark'> = {
    ...(from === undefined ? {} : { sourceMark: from.mark }),
    ...(to === undefined ? {} : { targetMark: to.mark }),
  }
  const require = () => {
    if (from !== undefined) source?.require(from.mark)
    if (to !== undefined) target?.require(to.mark)
  }
  return { marks, require }
}

/** Looks once a second whether source and target are what they were when the work began: if not, they are opened again. */
function looking(require: () => void, onChange: (reason: unknown) => void): AsyncDisposable {
  const looks = new Poller('migrations.roots', async () => require(), onChange)
  looks.start()
  return { [Symbol.asyncDispose]: () => looks.stop() }
}
