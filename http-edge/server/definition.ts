import type { FastifyContextConfig, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Violation } from '../../broker/callout/violations.ts'
import type { Log } from '../../broker/common/log.ts'
import type { FloodGuard } from '../../broker/limits/flood-guard.ts'
import type { AddressMarks } from '../../broker/messages/client-address.ts'
import type { BeginSpan } from '../../broker/messages/tracing.ts'
import type { NatsConnection } from '../../broker/rpc/connection.ts'
import type { MetadataAccess } from '../../config/metadata-access.ts'
import type { Contract, HttpRoute } from '../../subjects/kit/contract.ts'
import type { Part } from '../../subjects/kit/download.ts'
import type { GantryError } from '../../subjects/kit/errors.ts'
import type { HttpServerName } from '../../subjects/kit/names.ts'
import type { MetricRegistry } from '../../subjects/observability/metric-registry.ts'
import type { Authority } from '../callers/authority.ts'
import type { BrowserSessions } from '../callers/browser-sessions.ts'
import type { Charged } from '../callers/charging.ts'
import type { OnRefusal } from '../callers/guard.ts'
import type { ConnectionPool } from '../callers/pool.ts'
import type { MetricsAccess } from '../platform/properties.ts'
import type { ConfiguredPort } from '../../config/ports.ts'
import type { BrokerPulse } from './pulse.ts'

export interface EdgeOptions {
  readonly listen: Readonly<Record<HttpServerName, ConfiguredPort>>
  /** Broker address for pooled connections. */
  readonly brokerUrl: string
  /** Makes the broker believe what the edge says of its clients. */
  readonly marks: AddressMarks
  /** Connection of the edge's own narrow key. */
  readonly edgeConnection: NatsConnection
  /** Where passwords and JSON Web Tokens are checked. */
  readonly credentialConnection: NatsConnection
  /** Whether the migrator has access control. */
  readonly migratorAsksWho: boolean
  /** Who reaches what of the metadata service. */
  readonly metadataAccess: MetadataAccess
  /** Names of the roles of a key. */
  readonly rolesOf: (keyId: string) => Promise<readonly string[]>
  /** Where endpoints of extensions are looked up. */
  readonly lookupConnection: NatsConnection
  /** Has a listener called whenever what a lookup says of an extension may have changed. */
  readonly onExtensionsChange: (listener: (prefix: string) => void) => void
  /** Who may read the metrics. */
  readonly metricsAccess: MetricsAccess
  /** Whether programs on this host act without a token; in a container, its loopback is reached by more than its programs. */
  readonly trustsThisHost: boolean
  /** The token with which the migrator serves programs on its own host. */
  readonly operatorToken: () => string
  /** Where browsers reach the platform's server. */
  readonly publicUrl: string
  /** Where they reach the broker. */
  readonly websocketUrl: string
  /** Folder with the web interface as it was built; undefined where there is none. */
  readonly uiFolder: string | undefined
  /** Whether a token was made by this platform, whatever has become of its key. */
  readonly isSealed: (token: string) => boolean
  /** Where keys are charged for what their bodies take here. */
  readonly floods: Pick<FloodGuard, 'owes' | 'spent'>
  /** Whose a key is, and how many connections its owner may have. */
  readonly limitsOf: (
    keyId: string,
  ) => Promise<{ readonly owner: string; readonly maxConnections: number } | undefined>
  /** Hears of everybody whom the edge turns away by itself. */
  readonly onRefusal: OnRefusal
  /** Hears of calls that the broker does not let a key make. */
  readonly onViolation: (violation: Violation) => void
  readonly version: string
  readonly metrics: MetricRegistry
  readonly beginSpan: BeginSpan
  readonly log: Log
}

/** What all servers of the edge share. */
export interface Edge extends EdgeOptions {
  readonly pool: ConnectionPool
  readonly sessions: BrowserSessions
  /** Whether the broker answers. */
  readonly pulse: BrokerPulse
  readonly charged: Charged
  /** The key of a caller's connection. */
  readonly keyIdOf: (connection: NatsConnection) => string | undefined
  /** Hears of a call that the broker did not let a connection make, and from which address it came. */
  readonly onDenied: (connection: NatsConnection, subject: string, address: string) => void
}

