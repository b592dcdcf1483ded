import { isDeepStrictEqual } from 'node:util'
import type { Database, Table } from '../../../../subjects/metadata/objects.ts'
import { StoreError } from '../../../drivers/contract/store-error.ts'
import type { Difference } from './differences.ts'
import { extrasOf } from './extras.ts'
import { carryPrivileges, type Standing } from './privileges.ts'
import { failureOf, isOwn, type Known, type ObjectId, type Outcome, type Settled } from './objects.ts'
import type { Sides } from './sides.ts'

export type OnConflict = 'report' | 'overwrite'

/** Called before something of an object is written. */
export type Writing = () => void

/** What of one object is read, compared and written, whatever it is. */
interface Steps<T extends object> {
  readonly wanted: T
  readonly read: () => Promise<T | undefined>
  readonly create: () => Promise<void>
  readonly alter: (is: T) => Promise<void>
  /** Whether it can only be altered by making it anew; absent for never. */
  readonly isMadeAnew?: (is: T) => boolean
}

/** What an object has become. */
export interface Done {
  readonly result: 'same' | 'created' | 'changed'
  readonly settled: Settled
  /** Whether this migration made it, now or before. */
  readonly isOwn: boolean
  /** Of one that would be changed, where nothing is written. */
  readonly differences?: readonly Difference[]
}

/** Somebody else writes to the object again and again: it is tried once more, and then a conflict. */
const maxAttempts = 2

/**
 * Brings one object to the target. What is there is replaced if it is as this migration has left it; what somebody else
 * has made of it, only where that was asked for.
 * @returns what the object has become; undefined for a conflict
 */
export async function settle<T extends Database | Table>(
  sides: Sides,
  known: Known,
  onConflict: OnConflict,
  { wanted, read, create, alter, isMadeAnew }: Steps<T>,
  writing: Writing,
): Promise<Done | undefined> {
  const digest = sides.digest(wanted)
  // What was once overwritten is the migration's own.
  const whose = (isItsOwn: boolean) =>
    isItsOwn || onConflict === 'overwrite' ? {} : { isTheirs: true as const }
  for (let attempt = 1; ; attempt++) {
    const is = await read()
    const found = is && sides.digest(is)
    // Most are as they were left: the last one makes two digests more.
    const isSeenSame = found === digest || (known.wanted === digest && known.is === found)
    if (is !== undefined && found !== undefined && (isSeenSame || sides.isSame(wanted, is)))
      return {
        result: 'same',
        settled: { wanted: digest, is: found, ...whose(isOwn(known)) },
        isOwn: isOwn(known),
      }
    // One that was never there, or that somebody has dropped, is compared as well.
    const isOurs = known.is === found || known.inHand === true || onConflict === 'overwrite'
    if (!isOurs) return undefined
    writing()
    try {
      await (is === undefined ? create() : alter(is))
    } catch (error) {
      if (!(error instanceof StoreError) || error.failure !== 'changed' || attempt === maxAttempts)
        throw error
      continue
    }
    const result = is === undefined ? 'created' : 'changed'
    const isItsOwn = is === undefined || isMadeAnew?.(is) === true || isOwn(known)
    if (sides.dry !== undefined)
      return {
        result,
        settled: { wanted: digest, is: digest, ...whose(isItsOwn) },
        isOwn: isItsOwn,
        ...(is !== undefined && { differences: sides.differences(wanted, is) }),
      }
    const now = await read()
    if (now === undefined) throw new StoreError('changed', droppedMeanwhile)
    return {
      result,
      settled: { wanted: digest, is: sides.digest(now), ...whose(isItsOwn) },
      isOwn: isItsOwn,
    }
  }
}

/** Ends the work on an object that would be written, and of which that is not stored yet. */
class NotNoted extends Error {}

/**
 * What became of an object, with all errors that are its own. Of one that is not noted nothing is written: should the answer
 * get lost, what is at the target would be taken for the migration's own work.
 */
export async function outcomeOf(
  { dry }: Pick<Sides, 'dry'>,
  id: ObjectId,
  { inHand = false, isNoted = inHand }: Known,
  work: (writing: Writing) => Promise<Outcome>,
): Promise<Outcome> {
  let isWritten: true | undefined
  const writing = () => {
    if (!isNoted && dry === undefined) throw new NotNoted()
    isWritten = true
  }
  try {
    return await work(writing)
  } catch (error) {
    if (error instanceof NotNoted) return { ...id, result: 'to-be-noted' }
    return {
      ...id,
      result: 'failed',
      failure: failureOf(error),
      ...(isWritten !== undefined && { isWritten }),
    }
  }
}

export const droppedMeanwhile = 'another program dropped it at the same time'

export const conflictMessage =
  'another program created, changed or dropped it at the target: the target is not changed unless onConflict is overwrite, or both become equal'

/** Brings a database. Throws StoreError for what concerns the whole catalog. */
export async function reconcileDatabase(
  sides: Sides,
  name: string,
  known: Known,
  onConflict: OnConflict,
  signal: AbortSignal,
): Promise<Outcome> {
  const id = { kind: 'database', database: name } as const
  return outcomeOf(sides, id, known, async (writing) => {
    const source = await sides.source.database(name, signal)
    if (source === undefined) return { ...id, result: 'gone' }
    const wanted = sides.wanted.database(source)
    // Every Hive has this one, and nobody can make or drop it: what it says is each catalog's own.
    if (name === defaultDatabase && (await sides.target.database(name, signal)) !== undefined) {
      const digest = sides.digest(wanted)
      return { ...id, result: 'same', settled: { wanted: digest, is: digest } }
    }
    const settled = await settle(
      sides,
      known,
      onConflict,
      {
        wanted,
        read: () => sides.target.database(name, signal),
        create: () => sides.writer.createDatabase(wanted, signal),
        alter: () => sides.writer.alterDatabase(wanted, signal),
      },
      writing,
    )
    if (settled === undefined) return { ...id, result: 'conflict', message: conflictMessage }
    const standing = standingOf(sides, settled)
    const extras = await extrasOf(() => carryPrivileges(sides, { database: name }, standing, signal))
    const { differences, left, note } = extras
    const isChanged = settled.result === 'same' && sides.dry !== undefined && differences.length > 0
    return {
      ...id,
      result: isChanged ? 'changed' : settled.result,
      settled: settled.settled,
      ...(sides.dry && { differences: [...(settled.differences ?? []), ...differences, ...left] }),
      ...(note !== undefined && { note }),
    }
  })
}

/** What privileges of an object are to be looked at. */
export const standingOf = ({ dry }: Pick<Sides, 'dry'>, { result, isOwn: isItsOwn }: Done): Standing => ({
  isOwn: isItsOwn,
  isToBeMade: dry !== undefined && result === 'created',
})

const defaultDatabase = 'default'

/** Whether a table can become the other one; else it is dropped and made again. */
export const canBecome = (is: Table, wanted: Table): boolean =>
  is.type.includes('VIEW') === wanted.type.includes('VIEW') &&
  isDeepStrictEqual(
    is.partitionKeys.map(({ name, type }) => [name, type]),
    wanted.partitionKeys.map(({ name, type }) => [name, type]),
  )
