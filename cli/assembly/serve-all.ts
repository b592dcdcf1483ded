import type { NatsConnection } from '../../broker/rpc/connection.ts'
import { serve, type ServeOptions, type Service } from '../../broker/rpc/serve.ts'
import type { Served } from '../../services/kit/assembly.ts'
import { agentResources, internalResources, resources } from '../../subjects/index.ts'
import type { Handlers, Resource } from '../../subjects/kit/contract.ts'

/** The connection of each service. */
export type ServiceConnections = ReadonlyMap<Resource, NatsConnection>

/**
 * A connection for each service: what callers send to one of them arrives there alone, and can neither hold up nor cut off
 * the others, nor the connection on which the platform keeps its state.
 */
export async function connectServices(
  connect: (name: string) => Promise<NatsConnection>,
): Promise<ServiceConnections> {
  const all: readonly Resource[] = Object.values({ ...resources, ...internalResources, ...agentResources })
  return new Map(
    await Promise.all(
      all.map(
        async (contracts) => [contracts, await connect(Object.values(contracts)[0]!.resource)] as const,
      ),
    ),
  )
}

/** Answers the contracts of all parts; resolves when the broker knows that. */
export async function serveAll(
  connections: ServiceConnections,
  served: readonly Served[],
  serving: ServeOptions,
): Promise<Service[]> {
  const services = served.map(({ contracts, handlers, concurrency }) =>
    serve(
      connections.get(contracts)!,
      contracts,
      // `service` has checked that they are the handlers of these contracts.
      handlers as Handlers<Resource>,
      concurrency === undefined ? serving : { ...serving, concurrency },
    ),
  )
  await Promise.all(Array.from(connections.values(), (connection) => connection.flush()))
  return services
}