/** One way to call a contract over HTTP. */
export interface Route extends Pick<HttpRoute, 'method' | 'path' | 'status' | 'public'> {
  readonly calls: Contract
  /** What the server knows of the route, for its own use. */
  readonly config?: FastifyContextConfig
  /** Input of the call. @throws GantryError INVALID_INPUT */
  readonly read: (request: FastifyRequest) => object
  /** Of several contracts on one route, with the same reply: the one that an input is for, and its own input. */
  readonly choose?: (input: Readonly<Record<string, unknown>>) => {
    readonly calls: Contract
    readonly input: object
  }
  /** Of a request that is about several objects: its calls, one after the other, and the body of what came of all. */
  readonly each?: {
    /** @throws GantryError INVALID_INPUT */
    readonly inputs: (input: Readonly<Record<string, unknown>>) => readonly object[]
    /** @throws GantryError when not all was done */
    readonly write: (outcomes: readonly CallOutcome[]) => string
  }
  /** Has to be done on the caller's connection before the input is read; nothing for nearly all requests. */
  readonly before?: (request: FastifyRequest, connection: NatsConnection) => Promise<void> | undefined
  /** Body of the reply, of that of the contract, which is passed on as it is by default. */
  readonly write?: (reply: Uint8Array, request: FastifyRequest) => string
  /** Whether callers may keep the reply and ask whether it has changed: one that is translated, or a download in one part. */
  readonly conditional?: true
  /** The same for a contract with `download`: what becomes of its text on the way. */
  readonly download?: (first: Part, request: FastifyRequest) => Download
}

/** What came of one call of several. */
export interface CallOutcome {
  readonly input: object
  /** Of the contract. */
  readonly reply?: unknown
  readonly error?: GantryError
}

/** A text as it is sent: under another name, or in another form. */
export interface Download extends Pick<Part, 'name' | 'type'> {
  readonly through?: NodeJS.ReadWriteStream
}

/** How a server reads requests and writes replies. */
export interface Codec {
  readonly addBodyParsers: (app: FastifyInstance, charged: Charged) => void
  readonly routes: () => readonly Route[]
}

/** How a server tells of errors. */
export interface ErrorFormat {
  /** @param request undefined for what never became one */
  readonly render: (
    error: GantryError,
    requestId: string,
    request?: FastifyRequest,
  ) => { readonly status: number; readonly text: string }
  /** What a path is told that no route has. */
  readonly unknownPath: (method: string, path: string) => GantryError
}

/** An HTTP server, in which it differs from the others. Its port, title and pages are in `httpServers`. */
export interface ServerDefinition {
  readonly name: HttpServerName
  /** Says for each request on whose connection it goes on. */
  readonly authority: (edge: Edge) => Authority
  /** Decides on every request before anything else does, on those for pages too. @throws GantryError when it is refused */
  readonly admit?: (edge: Edge, authority: Authority) => (request: FastifyRequest) => Promise<void>
  /** For routes with an authority of their own, by path. */
  readonly ownAuthorities?: (edge: Edge) => ReadonlyMap<string, Authority>
  /** What a refused caller is asked for (WWW-Authenticate). */
  readonly challenges: (edge: Edge) => string[]
  readonly codec: Codec
  readonly errors: ErrorFormat
  /** Documents that anybody may read, by path; each is made once. */
  readonly documents: Readonly<Record<string, (about: { version: string }) => object>>
  /** Where callers find the OpenAPI document with the extensions that they see. */
  readonly openApiForCallers?: string
  /** Adds to the head of every answer. */
  readonly addHeaders?: (request: FastifyRequest, reply: FastifyReply) => void
  /** What there is beside the routes of contracts. */
  readonly addPages?: (app: FastifyInstance, edge: Edge, authority: Authority) => void | Promise<void>
}
