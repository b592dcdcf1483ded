import { createHash } from 'node:crypto'
import { storeError } from '../../../drivers/contract/store-error.ts'
import { isOfAll, type TableName, type WriteIds } from '../../catalogs/contract/catalog.ts'
import type { Difference } from './differences.ts'
import type { PartitionsPlanned } from './dry-writer.ts'
import type { FailureClass } from '../../../../subjects/migrations/model/failure-classes.ts'
import type { ObjectKind } from '../../../../subjects/metadata/migrations.ts'
import type { Principal } from '../../../../subjects/metadata/objects.ts'

/** What tells an object of a catalog from all others. */
export interface ObjectId {
  readonly kind: ObjectKind
  readonly database: string
  /** A database has none beside its own. */
  readonly name?: string
}

/**
 * One text for each object: what stands between two slashes may have slashes in some catalogs. Views have theirs among the
 * tables, as they share their names: one may take the place of the other.
 */
export const keyOf = ({ kind, database, name }: ObjectId): string =>
  [kind === 'view' ? 'table' : kind, ...[database, ...(name === undefined ? [] : [name])].map(encoded)].join(
    '/',
  )

/** The object of a key; a table for one that may be a view. */
export function objectOf(key: string): ObjectId {
  const [kind = '', database = '', name] = key.split('/').map(decoded)
  return { kind: kind as ObjectKind, database, ...(name !== undefined && { name }) }
}

const encoded = (text: string): string => text.replaceAll('%', '%25').replaceAll('/', '%2F')
const decoded = (text: string): string => text.replaceAll('%2F', '/').replaceAll('%25', '%')

/** What was found when an object was written last, as digests. Plain data. */
export interface Settled {
  /** What was wanted at the target. */
  readonly wanted: string
  /** What the target made of it, which may add to it or say it in other words: whoever finds something else, finds what others have made. */
  readonly is: string
  /** Whether another program made it, and it was found as it was wanted. */
  readonly isTheirs?: true
}

/** What is known of an object before it is looked at. Plain data. */
export interface Known extends Partial<Settled> {
  /** Whether a process that ended had it in its hands: what the target has may be its work, of which nothing was stored. */
  readonly inHand?: boolean
  /** Whether it is stored that the object is being written: without that, nothing of it is. */
  readonly isNoted?: boolean
  /** Whether it is at the target by a hidden name. */
  readonly isHidden?: boolean
}

/** Whether a migration made an object, as far as it is known before it is looked at. */
export const isOwn = ({ is, isTheirs, inHand }: Known): boolean =>
  isTheirs !== true && (is !== undefined || inHand === true)

/** What of the writes to a table the source had decided, and when. It is stored before it is set at the target. Plain data. */
export interface SeenWriteIds extends Pick<WriteIds, 'highest' | 'aborted'> {
  /** The files of all these writes were at the source by then, in milliseconds since 1970. */
  readonly sinceMs: number
  /** When the table was made at the source: the ids of one that is made anew begin anew. */
  readonly createdMs?: number
}

/** What of the writes to a table is at the target. Plain data. */
export interface Written extends Pick<SeenWriteIds, 'createdMs'> {
  /** All writes up to it are as they are at the source. */
  readonly upTo: number
}

/** What became of an object. Plain data. */
export type Outcome = ObjectId & {
  readonly partitions?: number
  /** What it was at the target before it got its name, which is no more there. */
  readonly renamedFrom?: TableName
} & (
    | {
        readonly result: 'same' | 'created' | 'changed'
        readonly settled: Settled
        readonly note?: Failure
        /** Why some of its partitions are not added, or not looked at, yet. */
        readonly waiting?: string
        readonly writeIds?: SeenWriteIds
        readonly isOfWrites?: true
        /** Of a transactional table. */
        readonly written?: Written
        /** Where nothing was written: what would have been, and in what it differs that would be left; of one that is the same, only that. */
        readonly differences?: readonly Difference[]
        readonly planned?: PartitionsPlanned
      }
    /** Not at the source; `kept`: there again when it was about to be dropped. */
    | { readonly result: 'gone' }
    | { readonly result: 'kept' }
    | { readonly result: 'dropped' }
    /** It is to be written, which has to be stored before. */
    | { readonly result: 'to-be-noted' }
    | {
        readonly result: 'failed'
        readonly failure: Failure
        /** Whether something was being written: nobody knows what the target has of it. */
        readonly isWritten?: true
      }
    | { readonly result: 'held'; readonly failure: Failure; readonly settled?: Settled }
    | { readonly result: 'conflict'; readonly message: string }
    | {
        readonly result: 'waiting'
        readonly message: string
        /** To be set once the files of these writes have arrived. */
        readonly writeIds?: SeenWriteIds
        /** Whether nothing of it waits but the latest writes to it. */
        readonly isOfWrites?: true
        /** Whether it is at the target by a hidden name. */
        readonly isHidden?: true
      }
  )

export interface Failure {
  readonly failureClass: FailureClass
  readonly message: string
}

/** What was brought beyond an object, or why not all of it. */
export interface Extras {
  /** In what both ends differed. */
  readonly differences: readonly Difference[]
  /** In what they differ still, as it is not this migration's to change. */
  readonly left: readonly Difference[]
  readonly note?: Failure
}

/** Who has a role at one end alone. */
export interface RoleMember {
  readonly role: string
  readonly member: Principal
  /** Whether only the source has it. */
  readonly isMissing: boolean
}

/** What an error means for one object; throws what concerns the whole catalog. */
export function failureOf(error: unknown): Failure {
  const failed = storeError(error)
  if (isOfAll(failed)) throw failed
  return { failureClass: failed.failure, message: failed.message }
}

/** The same for equal objects, however their fields are ordered. 128 bits: nobody gains from two objects that look the same. */
export const digestOf = (value: unknown): string =>
  createHash('sha256')
    .update(JSON.stringify(sorted(value)))
    .digest('base64url')
    .slice(0, 22)

/** Those of some that are not among others. */
export function without<T>(some: readonly T[], others: readonly T[]): T[] {
  const digests = new Set(others.map(digestOf))
  return some.filter((one) => !digests.has(digestOf(one)))
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, its]) => its !== undefined)
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, its]) => [name, sorted(its)]),
  )
}
