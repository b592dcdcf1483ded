import type { Contract, HttpRoute } from '../../subjects/kit/contract.ts'
import { type Operation, operation as plain, type Own } from '../surface/operation.ts'

/** An operation of the migrator's surface. */
export interface MigratorOperation extends Operation {
  /** Whether the id of a migration may be its internal id. */
  readonly takesInternalIds: boolean
}

/** An operation that calls a contract. Where nothing else is said, the fields are those of the contract. */
export const operation = <C extends Contract>(
  calls: C,
  method: HttpRoute['method'],
  path: string,
  { takesInternalIds = true, ...own }: Own<C> & { readonly takesInternalIds?: boolean } = {},
): MigratorOperation => ({ ...plain(calls, method, path, own as Own<C>), takesInternalIds })
