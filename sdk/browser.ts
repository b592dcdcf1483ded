import { wsconnect } from '@nats-io/nats-core'
import { unguessable } from '../subjects/kit/unguessable.ts'
import { Extension } from './extension.ts'
import { connectionOptions } from '../client/credentials.ts'
import type { ConnectOptions } from './options.ts'
import { secretly } from '../client/secret-replies.ts'

export { GantryError } from '../subjects/kit/errors.ts'
export type { Call } from './call.ts'
export type { EndpointContract, Handler } from './endpoint.ts'
export type { Extension, ExtensionOptions } from './extension.ts'
export type { PlatformEvent } from './follow.ts'
export type { Metrics } from './metrics.ts'
export { openStorage, type Storage, type StoredChange } from './storage.ts'

/**
 * Connects a page as an extension, over WebSocket.
 * @throws GantryError UNAUTHENTICATED without a token, and what the NATS client throws when it cannot connect
 */
export async function connect({
  token,
  servers,
  ...about
}: ConnectOptions & Required<Pick<ConnectOptions, 'token' | 'servers'>>): Promise<Extension> {
  const { options } = connectionOptions(token)
  const connection = await wsconnect({ ...options, servers, name: about.prefix })
  return new Extension(secretly(connection), unguessable(), about)
}
