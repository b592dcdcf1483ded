import {
  type Msg,
  type NatsConnection,
  PermissionViolationError,
  type Subscription,
} from '@nats-io/nats-core'
import type { TSchema } from 'typebox'
import { isGantryError } from '../subjects/kit/errors.ts'
import { endpointContract } from '../subjects/extensions/contract.ts'
import { type Endpoint, heartbeatEveryMs, type Registration } from '../subjects/extensions/model.ts'
import { extensions } from '../subjects/extensions/extensions.ts'
import { isInbox, serviceQueue } from '../subjects/kit/names.ts'
import { unguessable } from '../subjects/kit/unguessable.ts'
import { usage } from '../subjects/observability/usage.ts'
import { answerOf, call, request } from '../client/call.ts'
import { deniedBy } from '../client/errors.ts'
import { answer, type EndpointContract, type Handler, type OnError } from './endpoint.ts'
import { follow, type PlatformEvent } from './follow.ts'
import { MetricReporter, type Metrics } from './metrics.ts'

type Declared = Omit<Registration, 'instance' | 'menus' | 'routes' | 'widgets' | 'resources' | 'endpoints'>
type Item<K extends 'menus' | 'routes' | 'widgets' | 'resources'> = NonNullable<Registration[K]>[number]

/** What an extension says of itself; `name` is its prefix by default. */
export interface ExtensionOptions extends Omit<Declared, 'name'> {
  readonly name?: string
  /** Hears of failures that no caller is told of; by default they go to the console. */
  readonly onError?: OnError
}

/** How long to wait before a registration is tried again that could not be made. */
const retryMs = 1_000

// oxlint-disable-next-line no-console -- where an author looks who has not said otherwise
const toConsole: OnError = (error, where) => console.error(`${where}:`, error)

/**
 * An extension on a connection. What is declared in one go is registered together; `ready` resolves when the platform has
 * it. It sends heartbeats, and registers again by itself when the connection was lost or the platform has forgotten it.
 */
export class Extension {
  readonly connection: NatsConnection
  readonly prefix: string
  readonly #declared: Declared
  readonly #onError: OnError
  readonly #reporter: MetricReporter
  readonly #menus: Item<'menus'>[] = []
  readonly #routes: Item<'routes'>[] = []
  readonly #widgets: Item<'widgets'>[] = []
  readonly #resources: Item<'resources'>[] = []
  readonly #endpoints: Endpoint[] = []
  readonly #subscriptions: Subscription[] = []
  readonly #inFlight = new Set<Promise<void>>()
  #violations: PermissionViolationError[] = []
  readonly #instance: string
  readonly #heart: ReturnType<typeof setInterval>
  #registering: Promise<unknown> | undefined
  /** Why the last registration was refused. */
  #refusal: { readonly error: unknown } | undefined
  #retry: ReturnType<typeof setTimeout> | undefined
  #isStopped = false

  constructor(
    connection: NatsConnection,
    instance: string,
    { onError = toConsole, ...about }: ExtensionOptions,
  ) {
    this.connection = connection
    this.prefix = about.prefix
    this.#declared = { ...about, name: about.name ?? about.prefix }
    this.#instance = instance
    this.#onError = onError
    this.#reporter = new MetricReporter(connection, about.prefix, onError)
    this.#heart = setInterval(() => void this.#beat(), heartbeatEveryMs)
    this.#register()
    this.#follow().catch((error: unknown) => onError(error, this.prefix))
  }

  /** What it measures; reported with each heartbeat, and when it stops. */
  get metrics(): Metrics {
    return this.#reporter.metrics
  }

  menu(menu: Item<'menus'>): this {
    return this.#declare(this.#menus, menu)
  }

  /** A page: its content is a resource. */
  route(route: Item<'routes'>): this {
    return this.#declare(this.#routes, route)
  }

  widget(widget: Item<'widgets'>): this {
    return this.#declare(this.#widgets, widget)
  }

  resource(resource: Item<'resources'>): this {
    return this.#declare(this.#resources, resource)
  }

