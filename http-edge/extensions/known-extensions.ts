import { LRUCache } from 'lru-cache'
import type { Contract, HttpRoute } from '../../subjects/kit/contract.ts'
import { endpointContract, fitsWithin } from '../../subjects/extensions/contract.ts'
import type { Endpoint } from '../../subjects/extensions/model.ts'
import { inputReader } from '../platform/input.ts'

/** Some 20,000 endpoints with small schemas, or 5,000 with a page each, which as objects take five times that. */
const defaultMaxBytes = 33_554_432

/** What an endpoint takes beside its schemas. */
const endpointBytes = 1_000

/** What it takes to know that a connection sees an extension. */
const viewerBytes = 40

/** What is asked of an endpoint, and how its input is read, without and with a body. */
export interface KnownEndpoint {
  readonly contract: Contract
  readonly fromQuery: ReturnType<typeof inputReader>
  readonly fromBody: ReturnType<typeof inputReader>
}

/** What an extension has registered; what it takes to call one of its endpoints is made with the first call. */
export class KnownExtension {
  readonly prefix: string
  readonly revision: string
  /** Connections that see it. */
  readonly viewers = new WeakSet<object>()
  bytes: number
  readonly #endpoints: ReadonlyMap<string, Endpoint>
  readonly #called = new Map<string, KnownEndpoint>()

  constructor(prefix: string, revision: string, endpoints: readonly Endpoint[]) {
    this.prefix = prefix
    this.revision = revision
    this.bytes = JSON.stringify(endpoints).length + endpoints.length * endpointBytes
    this.#endpoints = new Map(endpoints.map((endpoint) => [endpoint.name, endpoint]))
  }

  endpoint(name: string): KnownEndpoint | undefined {
    const called = this.#called.get(name)
    if (called !== undefined) return called
    const endpoint = this.#endpoints.get(name)
    if (endpoint === undefined) return undefined
    const known = knownOf(endpointContract(this.prefix, endpoint))
    this.#called.set(name, known)
    return known
  }
}

/**
 * Extensions that were called, and which connections see them, until those change. A connection that may see less is
 * dropped, so what it has seen it sees.
 */
export class KnownExtensions {
  readonly #extensions: LRUCache<string, KnownExtension>
  /** How often an extension was forgotten that has changed. */
  changes = 0

  constructor(maxBytes = defaultMaxBytes) {
    this.#extensions = new LRUCache({ maxSize: maxBytes, sizeCalculation: ({ bytes }) => bytes })
  }

  /** One that the connection is known to see. */
  get(connection: object, prefix: string): KnownExtension | undefined {
    const extension = this.#extensions.peek(prefix)
    if (extension === undefined || !extension.viewers.has(connection)) return undefined
    return this.#extensions.get(prefix)
  }

  /** One that somebody is known to see. */
  at(prefix: string, revision: string): KnownExtension | undefined {
    const extension = this.#extensions.peek(prefix)
    return extension?.revision === revision ? extension : undefined
  }

  /**
   * Keeps that the connection sees an extension.
   * @param since the changes when it was looked up: what was said before the last one may not be so any more, and is not
   *   kept
   */
  keep(connection: object, extension: KnownExtension, since: number): void {
    const { prefix } = extension
    if (since !== this.changes) return
    if (!extension.viewers.has(connection)) {
      extension.viewers.add(connection)
      extension.bytes += viewerBytes
    }
    // What a value takes is counted when it comes, not when it is set once more.
    this.#extensions.delete(prefix)
    this.#extensions.set(prefix, extension)
  }

  /** The extension has come, changed or gone. */
  changed(prefix: string): void {
    this.changes += 1
    this.#extensions.delete(prefix)
  }
}

function knownOf(contract: Contract): KnownEndpoint {
  const [route] = contract.http as [HttpRoute]
  return {
    contract,
    fromQuery: inputReader(contract, { ...route, method: 'GET' }, fitsWithin),
    fromBody: inputReader(contract, { ...route, method: 'POST' }, fitsWithin),
  }
}
