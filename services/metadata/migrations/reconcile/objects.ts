import { createHash } from 'node:crypto'
import type { Difference } from './differences.ts'
import type { PartitionsPlanned } from './dry-writer.ts'
import type { FailureClass } from '../../../../subjects/migrations/model/failure-classes.ts'
import type { ObjectKind } from '../../../../subjects/metadata/migrations.ts'

/** What tells an object of a catalog from all others. */
export interface ObjectId {
  readonly kind: ObjectKind
  readonly database: string
  /** A database has none beside its own. */
  readonly name?: string
}

/** One text for each object: what stands between two slashes may have slashes in some catalogs. */
export const keyOf = ({ kind, database, name }: ObjectId): string =>
  [kind, ...[database, ...(name === undefined ? [] : [name])].map(encoded)].join('/')

/** The object of a key. */
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
}

/** What is known of an object before it is looked at. Plain data. */
export interface Known extends Partial<Settled> {
  /** Whether a process that ended had it in its hands: what the target has may be its work, of which nothing was stored. */
  readonly inHand?: boolean
}

/** What became of an object. Plain data. */
export type Outcome = ObjectId & { readonly partitions?: number } & (
    | {
        readonly result: 'same' | 'created' | 'changed'
        readonly settled: Settled
        readonly note?: Failure
        /** Where nothing was written: what would have been. */
        readonly differences?: readonly Difference[]
        readonly planned?: PartitionsPlanned
      }
    /** Not at the source; `kept`: there again when it was about to be dropped. */
    | { readonly result: 'gone' }
    | { readonly result: 'kept' }
    | { readonly result: 'dropped' }
    | {
        readonly result: 'failed'
        readonly failure: Failure
        /** Whether something was being written: nobody knows what the target has of it. */
        readonly isWritten?: true
      }
    | { readonly result: 'held'; readonly failure: Failure; readonly settled?: Settled }
    | { readonly result: 'conflict' | 'waiting'; readonly message: string }
  )

export interface Failure {
  readonly failureClass: FailureClass
  readonly message: string
}

/** The same for equal objects, however their fields are ordered. 128 bits: nobody gains from two objects that look the same. */
export const digestOf = (value: unknown): string =>
  createHash('sha256')
    .update(JSON.stringify(sorted(value)))
    .digest('base64url')
    .slice(0, 22)

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
