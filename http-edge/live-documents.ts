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

/** Documents that are kept for their next readers: with a thousand extensions one takes some MB, and a second to make. */
const maxKept = 4

/** The documents with the endpoints of the extensions that the caller sees, as they are at the moment. */
export function addLiveDocuments(
  app: FastifyInstance,
  {
    authority,
    keyIdOf,
    lookup,
    onChange,
  }: Pick<ExtensionRouteOptions, 'authority' | 'keyIdOf' | 'lookup' | 'onChange'>,
  version: string,
): void {
  const documents = new Documents()
  onChange(() => documents.clear())
  const addDocument = (path: string, documentOf: (all: readonly Contract[]) => object) =>
    app.route({
      method: 'GET',
      url: path,
      onRequest: callerFirst(authority),
      handler: async (request, reply) => {
        const connection = await connectionOf(request, authority)
        const text = documents.of(connection, path, async () => {
          const key = keyIdOf(connection)
          const endpoints = key === undefined ? [] : await endpointsFor(lookup, key)
          return JSON.stringify(documentOf([...contracts, ...endpoints]))
        })
        return reply.type('application/json; charset=utf-8').send(await text)
      },
    })
  addDocument('/api/v1/openapi.json', (all) => openApiDocument('platform', all, { version }))
  addDocument('/api/v1/asyncapi.json', (all) => asyncApiDocument(all, eventContracts, { version }))
}

/** By connection, as a key that may see less has its connections dropped. */
class Documents {
  #kept: { readonly connection: NatsConnection; readonly path: string; readonly text: Promise<string> }[] = []

  of(connection: NatsConnection, path: string, make: () => Promise<string>): Promise<string> {
    const known = this.#kept.find((one) => one.connection === connection && one.path === path)
    const text = known?.text ?? make()
    const others = this.#kept.filter((one) => one !== known)
    this.#kept = [{ connection, path, text }, ...others].slice(0, maxKept)
    // Whoever comes next tries again.
    text.catch(() => (this.#kept = this.#kept.filter((one) => one.text !== text)))
    return text
  }

  clear(): void {
    this.#kept = []
  }
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