  /** Answers calls of an endpoint. The handler ends each with `call.respond()` or `call.error()`. */
  endpoint<I extends TSchema, O extends TSchema>(
    declared: EndpointContract<I, O>,
    handler: Handler<I, O>,
  ): this {
    // A schema is data; what the types know of it stays here.
    const endpoint = JSON.parse(JSON.stringify(declared)) as Endpoint
    const contract = endpointContract(this.prefix, endpoint)
    const take = (message: Msg): void => {
      // Somebody could have the answer delivered to a subject that only an extension may write to.
      if (!isInbox(message.reply)) return
      const work = answer(
        this.connection,
        message,
        contract,
        handler as Handler<TSchema, TSchema>,
        this.#onError,
      )
        .catch((error: unknown) => this.#onError(error, contract.subject))
        .finally(() => this.#inFlight.delete(work))
      this.#inFlight.add(work)
    }
    this.#subscriptions.push(
      this.connection.subscribe(contract.subject, {
        queue: serviceQueue,
        callback: (error, message) =>
          error === null ? take(message) : this.#onError(error, contract.subject),
      }),
    )
    return this.#declare(this.#endpoints, endpoint)
  }

  /** Resolves when the platform has all that was declared so far. @throws GantryError when it refuses */
  async ready(): Promise<void> {
    while (this.#registering !== undefined) await this.#registering
    if (this.#refusal !== undefined) throw this.#refusal.error
  }

  /** Publishes; resolves when the broker has it. @throws GantryError DENIED when the key may not */
  async publish(subject: string, data: unknown): Promise<void> {
    this.#takeViolation(subject)
    this.connection.publish(subject, JSON.stringify(data))
    await this.connection.flush()
    // The refusal is sent before the answer to the flush, and told a moment later.
    await new Promise((resolve) => setTimeout(resolve))
    const violation = this.#takeViolation(subject)
    if (violation !== undefined) throw deniedBy(violation)
  }

  /**
   * Records what was done for somebody; resolves when it is stored.
   * @param owner who has used it; default: the owner of the extension
   * @param id names the record, so that it counts once however often it is sent within an hour @throws GantryError
   */
  async recordUsage(
    dimension: string,
    quantity: number,
    { owner, id = unguessable() }: { owner?: string; id?: string } = {},
  ): Promise<void> {
    const record = { prefix: this.prefix, id, dimension, quantity, ...(owner === undefined ? {} : { owner }) }
    await call(this.connection, usage.record, record)
  }

  /** Asks the platform or another extension. @throws GantryError */
  async request(subject: string, input: unknown, timeoutMs?: number): Promise<unknown> {
    return answerOf(await request(this.connection, subject, JSON.stringify(input), { timeoutMs }), subject)
  }

  /**
   * Follows events, such as those of `gantry.events.v1.migrations.>`. The loop over them throws DENIED when the key may not
   * subscribe to the subject.
   */
  follow(
    subject: string,
    { signal }: { readonly signal?: AbortSignal } = {},
  ): Promise<AsyncGenerator<PlatformEvent>> {
    return follow(this.connection, subject, signal)
  }

  /** Says goodbye, answers what is under way, and closes the connection. */
  async stop(): Promise<void> {
    if (this.#isStopped) return
    this.#isStopped = true
    clearInterval(this.#heart)
    clearTimeout(this.#retry)
    await this.ready().catch(() => undefined)
    if (this.connection.isClosed()) return
    await this.#reporter.report()
    const { prefix } = this
    await call(this.connection, extensions.deregister, { prefix, instance: this.#instance }).catch(
      () => undefined,
    )
    await Promise.all(this.#subscriptions.map((subscription) => subscription.drain()))
    await Promise.all(this.#inFlight)
    await this.connection.drain()
  }

  #declare<T>(list: T[], item: T): this {
    list.push(item)
    this.#register()
    return this
  }

  /** Registers all that is declared by the time that it is sent. */
  #register(): void {
    if (this.#registering !== undefined || this.#isStopped) return
    clearTimeout(this.#retry)
    const registering: Promise<unknown> = Promise.resolve()
      .then(() => this.connection.flush())
      .then(() => this.#send())
      .then(() => (this.#refusal = undefined))
      .finally(() => (this.#registering = undefined))
    this.#registering = registering
    registering.catch((error: unknown) => {
      this.#refusal = { error }
      this.#onError(error, this.prefix)
      const isForNow = !isGantryError(error) || error.retryable
      if (isForNow && !this.#isStopped) this.#retry = setTimeout(() => this.#register(), retryMs)
    })
  }

  /** What is declared while a registration is under way needs another one. */
  async #send(): Promise<void> {
    for (;;) {
      const registration = this.#registration()
      await call(this.connection, extensions.register, registration)
      if (JSON.stringify(registration) === JSON.stringify(this.#registration())) return
    }
  }

  #registration(): Registration {
    return {
      ...this.#declared,
      instance: this.#instance,
      menus: [...this.#menus],
      routes: [...this.#routes],
      widgets: [...this.#widgets],
      resources: [...this.#resources],
      endpoints: [...this.#endpoints],
    }
  }

  async #beat(): Promise<void> {
    try {
      await call(this.connection, extensions.heartbeat, { prefix: this.prefix, instance: this.#instance })
    } catch (error) {
      if (isGantryError(error, 'NOT_FOUND')) this.#register()
    }
    await this.#reporter.report()
  }

  async #follow(): Promise<void> {
    for await (const status of this.connection.status()) {
      if (status.type === 'reconnect') this.#register()
      if (status.type === 'error') this.#keep(status.error)
    }
  }

  /** What the broker has said of a subject that was published to, since it was asked for. */
  #takeViolation(subject: string): PermissionViolationError | undefined {
    const isMeant = (one: PermissionViolationError) => one.subject === subject && one.operation === 'publish'
    const found = this.#violations.find(isMeant)
    this.#violations = this.#violations.filter((one) => !isMeant(one))
    return found
  }

  #keep(error: Error): void {
    if (!(error instanceof PermissionViolationError)) return
    this.#violations.push(error)
    if (this.#violations.length > maxViolations) this.#violations.shift()
  }
}

/** Refusals that nobody has asked for yet. */
const maxViolations = 100
