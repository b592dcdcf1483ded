import type { Log } from '../../../broker/common/log.ts'
import type { Queue } from '../../../broker/queue/queue.ts'
import { every, type Task } from '../../../broker/tasks/tasks.ts'
import type { Assignment } from '../../../subjects/migrations/agent-work.ts'
import type { Movers } from '../../../subjects/migrations/agents.ts'
import { AllowedView, type StoreBounds } from '../../drivers/contract/bounds.ts'
import { seenFolder } from '../../drivers/index.ts'
import type { Limits } from '../../bandwidth/limits.ts'
import type { ProgressLedger } from '../progress/progress-ledger.ts'
import type { MoveSpec } from '../../engine/mover.ts'
import type { FailureLedger } from '../failures/failures.ts'
import type { LiveAgent, AgentRegistry } from './agent-registry.ts'
import { hostFoldersOf, isShared, type HostFolders } from './shares.ts'
import { bytesOfMigration, fingerprintOf, sentSpec } from './spec-bytes.ts'

/** What is to become of folders that are found. */
export interface Room {
  /** What is below them is to be listed with them. */
  readonly goesDeep: boolean
  /** That they are to get their times is not to be noted. */
  readonly leavesFolders: boolean
}

/** What of a migration agents need that work on it. */
export interface AssignableWork {
  readonly workId: string
  readonly migrationId: string
  /** Name of the target filesystem. */
  readonly target: string
  readonly movedBy: Movers
  readonly spec: MoveSpec
  readonly queue: Pick<Queue, 'has' | 'remove' | 'created'>
  readonly failures: Pick<FailureLedger, 'forget'>
  readonly progressLedger: ProgressLedger
  /** As `Frontier.room`. */
  readonly room: (signal: AbortSignal) => Promise<Room>
}

interface OpenWork extends AssignableWork {
  readonly fingerprint: string
  readonly hostFolders: HostFolders
  /** It is being withdrawn: nobody begins with it, and who has it may say what it has done. */
  isClosing: boolean
}

export interface AssignmentsOptions {
  readonly agentRegistry: AgentRegistry
  readonly limits: Limits
  /** Where stores may be; undefined for anywhere. */
  readonly bounds?: StoreBounds
  readonly log: Log
}

/** The migrations that agents work on, and which agent on which. */
export class Assignments {
  readonly #agentRegistry: AgentRegistry
  readonly #limits: Limits
  readonly #bounds: StoreBounds | undefined
  readonly #allowed: AllowedView | undefined
  readonly #log: Log
  readonly #assignments = new Map<string, OpenWork>()
  #task: Task | undefined
  #isStopped = false

  constructor({ agentRegistry, limits, bounds, log }: AssignmentsOptions) {
    this.#bounds = bounds
    this.#allowed = bounds && new AllowedView(bounds)
    this.#agentRegistry = agentRegistry
    this.#limits = limits
    this.#log = log
    limits.share(
      (token) => this.#workersUnder(token),
      () => agentRegistry.changed(),
    )
    agentRegistry.onChange(() => limits.refresh())
  }

  start(): void {
    this.#task = every('agents.waiting', () => this.#tellOfWaiting())
  }

  /** Nothing is waited for any more: what agents have is handed back by them, or comes back by itself. */
  stop(): void {
    this.#isStopped = true
    this.#task?.stop()
    this.#agentRegistry.changed()
  }

