import { LRUCache } from 'lru-cache'
import { Collection } from '../../../broker/state/collection.ts'
import type { NatsConnection } from '../../../broker/rpc/connection.ts'
import type { Log } from '../../../broker/common/log.ts'
import { every, type Task } from '../../../broker/tasks/tasks.ts'
import {
  agentProtocol,
  type agentWork,
  attendMs,
  maxAgentsOfKey,
  tooManyOfKey,
} from '../../../subjects/migrations/agent-work.ts'
import { Agent } from '../../../subjects/migrations/agents.ts'
import type { Input } from '../../../subjects/kit/contract.ts'
import type { InFlightProgress, ReportedTransfer } from '../progress/in-flight-progress.ts'
import { Throughput } from './throughput.ts'

/** Who was not heard of for so long after an answer is gone: an agent asks again at once. */
const goneAfterMs = 2 * attendMs
/** Agents that were told to end: an agent that missed it is told once more when it asks again. */
export const maxDismissed = 1_000

/** Agents of one key that were seen: those that are there, and so many others. Who was missing for longest is forgotten first. */
export const maxSeenOfKey = 2 * maxAgentsOfKey

/** What an agent says, and what it is called. */
export type Report = Input<(typeof agentWork)['attend']> & { readonly name: string }

/** An agent that is there. */
export interface LiveAgent {
  readonly keyId: string
  readonly connected: string
  readonly throughput: Throughput
  /** What it has under way, by work id. */
  readonly inFlight: Map<string, ReportedTransfer>
  /** Work ids of the migrations that it was told to work on, until these are withdrawn: it may ask about no others. */
  readonly assigned: Set<string>
  report: Report
  /** When it was answered last. */
  answeredMs: number
  /** Questions of it that are open: while there is one, it is there. */
  asking: number
}

type Seen = Collection<typeof Agent>

interface AgentRegistryOptions {
  readonly inFlight: Pick<InFlightProgress, 'beginElsewhere'>
  readonly log: Log
}

/** The agents that are there, by name, and what was seen last of those that are not. */
export class AgentRegistry {
  readonly #seen: Seen
  readonly #log: Log
  readonly #inFlight: AgentRegistryOptions['inFlight']
  readonly #live = new Map<string, LiveAgent>()
  /** Why a life of an agent is to end. */
  readonly #dismissed = new LRUCache<string, string>({ max: maxDismissed })
  readonly #listeners: (() => void)[] = []
  #change = Promise.withResolvers<void>()
  /** Resolves when all that was seen so far is stored. */
  #storing = Promise.resolve()
  #task: Task | undefined

  private constructor(seen: Seen, { inFlight, log }: AgentRegistryOptions) {
    this.#seen = seen
    this.#inFlight = inFlight
    this.#log = log
  }

  static async open(connection: NatsConnection, options: AgentRegistryOptions): Promise<AgentRegistry> {
    const seen = await Collection.open(connection, { bucket: 'agents', schema: Agent, version: 1 })
    return new AgentRegistry(seen, options)
  }

  start(): void {
    this.#task = every('agents.silent', () => this.#dropSilent())
  }

  stop(): void {
    this.#task?.stop()
    this.changed()
  }

  /** Something is not as it was: agents that wait are looked at once more. */
  changed(): void {
    for (const listener of this.#listeners) listener()
    this.#change.resolve()
    this.#change = Promise.withResolvers<void>()
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener)
  }

  /** Resolves at the next change. */
  nextChange(): Promise<void> {
    return this.#change.promise
  }

