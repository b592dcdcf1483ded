import type { Msg, NatsConnection, Subscription } from '@nats-io/transport-node'
import type { Contract } from '../subjects/contract.ts'
import type { GantryError } from '../subjects/errors.ts'
import type { MetricRegistry } from '../subjects/metric-registry.ts'
import { serviceQueue } from '../subjects/names.ts'

/** What is measured of a service, of all its endpoints together. */
export function serviceMeters(registry: MetricRegistry, resource: string) {
  const labels = { resource }
  return {
    requests: registry.counter('nats.service.requests.total', { help: 'Requests to services', labels }),
    errors: registry.counter('nats.service.errors.total', {
      help: 'Requests to services that were answered with an error',
      labels,
    }),
    latency: registry.histogram('nats.service.latency', {
      help: 'From a request’s arrival at a service to its answer, s',
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

interface Instance extends Named {
  readonly endpoints: readonly EndpointStats[]
}

/** Answers discovery requests for all services, for this name, and for this instance. */
export function announce(connection: NatsConnection, instance: Instance): Subscription[] {
  const { name, id, endpoints } = instance
  const started = new Date().toISOString()
  const replies = {
    PING: () => pingReply(instance),
    INFO: () =>
      infoReply(
        instance,
        endpoints[0]?.contract.resource ?? name,
        endpoints.map(({ contract }) => endpointInfo(contract)),
      ),
    STATS: () => ({
      type: 'io.nats.micro.v1.stats_response',
      ...identityOf(instance),
      started,
      endpoints: endpoints.map((endpoint) => endpoint.stats()),
    }),
  }
  return Object.entries(replies).flatMap(([kind, reply]) =>
    [`$SRV.${kind}`, `$SRV.${kind}.${name}`, `$SRV.${kind}.${name}.${id}`].map((subject) =>
      connection.subscribe(subject, {
        callback: (error: Error | null, message: Msg) => {
          if (error === null) message.respond(JSON.stringify(reply()))
        },
      }),
    ),
  )
}
