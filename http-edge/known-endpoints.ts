import type { NatsConnection } from '../broker/connection.ts'
import type { Contract, HttpRoute } from '../subjects/contract.ts'
import { endpointContract } from '../subjects/extension-contract.ts'
import type { Endpoint } from '../subjects/extension-model.ts'
import { inputReader } from './input.ts'

/** Some 20,000 endpoints with small schemas, or 5,000 with a page each, which as objects take five times that. */
const defaultMaxBytes = 33_554_432

/** What an endpoint takes beside its schemas. */
const endpointBytes = 1_000

/** What it takes to know that a connection sees an extension. */
const viewerBytes = 40

/** An endpoint that was called before: its contract, and how its input is read, without and with a body. */
export interface KnownEndpoint {
  readonly contract: Contract
  readonly fromQuery: ReturnType<typeof inputReader>
  readonly fromBody: ReturnType<typeof inputReader>
}

/** An endpoint as it was looked up. */
export interface FoundEndpoint {
  readonly endpoint: Endpoint
  readonly revision: string
}

interface KnownExtension {
  readonly revision: string
  readonly endpoints: Map<string, KnownEndpoint>
  readonly viewers: WeakSet<NatsConnection>
  bytes: number
}

/**
 * Endpoints that were called, and which connections see their extensions, until those change. A connection that may see
 * less is dropped, so what it has seen it sees.
 */
export class KnownEndpoints {
  readonly #maxBytes: number
  /** In order of use: the first one was used longest ago. */
  readonly #extensions = new Map<string, KnownExtension>()
  #bytes = 0
  /** How often an extension was forgotten that has changed. */
  changes = 0

  constructor(maxBytes = defaultMaxBytes) {
    this.#maxBytes = maxBytes
  }

  get(connection: NatsConnection, prefix: string, name: string): KnownEndpoint | undefined {
    const extension = this.#extensions.get(prefix)
    if (extension === undefined || !extension.viewers.has(connection)) return undefined
    this.#extensions.delete(prefix)
    this.#extensions.set(prefix, extension)
    return extension.endpoints.get(name)
  }

  /**
   * @param since the changes when it was looked up: what was said before the last one may not be so any more, and is not
   *   kept
   */
  keep(connection: NatsConnection, prefix: string, found: FoundEndpoint, since: number): KnownEndpoint {
    const { endpoint, revision } = found
    if (since !== this.changes) return knownOf(prefix, endpoint)
    const extension = this.#extensionOf(prefix, revision)
    let known = extension.endpoints.get(endpoint.name)
    if (known === undefined) {
      known = knownOf(prefix, endpoint)
      extension.endpoints.set(endpoint.name, known)
      this.#grow(extension, endpointBytes + JSON.stringify(endpoint).length)
    }
    if (!extension.viewers.has(connection)) {
      extension.viewers.add(connection)
      this.#grow(extension, viewerBytes)
    }
    for (const oldest of this.#extensions.keys()) {
      if (this.#bytes <= this.#maxBytes) break
      this.#forget(oldest)
    }
    return known
  }

  /** The extension has come, changed or gone. */
  changed(prefix: string): void {
    this.changes += 1
    this.#forget(prefix)
  }

  #extensionOf(prefix: string, revision: string): KnownExtension {
    const known = this.#extensions.get(prefix)
    if (known?.revision === revision) return known
    this.#forget(prefix)
    const extension = { revision, endpoints: new Map(), viewers: new WeakSet<NatsConnection>(), bytes: 0 }
    this.#extensions.set(prefix, extension)
    return extension
  }

  #grow(extension: KnownExtension, bytes: number): void {
    extension.bytes += bytes
    this.#bytes += bytes
  }

  #forget(prefix: string): void {
    this.#bytes -= this.#extensions.get(prefix)?.bytes ?? 0
    this.#extensions.delete(prefix)
  }
}

function knownOf(prefix: string, endpoint: Endpoint): KnownEndpoint {
  const contract = endpointContract(prefix, endpoint)
  const [route] = contract.http as [HttpRoute]
  return {
    contract,
    fromQuery: inputReader(contract, { ...route, method: 'GET' }),
    fromBody: inputReader(contract, { ...route, method: 'POST' }),
  }
}