  async assign(work: AssignableWork): Promise<void> {
    const hostFolders = await hostFoldersOf(work.spec, this.#bounds)
    const open = {
      ...work,
      fingerprint: fingerprintOf(work.spec, work.queue.created),
      hostFolders,
      isClosing: false,
    }
    this.#assignments.set(work.workId, open)
    for (const agent of this.#agentRegistry.live()) takeUp(agent, open)
    this.#agentRegistry.changed()
    this.#tellOfWaiting()
  }

  /**
   * Nobody is to work on it any more; resolves when nobody does, and what agents have written is safe from a loss of power.
   */
  async withdraw(workId: string): Promise<void> {
    const work = this.#assignments.get(workId)
    if (work === undefined) return
    work.isClosing = true
    this.#agentRegistry.changed()
    await this.#letGo(workId)
    this.#assignments.delete(workId)
    for (const { assigned } of this.#agentRegistry.live()) assigned.delete(workId)
  }

  async #letGo(workId: string): Promise<void> {
    while (!this.#isStopped && this.#agentRegistry.holdersOf(workId) > 0)
      await this.#agentRegistry.nextChange()
  }

  /** A migration that the agents with a key may ask about: one of them was told to work on it, and it is not over. */
  find(keyId: string, workId: string): OpenWork | undefined {
    return this.#agentRegistry.isAssigned(keyId, workId) ? this.#assignments.get(workId) : undefined
  }

  /** Whether a migration is left to agents, and none is there that can do it. */
  waits(workId: string): boolean {
    const work = this.#assignments.get(workId)
    return work !== undefined && this.#isWaiting(work)
  }

  /** What an agent that it is assigned to is told of a migration. Throws system errors of a folder that cannot be seen. */
  bytesFor(agent: LiveAgent, workId: string): Uint8Array | undefined {
    const work = this.#assignments.get(workId)
    if (work === undefined || !this.#canDo(agent, work)) return undefined
    const { spec, queue } = work
    const { roots, source } = work.hostFolders
    // One that was never there has nothing mounted in it.
    const mounted = spec.sourceMark === undefined ? [] : (source?.mountedBelow() ?? [])
    // The paths may lead elsewhere since the migration was assigned.
    const folders = [...roots, ...mounted].map((path) => seenFolder(path, this.#bounds))
    const { hosts: storeHosts, hostCredentials } = this.#allowed?.allowed ?? {}
    const allowed = { storeHosts, hostCredentials }
    return bytesOfMigration({ spec: sentSpec(spec), queueCreated: queue.created, ...allowed, folders })
  }

  /** What there is to do for an agent, and the limits that hold for it; it may ask about that from then on. */
  assignmentsOf(agent: LiveAgent) {
    const mine = [...this.#assignments.values()].filter((work) => this.#canDo(agent, work))
    for (const { workId } of mine) agent.assigned.add(workId)
    for (const work of this.#assignments.values()) takeUp(agent, work)
    const own = this.#limits.tokenOfAgent(agent.report.name)
    const assignments = mine.map((work): Assignment => ({
      migration: work.workId,
      fingerprint: work.fingerprint,
      limits: [own, ...this.#limits.tokensOf(work.migrationId, work.target)],
      hasHelp: this.workersOn(work.workId) > 1,
    }))
    const tokens = [...new Set(assignments.flatMap(({ limits }) => limits))]
    const limits = tokens.map((id) => {
      const { bytesPerSecond, requestsPerSecond } = this.#limits.partOf(id)
      return {
        id,
        ...(bytesPerSecond === undefined ? {} : { bytesPerSecond: Math.floor(bytesPerSecond) }),
        ...(requestsPerSecond === undefined ? {} : { requestsPerSecond: Math.ceil(requestsPerSecond) }),
      }
    })
    return { assignments, limits }
  }

  /** How many work on a migration: the platform's own process, if it does, and agents. */
  workersOn(workId: string): number {
    const work = this.#assignments.get(workId)
    if (work === undefined) return 1
    const agents = this.#agentRegistry.live().filter((agent) => this.#canDo(agent, work)).length
    return agents + (work.movedBy === 'AGENTS' ? 0 : 1)
  }

  /** Names of the migrations that an agent works on. */
  namesOf(workIds: Iterable<string>): string[] {
    return [...workIds].flatMap((workId) => this.#assignments.get(workId)?.migrationId ?? [])
  }

  /**
   * How many share a limit: the platform's own process, and the agents with something to do under it. That of an agent is
   * over no migration, and so that agent's alone.
   */
  #workersUnder(token: string): number {
    const under = [...this.#assignments.values()].filter(({ migrationId, target }) =>
      this.#limits.tokensOf(migrationId, target).includes(token),
    )
    const agents = this.#agentRegistry
      .live()
      .filter((agent) => under.some((work) => this.#canDo(agent, work)))
    const server = under.some(({ movedBy }) => movedBy !== 'AGENTS') ? 1 : 0
    return Math.max(1, agents.length + server)
  }

  /** Whether an agent is to work on a migration. */
  #canDo(agent: LiveAgent, work: OpenWork): boolean {
    return !work.isClosing && this.#agentRegistry.problemOf(agent) === undefined && isFor(agent, work)
  }

  #isWaiting(work: OpenWork): boolean {
    const { movedBy, isClosing } = work
    if (movedBy !== 'AGENTS' || isClosing) return false
    return !this.#agentRegistry.live().some((agent) => this.#canDo(agent, work))
  }

  #tellOfWaiting(): void {
    for (const work of this.#assignments.values()) {
      if (!this.#isWaiting(work)) continue
      this.#log.warn(
        { migration: work.migrationId, folders: work.hostFolders.roots },
        'A migration waits for a transfer agent: no connected agent reaches both stores.',
      )
    }
  }
}

/** Whether a migration is one that agents move, and an agent reaches both of its stores. */
const isFor = (agent: LiveAgent, { movedBy, hostFolders }: OpenWork): boolean =>
  movedBy !== 'SERVER' && hostFolders.roots.every((root) => isShared(root, agent.report.shares))

/** Whoever holds a migration was told to work on it before the platform started, or before it was lost sight of. */
function takeUp(agent: LiveAgent, work: OpenWork): void {
  if (agent.report.holding.includes(work.workId) && isFor(agent, work)) agent.assigned.add(work.workId)
}
