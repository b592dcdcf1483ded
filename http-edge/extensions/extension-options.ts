import type { NatsConnection } from '../../broker/rpc/connection.ts'
import type { Log } from '../../broker/common/log.ts'
import type { BeginSpan } from '../../broker/messages/tracing.ts'
import type { Authority } from '../callers/authority.ts'
import type { Charged } from '../callers/charging.ts'

/** What the routes of extensions, and the documents of them, are given. */
export interface ExtensionRouteOptions {
  readonly authority: Authority
  /** The key of a caller's connection. */
  readonly keyIdOf: (connection: NatsConnection) => string | undefined
  readonly charged: Charged
  /** Where extensions are looked up; it may ask nothing else. */
  readonly lookup: NatsConnection
  /** Has a listener called whenever what a lookup says of an extension may have changed. */
  readonly onChange: (listener: (prefix: string) => void) => void
  /** Hears of a call that the broker did not let a connection make. */
  readonly onDenied: (connection: NatsConnection, subject: string, address: string) => void
  readonly beginSpan: BeginSpan
  readonly log: Log
}
