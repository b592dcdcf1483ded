import type { QueueState } from '../../../broker/queue/queue.ts'
import type { Progress, WorkerProgress } from './progress.ts'
import { addSums, type Booked, type Loss, lossOf, sumBetween, sumOfAll } from './proof.ts'
import { SequenceRuns } from './sequence-runs.ts'

/** What a worker has done, as it is to be stored. */
export interface Checkpoint extends Pick<WorkerProgress, 'counts' | 'counted' | 'early'> {
  /** The highest sequence that was given to an item that the worker has published. */
  readonly published: number
}

/** The same with what is known of the items that were done. */
type KeptCheckpoint = Omit<WorkerProgress, 'migration' | 'worker'>

/** The checkpoint of no worker: what is to be added to all others, so that they tell of the queue as it is. */
const correction = 'correction'

/** What all checkpoints together say of an item. */
export interface Finding {
  /** It is done, and counted by somebody. */
  readonly counted: boolean
  /** Somebody may have had it who is gone. */
  readonly wasOut: boolean
  /** Ids of the items that it has made and that were done before it. */
  readonly early: readonly string[]
}

/** What the checkpoints have to know of the queue. */
export interface CheckpointedQueue {
  /** Whether an item is still in it. */
  has(sequence: number): Promise<boolean>
  /** Whether an item that is handed out as if for the first time may have been handed out before. */
  wasOut(sequence: number): Promise<boolean>
}

/** Where a worker has its checkpoint stored, and asks what the others say. */
export interface CheckpointStore {
  look(sequence: number): Promise<Finding>
  /** Stores the checkpoint; or, when others have counted some of its items, stores nothing and returns the sequences of those. */
  store(checkpoint: Checkpoint): Promise<readonly number[]>
}

/**
 * The checkpoints of all workers on one migration. An item that two workers had at once, as one of them was thought dead, is
 * counted by who comes first: every checkpoint is stored here, one after the other.
 */
export class ProgressLedger {
  readonly #progress: Progress
  readonly #migration: string
  readonly #queue: CheckpointedQueue
  readonly #checkpoints = new Map<string, KeptCheckpoint>()
  /** Sequences of items that were counted and acknowledged since this was opened. */
  readonly #ended = new SequenceRuns()
  #stores = 0
  #turn: Promise<unknown> = Promise.resolve()

  private constructor(progress: Progress, migration: string, queue: CheckpointedQueue) {
    this.#progress = progress
    this.#migration = migration
    this.#queue = queue
  }

  /** @param options `isEmpty`: there are no checkpoints of this migration yet */
  static async open(
    progress: Progress,
    migration: string,
    queue: CheckpointedQueue,
    { isEmpty = false }: { isEmpty?: boolean } = {},
  ): Promise<ProgressLedger> {
    const progressLedger = new ProgressLedger(progress, migration, queue)
    if (isEmpty) return progressLedger
    for (const { migration: _, worker, ...checkpoint } of await progress.of(migration))
      progressLedger.#checkpoints.set(worker, checkpoint)
    return progressLedger
  }

  /** How often a checkpoint was stored since this was opened. */
  get stores(): number {
    return this.#stores
  }

