import { connect as connectNats } from '@nats-io/transport-node'
import { tokenVariable } from '../subjects/kit/names.ts'
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
export type { ConnectOptions } from './options.ts'
export { openStorage, type Storage, type StoredChange } from './storage.ts'

/**
 * Connects a program as an extension, in Node.
 * @throws GantryError UNAUTHENTICATED without a token, and what the NATS client throws when it cannot connect
 */
export async function connect({ token, servers, ...about }: ConnectOptions): Promise<Extension> {
  const { location, options } = connectionOptions(token ?? process.env[tokenVariable])
  const connection = await connectNats({ ...options, servers: servers ?? location.nats, name: about.prefix })
  return new Extension(secretly(connection), unguessable(), about)
}