  live(): LiveAgent[] {
    return [...this.#live.values()]
  }

  holdersOf(workId: string): number {
    return this.live().filter(
      ({ assigned, report }) => assigned.has(workId) && report.holding.includes(workId),
    ).length
  }

  /** Why an agent is given nothing to do; undefined for one that can work. */
  problemOf({ report: { instance, version, protocol, problem } }: LiveAgent): string | undefined {
    const dismissed = this.#dismissed.get(instance)
    if (dismissed !== undefined) return dismissed
    if (protocol === agentProtocol) return problem
    const older = protocol < agentProtocol ? 'agent' : 'platform'
    return `release ${version} of the agent uses protocol ${protocol}, but the platform uses ${agentProtocol}: update the ${older}`
  }

  /** The agent of this life; undefined when it is not known, as it was silent or the platform has just started. */
  find(keyId: string, instance: string): LiveAgent | undefined {
    return this.live().find((agent) => agent.keyId === keyId && agent.report.instance === instance)
  }

  /** Whether one of the agents with a key was told to work on a migration. */
  isAssigned(keyId: string, workId: string): boolean {
    return this.live().some((agent) => agent.keyId === keyId && agent.assigned.has(workId))
  }

  /** Why an agent that was admitted is to end; undefined for one that is there. */
  whyGone(agent: LiveAgent): string | undefined {
    const isThere = this.#live.get(agent.report.name) === agent
    return this.#dismissed.get(agent.report.instance) ?? (isThere ? undefined : 'the agent has stopped')
  }

  /** An agent says what it is. Returns it, or why it has to end. */
  admit(keyId: string, report: Report): LiveAgent | string {
    const dismissed = this.#dismissed.get(report.instance)
    if (dismissed !== undefined) return dismissed
    const known = this.#live.get(report.name)
    if (known !== undefined && known.keyId !== keyId)
      return `an agent with another key has the name ${report.name}; set another name with --name`
    if (known?.report.instance === report.instance) {
      const isSame = JSON.stringify(known.report.holding) === JSON.stringify(report.holding)
      known.report = report
      this.#says(known)
      if (!isSame) this.changed()
      return known
    }
    if (known === undefined && this.live().filter((one) => one.keyId === keyId).length >= maxAgentsOfKey)
      return tooManyOfKey
    // A process that was killed and started again is not to wait until it was missed.
    if (known !== undefined) {
      endAll(known)
      this.#dismiss(
        known,
        `another process uses the name ${report.name}: give each agent its own key, or a name with --name`,
      )
    }
    const agent: LiveAgent = {
      keyId,
      connected: new Date().toISOString(),
      throughput: new Throughput(),
      inFlight: new Map(),
      assigned: new Set(),
      report,
      answeredMs: Date.now(),
      asking: 0,
    }
    this.#says(agent)
    this.#live.set(report.name, agent)
    const problem = this.problemOf(agent)
    this.#log.info({ agent: report.name, host: report.host, problem }, 'A transfer agent connected.')
    this.#remember(agent)
    this.changed()
    return agent
  }

  /** An agent has ended by itself. */
  left(keyId: string, instance: string): void {
    const agent = this.find(keyId, instance)
    if (agent !== undefined) this.#drop(agent, 'A transfer agent stopped.')
  }

  /** Whether an agent of this name is there, or was. */
  async knows(name: string): Promise<boolean> {
    return this.#live.has(name) || (await this.#seen.get(name)) !== undefined
  }

