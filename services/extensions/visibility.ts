import { call } from '../../broker/rpc/client.ts'
import type { NatsConnection } from '../../broker/rpc/connection.ts'
import type { Caller, Output } from '../../subjects/kit/contract.ts'
import { GantryError } from '../../subjects/kit/errors.ts'
import { keysInternal } from '../../subjects/access/keys.ts'
import { isVisible } from '../../subjects/extensions/visible.ts'

/** What a caller may do and see, and who it is. */
export type Viewer = Output<(typeof keysInternal)['permissions']>

/** Asks access about a key. @throws GantryError NOT_FOUND when it is no longer valid */
export type ViewerOf = (keyId: string) => Promise<Viewer>

export const askAccess =
  (connection: NatsConnection): ViewerOf =>
  (id) =>
    call(connection, keysInternal.permissions, { id })

/** @throws GantryError DENIED for the platform itself */
export function keyOf(caller: Caller): string {
  if (caller.kind === 'platform') throw new GantryError('DENIED', 'the platform itself has no key')
  return caller.keyId
}

export const sees = (viewer: Viewer, prefix: string): boolean =>
  isVisible(prefix, { sub: viewer.capabilities.sub, visible_extensions: viewer.visible_extensions })

/** What somebody does not see does not exist for them. */
export const unseen = (prefix: string): GantryError<'NOT_FOUND'> =>
  new GantryError('NOT_FOUND', `there is no extension ${prefix}`)
