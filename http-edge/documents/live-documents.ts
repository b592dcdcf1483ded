import { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { call } from '../../broker/rpc/client.ts'
import type { NatsConnection } from '../../broker/rpc/connection.ts'
import { asyncApiPart, growingAsyncApi } from '../../subjects/documents/asyncapi.ts'
import type { Contract } from '../../subjects/kit/contract.ts'
import { isGantryError } from '../../subjects/kit/errors.ts'
import { endpointContract } from '../../subjects/extensions/contract.ts'
import { extensionsInternal } from '../../subjects/extensions/extensions.ts'
import type { DocumentPart, IncrementalDocument } from '../../subjects/documents/incremental-document.ts'
import { contracts, eventContracts } from '../../subjects/index.ts'
import { growingOpenApi, openApiPart } from '../../subjects/documents/openapi.ts'
import { DocumentParts, type Registered } from './document-parts.ts'
import type { ExtensionRouteOptions } from '../extensions/extension-options.ts'
import { callerFirst, connectionOf } from '../server/server.ts'
import { TimeSlicer } from '../server/time-slicer.ts'

/** Where a caller finds the operations of the extensions that it sees, too. */
export const liveOpenApiPath = '/api/v1/openapi.json'

/** Extensions asked for at once: what is said of so many is read in a millisecond. */
const pageLength = 250

/** Texts are sent in pieces of at least this length, one in each turn of the event loop: some tenths of a millisecond. */
const minPieceBytes = 262_144

type MakePart = (prefix: string, contracts: readonly Contract[]) => Generator<void, DocumentPart>

/** The documents with the endpoints of the extensions that the caller sees, as they are at the moment. */
export function addLiveDocuments(
  app: FastifyInstance,
  {
    authority,
    keyIdOf,
    lookup,
    version,
  }: Pick<ExtensionRouteOptions, 'authority' | 'keyIdOf' | 'lookup'> & { readonly version: string },
): void {
  const timeSlicer = new TimeSlicer()
  const addDocument = (path: string, document: IncrementalDocument, makePart: MakePart) => {
    const parts = new DocumentParts(async (prefix) => {
      const endpoints = await endpointsOf(lookup, prefix)
      return endpoints && timeSlicer.run(makePart(prefix, endpoints))
    })
    app.route({
      method: 'GET',
      url: path,
      onRequest: callerFirst(authority),
      handler: async (request, reply) => {
        const key = keyIdOf(await connectionOf(request, authority))
        const seen = key === undefined ? [] : await visibleTo(lookup, key)
        const text = Readable.from(pieces(document.with(await parts.of(seen))), { objectMode: false })
        return reply.type('application/json; charset=utf-8').send(text)
      },
    })
  }
  addDocument(liveOpenApiPath, growingOpenApi(contracts, { version }), openApiPart)
  addDocument('/api/v1/asyncapi.json', growingAsyncApi(contracts, eventContracts, { version }), asyncApiPart)
}

async function visibleTo(lookup: NatsConnection, key: string): Promise<Registered[]> {
  const found: Registered[] = []
  let after: string | undefined
  for (;;) {
    const page = await call(lookup, extensionsInternal.visible, {
      key,
      limit: pageLength,
      ...(after === undefined ? {} : { after }),
    })
    found.push(...page)
    if (page.length < pageLength) return found
    after = page.at(-1)!.prefix
  }
}

/** Undefined when the extension is gone. */
async function endpointsOf(lookup: NatsConnection, prefix: string): Promise<Contract[] | undefined> {
  try {
    const endpoints = await call(lookup, extensionsInternal.endpoints, { prefix })
    return endpoints.map((endpoint) => endpointContract(prefix, endpoint))
  } catch (error) {
    if (isGantryError(error, 'NOT_FOUND')) return undefined
    throw error
  }
}

async function* pieces(texts: Iterable<Uint8Array>): AsyncGenerator<Buffer> {
  let some: Uint8Array[] = []
  let length = 0
  for (const text of texts) {
    some.push(text)
    length += text.byteLength
    if (length < minPieceBytes) continue
    yield Buffer.concat(some, length)
    some = []
    length = 0
    await nextTurn()
  }
  yield Buffer.concat(some, length)
}
