import { isDeepStrictEqual } from 'node:util'
import type { Database, Table } from '../../../../subjects/metadata/objects.ts'
import { StoreError, storeError } from '../../../drivers/contract/store-error.ts'
import type { Difference } from './differences.ts'
import type { Failure, Known, ObjectId, Outcome, Settled } from './objects.ts'
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
}

/** What an object has become. */
export interface Done {
  readonly result: 'same' | 'created' | 'changed'
  readonly settled: Settled
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
  { wanted, read, create, alter }: Steps<T>,
  writing: Writing,
): Promise<Done | undefined> {
  const digest = sides.digest(wanted)
  for (let attempt = 1; ; attempt++) {
    const is = await read()
    const found = is && sides.digest(is)
    if (found !== undefined && (found === digest || (known.wanted === digest && known.is === found)))
      return { result: 'same', settled: { wanted: digest, is: found } }
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
    if (sides.dry !== undefined)
      return {
        result,
        settled: { wanted: digest, is: digest },
        ...(is !== undefined && { differences: sides.differences(wanted, is) }),
      }
    const now = await read()
    if (now === undefined) throw new StoreError('changed', 'somebody else has dropped it at the same time')
    return { result, settled: { wanted: digest, is: sides.digest(now) } }
  }
}

/** What an error means for one object; throws what concerns the whole catalog. */
export function failureOf(error: unknown): Failure {
  const failed = storeError(error)
  if (isOfAll(failed)) throw failed
  return { failureClass: failed.failure, message: failed.message }
}

/** Whether no other object would fare better. */
const isOfAll = ({ failure }: StoreError): boolean =>
  failure === 'unreachable' || failure === 'refused' || failure === 'throttled'

/** What became of an object, with all errors that are its own. */
export async function outcomeOf(
  id: ObjectId,
  work: (writing: Writing) => Promise<Outcome>,
): Promise<Outcome> {
  let isWritten: true | undefined
  try {
    return await work(() => void (isWritten = true))
  } catch (error) {
    return {
      ...id,
      result: 'failed',
      failure: failureOf(error),
      ...(isWritten !== undefined && { isWritten }),
    }
  }
}

export const conflictMessage =
  'somebody else has made, changed or dropped it at the target: it stays as it is there until onConflict is overwrite, or both are the same'

/** Brings a database. Throws StoreError for what concerns the whole catalog. */
export async function reconcileDatabase(
  sides: Sides,
  name: string,
  known: Known,
  onConflict: OnConflict,
  signal: AbortSignal,
): Promise<Outcome> {
  const id = { kind: 'database', database: name } as const
  return outcomeOf(id, async (writing) => {
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
    return settled === undefined
      ? { ...id, result: 'conflict', message: conflictMessage }
      : { ...id, ...settled }
  })
}

const defaultDatabase = 'default'

/** Whether a table can become the other one; else it is dropped and made again. */
export const canBecome = (is: Table, wanted: Table): boolean =>
  is.type.includes('VIEW') === wanted.type.includes('VIEW') &&
  isDeepStrictEqual(
    is.partitionKeys.map(({ name, type }) => [name, type]),
    wanted.partitionKeys.map(({ name, type }) => [name, type]),
  )
