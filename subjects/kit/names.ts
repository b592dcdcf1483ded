/**
 * Every name that the specification leaves open, fixed once. Everything else that needs one of these imports it from here.
 */
export const product = 'gantry'
export const vendor = 'gantry'
export const title = 'Gantry'

/** Environment variable with an API token, read by the command line and by extensions. */
export const tokenVariable = 'GANTRY_TOKEN'
/** Environment variable that names the configuration folder. */
export const homeVariable = 'GANTRY_HOME'
/** Configuration folder when the variable is not set, relative to the working folder. */
export const defaultHome = '.gantry'

/** Commands that are no capability of the platform: `gantry <word>`. */
export const commandNames = [
  'up',
  'agent',
  'info',
  'doctor',
  'watch',
  'credential',
  'login',
  'logout',
  'completion',
  'complete',
  'hive',
  'copy',
  'apply',
  'export',
  'config',
  'help',
] as const

/** Files in the configuration folder. */
export const files = {
  config: `${product}.config`,
  messaging: 'messaging.config',
  /** The operator key's token for the command line, mode 600. */
  credentials: 'credentials',
  /** The development provider's port and the hashes of its passwords, mode 600. */
  developmentProvider: 'development-provider.json',
} as const

/** The HTTP servers, by name: default port, documentation page, the properties file and its keys of address and port. */
export const httpServers = {
  platform: {
    title: 'Gantry platform',
    port: 8080,
    docsPath: '/docs',
    propertiesFile: 'platform/application.properties',
    addressKey: 'server.address',
    portKey: 'server.port',
  },
  migrator: {
    title: 'Gantry migrator',
    port: 18080,
    docsPath: '/migrator-api.html',
    propertiesFile: 'migrator/application.properties',
    addressKey: 'server.address',
    portKey: 'server.port',
  },
  metadata: {
    title: 'Gantry metadata',
    port: 6780,
    docsPath: '/docs',
    propertiesFile: 'metadata/application.properties',
    addressKey: 'fastify.server.host',
    portKey: 'fastify.server.port',
  },
} as const
export type HttpServerName = keyof typeof httpServers

/** A value for each HTTP server. */
export const ofEachServer = <T>(value: (name: HttpServerName) => T): Record<HttpServerName, T> =>
  Object.fromEntries(
    (Object.keys(httpServers) as HttpServerName[]).map((name) => [name, value(name)]),
  ) as Record<HttpServerName, T>

/** Where the web interface is on the platform's server. */
export const uiPath = '/ui'
/** Cookie with the colours that somebody has chosen in the web interface, light or dark, for pages outside it. */
export const colorSchemeCookie = `${product}-color-scheme`
/** Where people begin to sign in with a browser. */
export const loginPath = '/login'
/** Where their browser ends its session. */
export const logoutPath = '/logout'
/** Where a page of the platform asks for its session's token, as the WebSocket takes no cookie. */
export const sessionPath = '/api/v1/session'

/** Everything listens here until the configuration says otherwise. */
export const loopback = '127.0.0.1'
/** Whether the host of a URL, or an address to listen on, is this host itself and nobody else reaches it. */
export const isLoopbackHost = (host: string): boolean =>
  /^(?:localhost|127(?:\.\d{1,3}){3}|\[?::1\]?)$/.test(host)

/** An address to listen on as clients on this host write it into a URL. */
export function hostInUrl(host: string): string {
  const name = host === '::' || host === '0.0.0.0' ? loopback : host
  return name.includes(':') ? `[${name}]` : name
}

/** Where the development provider listens when nobody uses it; else on a free port, which it keeps. */
export const developmentProviderPort = 8081

export const brokerPort = 4222
export const websocketPort = 9222

/** Name of the HTTP servers' own connections. */
export const edgeUser = 'edge'

/** All instances of a service share its requests by this queue group. */
export const serviceQueue = product

/** Headers of requests and replies: those of errors are the micro-service protocol's (NATS ADR-32), the id is ours. */
export const messageHeaders = {
  requestId: 'Gantry-Request-Id',
  clientAddress: 'Gantry-Client-Address',
  error: 'Nats-Service-Error',
  errorCode: 'Nats-Service-Error-Code',
  /** On every fact, with its subject: nothing else that arrives on a subject of facts has it. */
  event: 'Gantry-Event',
  /** On errors, and on answers whose content is a caller’s, with the subject that was asked: nobody has published it. */
  reply: 'Gantry-Reply',
} as const

