import type { FastifyRequest } from 'fastify'
import type { NatsConnection } from '../../broker/rpc/connection.ts'
import { type FloodGuard, measuredBytes, throttled } from '../../broker/limits/flood-guard.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Length of the body as it came; 0 before it is there. */
    bodyBytes: number
  }
}

/** Does work with the body of a request, for which its caller pays. @throws GantryError THROTTLED */
export type Charged = <T>(request: FastifyRequest, work: () => T) => T

/**
 * Charges the keys of callers for what their bodies take here: many never get to a service, which would charge for them.
 * @param keyIdOf the key of a caller's connection; those who have none send little
 */
export const charging =
  (
    floods: Pick<FloodGuard, 'owes' | 'spent'>,
    keyIdOf: (connection: NatsConnection) => string | undefined,
  ): Charged =>
  (request, work) => {
    const { caller, bodyBytes } = request
    const keyId = caller === null || bodyBytes < measuredBytes ? undefined : keyIdOf(caller)
    if (keyId === undefined) return work()
    if (floods.owes(keyId)) throw throttled()
    const before = process.threadCpuUsage()
    try {
      return work()
    } finally {
      const { user, system } = process.threadCpuUsage(before)
      floods.spent(keyId, (user + system) / 1_000)
    }
  }
