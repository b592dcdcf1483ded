import { givenTwice } from '../../../broker/queue/work.ts'
import type { QueueState } from '../../../broker/queue/queue.ts'

/** What the checkpoints of all workers on a migration say of its queue together. */
export interface Booked {
  /** Items that were done, each counted once. */
  readonly done: number
  /** `sumOf` their sequences; undefined where a release before this one has counted some of them. */
  readonly sum: number | undefined
  /** The highest sequence that was given to an item before the item that made it was counted as done; `givenTwice`. */
  readonly published: number
}

/** What is gone from a queue though nobody has done it. */
export interface Loss {
  /** At least so many items; undefined when nobody knows how many. */
  readonly items?: number
  /**
   * The queue cannot be gone on with: it gives sequences out a second time, so that what is booked says nothing about them
   * any more, or has items that the broker hands out to nobody.
   */
  readonly isBroken: boolean
}

/** The broker does not have all of a queue any more. */
export class WorkLostError extends Error {
  readonly loss: Loss

  constructor(loss: Loss) {
    super(lossText(loss))
    this.name = 'WorkLostError'
    this.loss = loss
  }
}

/** For a person. */
export const lossText = ({ items }: Pick<Loss, 'items'>): string =>
  items === undefined
    ? 'the broker lost work items of the migration'
    : `the broker lost at least ${items} work items of the migration`

/** Sums are kept below this: exact in a number also when two of them are added. */
const sumLimit = 2 ** 48

/** The sum of two sums of sequences, or of a sum and a sequence. */
export const addSums = (one: number, other: number): number => (one + other) % sumLimit

/** What has to be added to one sum to get the other. */
export const sumBetween = (from: number, to: number): number => (to - from + sumLimit) % sumLimit

/** The sum of the sequences of all items that a queue ever had. */
export const sumOfAll = (lastSequence: number): number => {
  const last = BigInt(lastSequence)
  return Number(((last * (last + 1n)) / 2n) % BigInt(sumLimit))
}

/**
 * What is gone from a queue; undefined when it has all that it should.
 *
 * Sequences are given out without gaps, so each up to the last is either an item that is there, or one that is done. As an
 * item is counted before it is taken off, the checkpoints are never behind the queue: what is neither there nor counted is lost.
 * @param booked as it was when the answer about the queue had come, but for `published`: as it was before the question
 * @param unacked items that are counted and still there, as far as somebody knows
 * @param isExact whether nothing was counted between the question about the queue and its answer
 */
export function lossOf(
  { messages, lastSequence }: Pick<QueueState, 'messages' | 'lastSequence'>,
  { done, sum, published }: Booked,
  { unacked = 0, isExact = false }: { unacked?: number; isExact?: boolean } = {},
): Loss | undefined {
  if (published === givenTwice) return { isBroken: true }
  if (published > lastSequence) return { items: published - lastSequence, isBroken: true }
  const missing = lastSequence - messages - (done - unacked)
  if (missing > 0) return { items: missing, isBroken: false }
  if (messages > 0 || !isExact) return undefined
  // What was done twice, as it had come back, may hide that as much is missing.
  const isProven = done === lastSequence && (sum === undefined || sum === sumOfAll(lastSequence))
  return isProven ? undefined : { items: 1, isBroken: false }
}
