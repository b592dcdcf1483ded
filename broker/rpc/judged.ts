import { AuthorizationError } from '@nats-io/transport-node'
import { authTimeoutSeconds } from '../server/configuration.ts'

/**
 * Whether a refusal to connect was none of ours: the callout refuses in milliseconds, and the server in its place when
 * it has waited in vain.
 */
export const wasNotJudged = (error: unknown, elapsedMs: number): boolean =>
  error instanceof AuthorizationError && elapsedMs > authTimeoutSeconds * 900
