import { hash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { createSealedBox } from '../../../broker/common/sealed-box.ts'
import { type agentWork, attendMs } from '../../../subjects/migrations/agent-work.ts'
import type { Caller, Handlers, Output } from '../../../subjects/kit/contract.ts'
import { GantryError } from '../../../subjects/kit/errors.ts'
import { add, type Counts, movedOf, noCounts, subtract } from '../../engine/run/counts.ts'
import { makerOf } from '../failures/retries.ts'
import type { CountListener } from '../progress/checkpoint-writer.ts'
import type { Assignments } from '../assignments/assignments.ts'
import type { AgentRegistry } from '../assignments/agent-registry.ts'

export interface AgentApiOptions {
  readonly agentRegistry: AgentRegistry
  readonly assignments: Assignments
  /** The name of a key. */
  readonly nameOf: (keyId: string) => Promise<string>
  /** What agents bring counts among what was moved. */
  readonly onCount: CountListener
}

type Answer = Output<(typeof agentWork)['attend']>

/** Answers transfer agents. */
export function agentApiHandlers({
  agentRegistry,
  assignments,
  nameOf,
  onCount,
}: AgentApiOptions): Handlers<typeof agentWork> {
  const box = createSealedBox()
  /** Another migration does not exist for it: nobody ends the work of others. */
  const find = (caller: Caller, workId: string) => {
    const work = assignments.find(keyOf(caller), workId)
    if (work === undefined) throw notForThis()
    return work
  }
  /** Who was frozen over the end of a scan may still have items of a queue that had the name before. */
  const findQueue = (
    caller: Caller,
    asked: { readonly migration: string; readonly queueCreated: string },
  ) => {
    const work = find(caller, asked.migration)
    if (work.queue.created !== asked.queueCreated) throw notForThis()
    return work
  }
  const agentOf = (caller: Caller, instance: string) => {
    const agent = agentRegistry.find(keyOf(caller), instance)
    if (agent === undefined) throw new GantryError('NOT_FOUND', 'this agent has not connected yet')
    agent.answeredMs = Date.now()
    return agent
  }

  return {
    attend: async (report, { caller }) => {
      const until = Date.now() + attendMs
      const keyId = keyOf(caller)
      const agent = agentRegistry.admit(keyId, { ...report, name: report.name ?? (await nameOf(keyId)) })
      if (typeof agent === 'string') return leaving(agent)
      for (;;) {
        const reason = agentRegistry.whyGone(agent)
        if (reason !== undefined) return leaving(reason)
        const problem = agentRegistry.problemOf(agent)
        const answer = withRevision({
          ...assignments.assignmentsOf(agent),
          ...(problem === undefined ? {} : { problem }),
        })
        const waitMs = until - Date.now()
        if (answer.revision !== report.revision || waitMs <= 0) return answer
        agent.asking += 1
        try {
          await Promise.race([agentRegistry.nextChange(), delay(waitMs, undefined, { ref: false })])
        } finally {
          agent.asking -= 1
          agent.answeredMs = Date.now()
        }
      }
    },
    open: ({ instance, migration }, { caller }) => {
      const agent = agentOf(caller, instance)
      const bytes = assignments.bytesFor(agent, migration)
      if (bytes === undefined) throw notForThis()
      return { sealed: box.seal(bytes, agent.report.publicKey), publicKey: box.publicKey }
    },
    look: async ({ sequence, ...queue }, { caller }) => {
      const { early, ...finding } = await findQueue(caller, queue).progressLedger.look(sequence)
      return { ...finding, early: [...early] }
    },
    has: async ({ sequence, ...queue }, { caller }) => ({
      has: await findQueue(caller, queue).queue.has(sequence),
    }),
    remove: async ({ sequence, ...queue }, { caller }) => {
      await findQueue(caller, queue).queue.remove(sequence)
      return {}
    },
    room: async ({ migration }, { caller }) => {
      const signal = AbortSignal.timeout(attendMs)
      try {
        return { room: await find(caller, migration).room(signal) }
      } catch (error) {
        if (signal.aborted) return {}
        throw error
      }
    },
    'store-book': async (
      { instance, migration, queueCreated, book, counts, counted, early, published },
      { caller },
    ) => {
      const { throughput, inFlight } = agentOf(caller, instance)
      const { progressLedger } = findQueue(caller, { migration, queueCreated })
      const content = { counts, counted, early: byMaker(early), published }
      const refused = await progressLedger.store(book, content, (before) => {
        const more = subtract(all(counts), all(before))
        throughput.add(more)
        onCount(more)
        inFlight.get(migration)?.counted(movedOf(more))
      })
      return { refused: [...refused] }
    },
    'forget-failure': async ({ migration, sequence }, { caller }) => {
      await find(caller, migration).failures.forget(sequence, migration)
      return {}
    },
    leave: ({ instance }, { caller }) => {
      agentRegistry.left(keyOf(caller), instance)
      return {}
    },
  }
}

/** The broker lets nobody ask here but keys of agents. */
function keyOf(caller: Caller): string {
  if (caller.kind === 'key') return caller.keyId
  throw new GantryError('DENIED', 'only transfer agents can use this')
}

const notForThis = () => new GantryError('NOT_FOUND', 'this migration is not assigned to this agent')

const leaving = (reason: string): Answer => ({ revision: '', leave: reason, assignments: [], limits: [] })

const withRevision = (answer: Omit<Answer, 'revision'>): Answer => ({
  ...answer,
  revision: hash('sha256', JSON.stringify(answer), 'base64url'),
})

const all = (counts: Partial<Counts> = {}): Counts => add(noCounts(), { ...noCounts(), ...counts })

/** Ids of items by the sequence of the item that made them. */
function byMaker(ids: readonly string[]): Record<string, string[]> {
  return Object.fromEntries(Map.groupBy(ids, makerOf))
}
