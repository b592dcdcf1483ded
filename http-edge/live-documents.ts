import type { FastifyInstance } from 'fastify'
import { call } from '../broker/client.ts'
import type { NatsConnection } from '../broker/connection.ts'
import { asyncApiDocument } from '../subjects/asyncapi.ts'
import type { Contract } from '../subjects/contract.ts'
import { endpointContract } from '../subjects/extension-contract.ts'
import { extensionsInternal } from '../subjects/extensions.ts'
import { contracts, eventContracts } from '../subjects/index.ts'
import { openApiDocument } from '../subjects/openapi.ts'
import type { ExtensionRouteOptions } from './extensions.ts'
import { callerFirst, connectionOf } from './server.ts'

/** Extensions asked for at once: with their schemas they fit into a message. */
const pageLength = 20

/** The documents with the endpoints of the extensions that the caller sees, as they are at the moment. */
export function addLiveDocuments(
  app: FastifyInstance,
  { authority, keyIdOf, lookup }: Pick<ExtensionRouteOptions, 'authority' | 'keyIdOf' | 'lookup'>,
  version: string,
): void {
  const addDocument = (path: string, documentOf: (all: readonly Contract[]) => object) =>
    app.route({
      method: 'GET',
      url: path,
      onRequest: callerFirst(authority),
      handler: async (request) => {
        const key = keyIdOf(await connectionOf(request, authority))
        const endpoints = key === undefined ? [] : await endpointsFor(lookup, key)
        return documentOf([...contracts, ...endpoints])
      },
    })
  addDocument('/api/v1/openapi.json', (all) => openApiDocument('platform', all, { version }))
  addDocument('/api/v1/asyncapi.json', (all) => asyncApiDocument(all, eventContracts, { version }))
}

async function endpointsFor(lookup: NatsConnection, key: string): Promise<Contract[]> {
  const found: Contract[] = []
  let after: string | undefined
  for (;;) {
    const page = await call(lookup, extensionsInternal.visible, {
      key,
      limit: pageLength,
      ...(after === undefined ? {} : { after }),
    })
    for (const { prefix, endpoints } of page)
      found.push(...endpoints.map((endpoint) => endpointContract(prefix, endpoint)))
    if (page.length < pageLength) return found
    after = page.at(-1)!.prefix
  }
}
