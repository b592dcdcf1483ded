import { retry } from '../../../broker/common/retry.ts'
import { call } from '../../../broker/rpc/client.ts'
import type { NatsConnection } from '../../../broker/rpc/connection.ts'
import { agentWork } from '../../../subjects/migrations/agent-work.ts'
import { asAgent, type Contract, type Input, type Output } from '../../../subjects/kit/contract.ts'
import { inboxPrefix } from '../../../subjects/kit/names.ts'
import { isGantryError } from '../../../subjects/kit/errors.ts'
import type { QueueOffice } from '../../../broker/queue/work.ts'
import type { CheckpointStore } from '../progress/progress-ledger.ts'
import type { Counts } from '../../engine/run/counts.ts'
import type { FailureNotes } from '../failures/failures.ts'
import type { Room } from '../assignments/assignments.ts'

/** The queue of a migration that an agent has opened. */
interface OpenedQueue {
  /** Work id. */
  readonly migration: string
  readonly queueCreated: string
}

/** How an agent asks the platform. */
export class AgentApiClient {
  readonly #connection: NatsConnection
  readonly #keyId: string
  readonly instance: string

  constructor(connection: NatsConnection, keyId: string, instance: string) {
    this.#connection = connection
    this.#keyId = keyId
    this.instance = instance
  }

  /** Where the agent hears answers, and nothing else. */
  get inbox(): string {
    return inboxPrefix(this.#keyId)
  }

  /** Asks once. @throws GantryError */
  ask<C extends Contract>(contract: C, input: Input<C>): Promise<Output<C>> {
    return call(this.#connection, asAgent(contract, this.#keyId), input)
  }

  /**
   * Asks until there is an answer: a platform that has just started does not know the agent yet, nor what it works on.
   * Rejects with the signal's reason, and with errors that no waiting mends.
   */
  async askOn<C extends Contract>(contract: C, input: Input<C>, signal: AbortSignal): Promise<Output<C>> {
    signal.throwIfAborted()
    const mayPass = (error: unknown) =>
      isGantryError(error) && (error.retryable || error.code === 'NOT_FOUND') && !this.#connection.isClosed()
    return retry(() => this.ask(contract, input), { mayPass, signal })
  }

  /** What of a queue only the platform can say. */
  officeOf(queue: OpenedQueue, signal: AbortSignal): QueueOffice {
    return {
      has: async (sequence) => (await this.askOn(agentWork.has, { ...queue, sequence }, signal)).has,
      remove: async (sequence) => {
        await this.askOn(agentWork.remove, { ...queue, sequence }, signal)
      },
      // The platform takes the migration back before its queue goes.
      isGone: () => Promise.resolve(false),
    }
  }

  /** Failures of a migration: the agent notes them itself. */
  failuresOf(migration: string, notes: Pick<FailureNotes, 'append'>, signal: AbortSignal): FailureNotes {
    return {
      append: (...entry) => notes.append(...entry),
      forget: async (sequence) => {
        await this.askOn(agentWork['forget-failure'], { migration, sequence }, signal)
      },
    }
  }

  /** Where a checkpoint of the agent on a migration is kept: one for each time that it begins with it. */
  keeperOf(queue: OpenedQueue, signal: AbortSignal): CheckpointStore {
    const { instance } = this
    const book = crypto.randomUUID()
    return {
      look: (sequence) => this.askOn(agentWork.look, { ...queue, sequence }, signal),
      store: async ({ counts, counted, early, published }) => {
        const content = { counts: counts as Counts, counted, early: Object.values(early).flat(), published }
        const input = { instance, ...queue, book, ...content }
        return (await this.askOn(agentWork['store-book'], input, signal)).refused
      },
    }
  }

  /** Resolves when more may be put into the queue of a migration. */
  async room(migration: string, signal: AbortSignal): Promise<Room> {
    for (;;) {
      const { room } = await this.askOn(agentWork.room, { migration }, signal)
      if (room !== undefined) return room
      signal.throwIfAborted()
    }
  }
}
