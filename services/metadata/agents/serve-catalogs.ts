import { setTimeout as delay } from 'node:timers/promises'
import type { Log } from '../../../broker/common/log.ts'
import { pauseAfter, retry } from '../../../broker/common/retry.ts'
import { createSealedBox } from '../../../broker/common/sealed-box.ts'
import { version } from '../../../broker/common/version.ts'
import { call } from '../../../broker/rpc/client.ts'
import type { NatsConnection } from '../../../broker/rpc/connection.ts'
import { isGantryError } from '../../../subjects/kit/errors.ts'
import { asAgent, type Contract, type Input, type Output } from '../../../subjects/kit/contract.ts'
import { catalogProtocol, catalogWaitMs, catalogWork } from '../../../subjects/metadata/catalog-work.ts'
import { allow, createBounds, type OwnFolder, type StoreBounds } from '../../drivers/contract/bounds.ts'
import { storeError } from '../../drivers/contract/store-error.ts'
import { shareOf } from '../../drivers/index.ts'
import type { SentQuestion } from '../catalogs/remote/asking.ts'
import { perform, sentFailure } from '../catalogs/remote/perform.ts'
import { goneAfterMs, piecesOf } from './catalog-agents.ts'
import { OpenCatalogs } from './open-catalogs.ts'

export interface CatalogServingOptions {
  /** Folders of this host that documents may be in. */
  readonly shares: readonly string[]
  readonly ownFolders: readonly OwnFolder[]
  readonly log: Log
}

interface Serving extends CatalogServingOptions {
  readonly connection: NatsConnection
  /** Key of the connection. */
  readonly keyId: string
}

/** Serves the catalogs that this host reaches to the platform, until the signal aborts or the connection is closed. Never rejects. */
export async function serveCatalogs(options: Serving, signal: AbortSignal): Promise<void> {
  await new CatalogServer(options).run(signal)
}

/** How long an agent that ends may take for its answers; then the platform asks again. */
const drainMs = 20_000

class CatalogServer {
  readonly #options: Serving
  readonly #instance = crypto.randomUUID()
  readonly #box = createSealedBox()
  readonly #bounds: StoreBounds
  readonly #roots: string[]
  readonly #catalogs: OpenCatalogs
  /** Aborts when nobody can be answered any more. */
  readonly #closed = new AbortController()
  /** What is being answered, by id. */
  readonly #answering = new Map<string, Promise<void>>()

  constructor(options: Serving) {
    this.#options = options
    this.#roots = options.shares.map(shareOf)
    this.#bounds = createBounds(options.ownFolders, { roots: this.#roots, hosts: [] })
    this.#catalogs = new OpenCatalogs(this.#bounds)
  }

  async run(signal: AbortSignal): Promise<void> {
    const { connection, log } = this.#options
    for (let attempt = 1; !signal.aborted && !connection.isClosed(); attempt++) {
      try {
        const askedMs = Date.now()
        const asking = this.#ask(catalogWork['catalog-next'], {
          instance: this.#instance,
          protocol: catalogProtocol,
          version,
          publicKey: this.#box.publicKey,
          holding: [...this.#answering.keys()],
        })
        const answer = await unlessAborted(asking, signal)
        if (answer === undefined) break
        const { questions, publicKey, problem } = answer
        if (problem !== undefined) log.warn({ problem }, 'The platform does not ask this agent for catalogs.')
        else attempt = 0
        for (const question of questions) this.#begin(question, publicKey, askedMs)
      } catch (error) {
        if (signal.aborted) break
        log.warn(
          { err: error },
          'The platform does not answer about catalogs: it is not ready, or older than this agent; retrying.',
        )
      }
      if (attempt > 0) await pauseAfter(attempt, signal)
    }
    await Promise.race([Promise.all(this.#answering.values()), delay(drainMs, undefined, { ref: false })])
    this.#closed.abort(new Error('the agent has ended'))
    this.#catalogs.close()
  }

  #begin(
    { id, pieces, first }: Output<(typeof catalogWork)['catalog-next']>['questions'][number],
    publicKey: string,
    askedMs: number,
  ): void {
    const answering = this.#sealed(id, pieces, first)
      .then((sealed) => this.#answer(id, this.#box.open(sealed, publicKey), askedMs))
      // The platform hears that it is not held any more with the next question.
      .catch((err: unknown) =>
        this.#options.log.warn({ err }, 'The platform could not be answered about a catalog.'),
      )
      .finally(() => this.#answering.delete(id))
    this.#answering.set(id, answering)
  }

  async #sealed(id: string, pieces: number, first: string): Promise<string> {
    const found = [first]
    for (let index = 1; index < pieces; index++)
      found.push(
        (await this.#askOn(catalogWork['catalog-piece'], { instance: this.#instance, id, index })).piece,
      )
    return found.join('')
  }

  /** @param askedMs when the request was sent that brought the question, by the clock of the host: others stand still with it */
  async #answer(id: string, bytes: Uint8Array, askedMs: number): Promise<void> {
    // This host was paused, and another agent may have been asked meanwhile: what is done now would be too late.
    if (Date.now() - askedMs > catalogWaitMs + goneAfterMs) return
    // Only the platform can seal for this process.
    const { spec, operation, args, allowed } = JSON.parse(Buffer.from(bytes).toString()) as SentQuestion
    allow(this.#bounds, {
      roots: this.#roots,
      hosts: allowed.hosts,
      hostCredentials: allowed.hostCredentials,
    })
    const answer = await this.#catalogs
      .use(spec, (catalog) => perform(catalog, operation, args, this.#closed.signal))
      .then((value) => piecesOf(JSON.stringify({ value })))
      .catch((error: unknown) => {
        const { failure, detail } = storeError(error)
        this.#options.log.debug({ err: error, operation, failure, detail }, 'A catalog could not be asked.')
        return piecesOf(JSON.stringify({ error: sentFailure(error) }))
      })
    for (const [index, piece] of answer.entries())
      await this.#askOn(catalogWork['catalog-answer'], {
        instance: this.#instance,
        id,
        index,
        isLast: index === answer.length - 1,
        piece,
      })
  }

  /** Asks until there is an answer, as far as waiting helps. */
  #askOn<C extends Contract>(contract: C, input: Input<C>): Promise<Output<C>> {
    const mayPass = (error: unknown) =>
      isGantryError(error) && error.retryable && !this.#options.connection.isClosed()
    return retry(() => this.#ask(contract, input), { mayPass, signal: this.#closed.signal })
  }

  #ask<C extends Contract>(contract: C, input: Input<C>): Promise<Output<C>> {
    const { connection, keyId } = this.#options
    return call(connection, asAgent(contract, keyId), input)
  }
}

/** What the work resolves to; undefined once the signal aborts. Nothing of either is left at the signal. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>()
  const stop = () => resolve(undefined)
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  try {
    return await Promise.race([work, promise])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}