/** Broker accounts (design, section 5). */
export const accounts = ['SYS', 'AUTH', 'PLATFORM', 'GANTRY', 'AGENTS'] as const
export type AccountName = (typeof accounts)[number]

/** Roots of the subject space. Services and events reach the users' account by import; the others stay inside PLATFORM. */
export const roots = {
  services: `${vendor}.services.v1`,
  /** Requests between services of the platform; no user's account imports them. */
  internal: `${vendor}.internal.v1`,
  /** Requests of transfer agents to the platform, the agent's key id next; inside PLATFORM. */
  agents: `${vendor}.agents.v1`,
  extensions: `${vendor}.extensions`,
  events: `${vendor}.events.v1`,
  work: `${vendor}.work.v1`,
  failures: `${vendor}.failures.v1`,
  usage: `${vendor}.usage.v1`,
  /** What others report of the changes in filesystems. */
  reported: `${vendor}.reported.v1`,
  audit: `${vendor}.audit.v1`,
  /** Subjects of the platform's own metrics: nothing is published there, permissions say who sees which. */
  metrics: `${vendor}.metrics.v1`,
} as const

/** Subject of a capability. */
export const serviceSubject = (resource: string, verb: string) => `${roots.services}.${resource}.${verb}`
/** Subject of a request of a transfer agent; its key id stands where nats-server can hold it to it. */
export const agentSubject = (keyId: string, verb: string) => `${roots.agents}.${keyId}.${verb}`
/** Subject of an event about one object; `id` must already be a subject token, see `subjectToken`. */
export const eventSubject = (resource: string, event: string, id: string) =>
  `${roots.events}.${resource}.${event}.${id}`

/** Subject of an ephemeral event: the stream that keeps the others does not hear it, whoever may hear the others does. */
export const ephemeralSubject = (resource: string, event: string, id: string) =>
  `${roots.events}.${resource}.now.${event}.${id}`

/**
 * An object's id as one subject token (also a valid key of a KV bucket): letters, digits, `-` and `_` stay,
 * every other byte of its UTF-8 form becomes `=XX`. Distinct ids give distinct tokens.
 */
export function subjectToken(id: string): string {
  let token = ''
  for (const char of id) {
    token += /[A-Za-z0-9_-]/.test(char) ? char : Array.from(bytesOf(char), hexOf).join('')
  }
  return token
}

/** The id of a token that `subjectToken` has made. */
export function idOfToken(token: string): string {
  if (!token.includes('=')) return token
  const bytes: number[] = []
  for (const [part] of token.matchAll(/=[0-9A-F]{2}|[^=]/g)) {
    bytes.push(part.length === 3 ? Number.parseInt(part.slice(1), 16) : part.charCodeAt(0))
  }
  return new TextDecoder().decode(Uint8Array.from(bytes))
}

/** The UTF-8 form; half of a surrogate pair, which JSON can carry, has none and is made as if it were a character. */
function bytesOf(char: string): Iterable<number> {
  if (char.isWellFormed()) return new TextEncoder().encode(char)
  const code = char.charCodeAt(0)
  return [0xe0 | (code >> 12), 0x80 | ((code >> 6) & 0x3f), 0x80 | (code & 0x3f)]
}

const hexOf = (byte: number) => `=${byte.toString(16).toUpperCase().padStart(2, '0')}`

/** First token of all subjects on which replies are wanted. */
export const inboxRoot = '_INBOX'
/** What every key may publish to, so that it can answer whoever asks it. */
export const everyInbox = `${inboxRoot}.>`
/** Whether a message may be answered: its reply is wanted in an inbox, and not on a subject that others listen to. */
export const isInbox = (reply: string | undefined): boolean => reply?.startsWith(`${inboxRoot}.`) === true
/** The private reply space of a key: the only inbox that its connections may subscribe to. */
export const inboxPrefix = (keyId: string) => `${inboxRoot}.${keyId}`
