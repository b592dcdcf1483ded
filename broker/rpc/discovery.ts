import type { Msg, NatsConnection, Subscription } from '@nats-io/transport-node'
import type { Contract } from '../../subjects/kit/contract.ts'
import type { GantryError } from '../../subjects/kit/errors.ts'
import type { MetricRegistry } from '../../subjects/observability/metric-registry.ts'
import { latencyMetrics } from '../../subjects/observability/own-metrics.ts'
import { serviceQueue } from '../../subjects/kit/names.ts'
import type { FloodGuard } from '../limits/flood-guard.ts'

/** What is measured of a service, of all its endpoints together. */
export function serviceMeters(registry: MetricRegistry, resource: string) {
  const labels = { resource }
  return {
    requests: registry.counter('nats.service.requests.total', { help: 'Service requests', labels }),
    errors: registry.counter('nats.service.errors.total', {
      help: 'Service requests that returned an error',
      labels,
    }),
    latency: registry.histogram(latencyMetrics.services, {
      help: 'Time from the arrival of a request at a service to its reply, in seconds',
      labels,
    }),
  }
}
type ServiceMeters = ReturnType<typeof serviceMeters>

/** What an instance of a service says of itself on `$SRV.PING|INFO|STATS`, NATS ADR-32. Times are nanoseconds. */
export class EndpointStats {
  readonly contract: Contract
  readonly #meters: ServiceMeters | undefined
  #requests = 0
  #errors = 0
  #lastError = ''
  #processingNs = 0

  constructor(contract: Contract, meters?: ServiceMeters) {
    this.contract = contract
    this.#meters = meters
  }

  /** Counts one answered request. @param startedMs of `performance.now()` */
  count(startedMs: number, error?: GantryError): void {
    const elapsedMs = performance.now() - startedMs
    this.#requests += 1
    this.#processingNs += Math.round(elapsedMs * 1e6)
    this.#meters?.requests.add()
    this.#meters?.latency.observe(elapsedMs / 1_000)
    if (error === undefined) return
    this.#errors += 1
    this.#meters?.errors.add()
    this.#lastError = `${error.status}:${error.code}`
  }

  stats() {
    return {
      ...endpointInfo(this.contract),
      num_requests: this.#requests,
      num_errors: this.#errors,
      last_error: this.#lastError,
      processing_time: this.#processingNs,
      average_processing_time: this.#requests === 0 ? 0 : Math.round(this.#processingNs / this.#requests),
    }
  }
}

export const endpointInfo = ({ verb, subject, summary }: Contract) => ({
  name: verb,
  subject,
  queue_group: serviceQueue,
  metadata: { summary },
})

/** What names an instance of a service. */
interface Named {
  readonly name: string
  readonly id: string
  readonly version: string
}

const identityOf = ({ name, id, version }: Named) => ({ name, id, version, metadata: {} })

export const pingReply = (instance: Named) => ({
  type: 'io.nats.micro.v1.ping_response',
  ...identityOf(instance),
})

export const infoReply = (
  instance: Named,
  description: string,
  endpoints: readonly ReturnType<typeof endpointInfo>[],
) => ({ type: 'io.nats.micro.v1.info_response', ...identityOf(instance), description, endpoints })

/** An instance of a service, with what it has done. */
export interface Instance extends Named {
  readonly endpoints: readonly EndpointStats[]
  readonly started: string
}

const repliesOf = {
  PING: (instance: Instance) => pingReply(instance),
  INFO: (instance: Instance) =>
    infoReply(
      instance,
      instance.endpoints[0]?.contract.resource ?? instance.name,
      instance.endpoints.map(({ contract }) => endpointInfo(contract)),
    ),
  STATS: (instance: Instance) => ({
    type: 'io.nats.micro.v1.stats_response',
    ...identityOf(instance),
    started: instance.started,
    endpoints: instance.endpoints.map((endpoint) => endpoint.stats()),
  }),
}

type Kind = keyof typeof repliesOf
const kinds = Object.keys(repliesOf) as Kind[]

/**
 * Answers discovery requests for all services of a process. They share the subscriptions to the subjects without a name, so
 * that a request for all reaches the process once, however many services there are.
 */
export class Announcer {
  readonly #connection: NatsConnection
  readonly #floods: Pick<FloodGuard, 'judge'> | undefined
  readonly #instances = new Set<Instance>()
  readonly #forAll: Subscription[]

  constructor(connection: NatsConnection, floods?: Pick<FloodGuard, 'judge'>) {
    this.#connection = connection
    this.#floods = floods
    this.#forAll = kinds.map((kind) => this.#subscribe(`$SRV.${kind}`, kind, this.#instances))
  }

  #subscribe(subject: string, kind: Kind, instances: ReadonlySet<Instance>): Subscription {
    return this.#connection.subscribe(subject, {
      callback: (error: Error | null, message: Msg) => {
        if (error !== null || (this.#floods?.judge(message, instances.size) ?? 'answer') !== 'answer') return
        for (const instance of instances) message.respond(JSON.stringify(repliesOf[kind](instance)))
      },
    })
  }

  /** @returns what takes it away again */
  add(instance: Instance): () => Promise<void> {
    const { name, id } = instance
    this.#instances.add(instance)
    const named = kinds.flatMap((kind) =>
      [`$SRV.${kind}.${name}`, `$SRV.${kind}.${name}.${id}`].map((subject) =>
        this.#subscribe(subject, kind, new Set([instance])),
      ),
    )
    return async () => {
      this.#instances.delete(instance)
      await drained(this.#connection, named)
    }
  }

  async stop(): Promise<void> {
    await drained(this.#connection, this.#forAll)
  }
}

async function drained(connection: NatsConnection, subscriptions: readonly Subscription[]): Promise<void> {
  if (!connection.isClosed()) await Promise.all(subscriptions.map((subscription) => subscription.drain()))
}