  /** Tells an agent to end, and forgets it. Returns whether there was one. */
  async remove(name: string): Promise<boolean> {
    const agent = this.#live.get(name)
    await this.#storing
    const wasSeen = (await this.#seen.get(name)) !== undefined
    if (agent !== undefined) {
      // It is there until it has reported its work in progress.
      this.#dismiss(agent, 'the agent was removed by an administrator')
      this.changed()
    }
    if (wasSeen) await this.#seen.delete(name)
    return wasSeen || agent !== undefined
  }

  /** All agents as callers see them. @param namesOf of the migrations of these work ids */
  async all(namesOf: (workIds: readonly string[]) => string[]): Promise<Agent[]> {
    const gone = (await this.#seen.list()).filter(({ name }) => !this.#live.has(name))
    const live = this.live().map((agent) => this.#view(agent, namesOf(agent.report.holding)))
    return [...live, ...gone.map(disconnected)].toSorted((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** Takes what it says of its progress. */
  #says({ report, throughput, inFlight, assigned }: LiveAgent): void {
    throughput.says(report.moved)
    for (const [migration, transfer] of inFlight)
      if (!report.underWay.some((one) => one.migration === migration)) {
        transfer.end()
        inFlight.delete(migration)
      }
    for (const { migration, ...moved } of report.underWay) {
      if (!assigned.has(migration)) continue
      const transfer = inFlight.get(migration) ?? this.#inFlight.beginElsewhere(migration)
      inFlight.set(migration, transfer)
      transfer.says(moved)
    }
  }

  #dismiss(agent: LiveAgent, reason: string): void {
    this.#dismissed.set(agent.report.instance, reason)
  }

  #dropSilent(): void {
    for (const agent of this.live()) {
      if (agent.asking === 0 && Date.now() - agent.answeredMs > goneAfterMs)
        this.#drop(agent, 'A transfer agent stopped responding; others take over its work in progress.')
    }
  }

  #drop(agent: LiveAgent, message: string): void {
    const { name, host } = agent.report
    this.#live.delete(name)
    endAll(agent)
    this.#log.warn({ agent: name, host }, message)
    if (!this.#dismissed.has(agent.report.instance)) this.#remember(agent)
    this.changed()
  }

  /** What cannot be stored is seen at its next coming: the list is for people. */
  #remember(agent: LiveAgent): void {
    this.#storing = this.#storing
      .then(() => this.#store(this.#view(agent, [])))
      .catch((err: unknown) => this.#log.warn({ err }, 'The list of transfer agents could not be stored.'))
  }

  async #store(agent: Agent): Promise<void> {
    if ((await this.#seen.get(agent.name)) === undefined) await this.#makeRoom(agent.keyId)
    await this.#seen.put(agent.name, agent)
  }

  async #makeRoom(keyId: string): Promise<void> {
    const ofKey = (await this.#seen.list()).filter((one) => one.keyId === keyId)
    const lastSeen = ({ health }: Agent) => health.lastStatusUpdateTime
    const gone = ofKey
      .filter(({ name }) => !this.#live.has(name))
      .toSorted((a, b) => lastSeen(a) - lastSeen(b))
    for (const { name } of gone.slice(0, Math.max(0, ofKey.length - maxSeenOfKey + 1)))
      await this.#seen.delete(name)
  }

  #view(agent: LiveAgent, migrations: string[]): Agent {
    const { keyId, report, connected, throughput, answeredMs } = agent
    const { name, host, version, shares, threads, limitBytesPerSecond, itemsInHand } = report
    const problem = this.problemOf(agent)
    return {
      name,
      host,
      version,
      shares,
      threads,
      ...(limitBytesPerSecond === undefined ? {} : { limitBytesPerSecond }),
      keyId,
      healthy: problem === undefined,
      health: {
        status: problem === undefined ? 'CONNECTED' : 'NOT_VALID',
        lastStatusUpdateTime: agent.asking > 0 ? Date.now() : answeredMs,
        lastHealthMessage: problem ?? '',
      },
      connected,
      migrations,
      itemsInHand,
      ...throughput.lately,
      transferredBytes: throughput.total.bytesMigrated,
      transferredFiles: throughput.total.filesMigrated + throughput.total.linksMigrated,
      transferFailures: throughput.total.failures,
    }
  }
}

function endAll({ inFlight }: LiveAgent): void {
  for (const transfer of inFlight.values()) transfer.end()
  inFlight.clear()
}

const disconnected = (agent: Agent): Agent => ({
  ...agent,
  healthy: false,
  health: { ...agent.health, status: 'DISCONNECTED', lastHealthMessage: 'the agent is not connected' },
  itemsInHand: 0,
  bytesPerSecond: 0,
  filesPerSecond: 0,
})