  /** What the checkpoints say together. */
  get booked(): Booked {
    const checkpoints = [...this.#checkpoints.values()]
    const isSummed =
      this.#checkpoints.get(correction)?.sum !== undefined || !this.#checkpoints.has(correction)
    return {
      done: checkpoints.reduce((all, { done = 0 }) => all + done, 0),
      sum: isSummed ? checkpoints.reduce((all, { sum = 0 }) => addSums(all, sum), 0) : undefined,
      published: checkpoints.reduce((highest, { published = 0 }) => Math.max(highest, published), 0),
    }
  }

  /** What is gone from the queue of this migration, which nobody works on at the moment. */
  async lossAtStart(queue: Pick<QueueState, 'messages' | 'lastSequence'>): Promise<Loss | undefined> {
    const counted = this.all().flatMap((checkpoint) => checkpoint.counted)
    const unacked = (await Promise.all(counted.map((one) => this.#queue.has(one)))).filter(Boolean).length
    const isOfBefore = this.all().some(({ done }) => done === undefined)
    if (isOfBefore && !this.#checkpoints.has(correction)) {
      // A release before has taken items off without counting them. What is gone now it has done.
      const gone = queue.lastSequence - queue.messages + unacked
      await this.#correct({ done: gone - this.booked.done })
    }
    return lossOf(queue, this.booked, { unacked })
  }

  /**
   * Items that are missing from a queue that is empty are made good otherwise: they count as done when `beforehand` is.
   * The checkpoints must be as they were when the queue was asked.
   */
  async settle(lastSequence: number, beforehand: () => Promise<void>): Promise<void> {
    const { done = 0, sum = 0 } = this.#checkpoints.get(correction) ?? {}
    const total = this.all().reduce((all, checkpoint) => addSums(all, checkpoint.sum ?? 0), 0)
    const corrected = {
      done: done + lastSequence - this.booked.done,
      sum: addSums(sum, sumBetween(total, sumOfAll(lastSequence))),
    }
    await beforehand()
    await this.#correct(corrected)
  }

  async #correct(more: Pick<KeptCheckpoint, 'done' | 'sum'>): Promise<void> {
    const checkpoint = { counts: {}, counted: [], early: {}, ...more }
    await this.#progress.store({ migration: this.#migration, worker: correction, ...checkpoint })
    this.#checkpoints.set(correction, checkpoint)
  }

  /** The checkpoints as they are. */
  all(): KeptCheckpoint[] {
    return [...this.#checkpoints.values()]
  }

  /** What is stored of one worker. */
  of(worker: string): KeptCheckpoint | undefined {
    return this.#checkpoints.get(worker)
  }

  /** For a worker that asks whether an item is its to do: who else may have had it is dead, or has counted it. */
  async look(sequence: number): Promise<Finding> {
    const checkpoints = this.all()
    const counted =
      checkpoints.some((checkpoint) => checkpoint.counted.includes(sequence)) ||
      !(await this.#queue.has(sequence))
    const early = checkpoints.flatMap((checkpoint) => checkpoint.early[sequence] ?? [])
    return { counted, early, wasOut: await this.#queue.wasOut(sequence) }
  }

  /**
   * As `CheckpointStore.store`.
   * @param onStored told what the checkpoint before said, at the moment when this one takes its place: who got no answer in time
   * sends the same once more, while the first is still being stored
   */
  store(
    worker: string,
    checkpoint: Checkpoint,
    onStored?: (before: KeptCheckpoint['counts'] | undefined) => void,
  ): Promise<readonly number[]> {
    const stored = this.#turn.then(() => this.#store(worker, checkpoint, onStored))
    this.#turn = stored.catch(() => undefined)
    return stored
  }

  /**
   * Resolves when all that anybody has asked to be stored is, or is refused: whoever opens the ledger of the same queue next
   * must find it.
   */
  async settled(): Promise<void> {
    await this.#turn
  }

  /** The place of one worker. */
  keeperOf(worker: string): CheckpointStore {
    return { look: (sequence) => this.look(sequence), store: (checkpoint) => this.store(worker, checkpoint) }
  }

  async #store(
    worker: string,
    checkpoint: Checkpoint,
    onStored: ((before: KeptCheckpoint['counts'] | undefined) => void) | undefined,
  ): Promise<readonly number[]> {
    const before = this.#checkpoints.get(worker)
    const known = new Set(before?.counted)
    const others = [...this.#checkpoints]
      .filter(([other]) => other !== worker && other !== correction)
      .map(([, { counted }]) => counted)
    const fresh = checkpoint.counted.filter((sequence) => !known.has(sequence))
    const isTaken = async (sequence: number) => {
      if (this.#ended.has(sequence) || others.some((counted) => counted.includes(sequence))) return true
      // Where there is nobody else, nobody need be asked.
      return others.length > 0 && !(await this.#queue.has(sequence))
    }
    const taken = await Promise.all(fresh.map(isTaken))
    const refused = fresh.filter((_, index) => taken[index])
    if (refused.length > 0) return refused
    const kept = {
      ...checkpoint,
      done: (before?.done ?? 0) + fresh.length,
      sum: fresh.reduce(addSums, before?.sum ?? 0),
      published: Math.max(before?.published ?? 0, checkpoint.published, ...fresh),
    }
    await this.#progress.store({ migration: this.#migration, worker, ...kept })
    this.#checkpoints.set(worker, kept)
    this.#stores += 1
    onStored?.(before?.counts)
    const counted = new Set(checkpoint.counted)
    for (const sequence of known) if (!counted.has(sequence)) this.#ended.add(sequence)
    return []
  }
}
