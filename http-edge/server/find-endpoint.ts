import { call, type CallOptions } from '../../broker/rpc/client.ts'
import type { NatsConnection } from '../../broker/rpc/connection.ts'
import { GantryError, isGantryError } from '../../subjects/kit/errors.ts'
import { extensionsInternal } from '../../subjects/extensions/extensions.ts'
import { product } from '../../subjects/kit/names.ts'
import type { ExtensionRouteOptions } from '../extensions/extension-options.ts'
import { KnownExtension, KnownExtensions, type KnownEndpoint } from '../extensions/known-extensions.ts'

/** Finds an endpoint for a caller. @throws GantryError NOT_FOUND also for an extension that the caller does not see */
export type FindEndpoint = (
  connection: NatsConnection,
  prefix: string,
  name: string,
  about: CallOptions,
) => Promise<KnownEndpoint>

/**
 * Looks extensions up: whether a caller sees one is asked once for each connection, what it brings once for all, and both
 * again when it has changed.
 */
export function endpointFinder({
  keyIdOf,
  lookup,
  onChange,
}: Pick<ExtensionRouteOptions, 'keyIdOf' | 'lookup' | 'onChange'>): FindEndpoint {
  const known = new KnownExtensions()
  onChange((prefix) => known.changed(prefix))
  const asked = new Map<string, Promise<KnownExtension>>()
  const ask = (prefix: string, revision: string): Promise<KnownExtension> => {
    const id = `${prefix} ${revision}`
    const underWay = asked.get(id)
    if (underWay !== undefined) return underWay
    const answer = call(lookup, extensionsInternal.endpoints, { prefix })
      .then((endpoints) => new KnownExtension(prefix, revision, endpoints))
      .finally(() => asked.delete(id))
    asked.set(id, answer)
    return answer
  }
  const look = async (connection: NatsConnection, prefix: string, about: CallOptions) => {
    const key = keyIdOf(connection)
    if (key === undefined)
      throw new GantryError(
        'UNAUTHENTICATED',
        'calls to extensions require a token: send the header Authorization: Bearer <API token>',
      )
    const { changes } = known
    const { revision } = await call(lookup, extensionsInternal.revision, { key, prefix }, about).catch(
      asUnknown,
    )
    const extension = known.at(prefix, revision) ?? (await ask(prefix, revision))
    known.keep(connection, extension, changes)
    return extension
  }
  return async (connection, prefix, name, about) => {
    const extension = known.get(connection, prefix) ?? (await look(connection, prefix, about))
    const endpoint = extension.endpoint(name)
    if (endpoint !== undefined) return endpoint
    throw new GantryError(
      'NOT_FOUND',
      `${prefix} has no endpoint ${name}; see "${product} extensions show ${prefix}"`,
    )
  }
}

/** What is wrong with the form of a name means that there is none. */
function asUnknown(error: unknown): never {
  if (isGantryError(error, 'INVALID_INPUT'))
    throw new GantryError('NOT_FOUND', 'the extension does not exist')
  throw error
}
