import { type Static, Type } from 'typebox'
import { type ErrorCode, errors } from '../kit/errors.ts'
import { form } from '../kit/forms.ts'
import { KeyId } from '../access/keys.ts'
import {
  Count,
  list,
  model,
  oneLine,
  strict,
  Subject,
  SubjectPattern,
  Text,
  Timestamp,
} from '../kit/schemas.ts'

/** Longest prefix, name of an endpoint, or id of an instance: each is a token of a subject and a word to type. */
const maxTokenLength = 63

const Token = (description: string) =>
  Type.String({
    minLength: 1,
    maxLength: maxTokenLength,
    ...form('^[A-Za-z][A-Za-z0-9_-]*$', 'a letter followed by letters, digits, - and _'),
    description,
  })

/** What an extension is known by; upper and lower case are different. */
export const Prefix = Token('Prefix of the extension')
export const EndpointName = Token('Endpoint name')
export const InstanceId = Type.String({
  minLength: 1,
  maxLength: maxTokenLength,
  ...form('^[A-Za-z0-9_-]+$', 'letters, digits, - and _'),
  description: 'Instance id',
})

/** How much one extension may bring: what people can look through, and what fits into one message with all the rest. */
export const extensionLimits = {
  endpoints: 100,
  menus: 50,
  routes: 100,
  widgets: 50,
  resources: 50,
  resourceBytes: 262_144,
  /** Processes that share the calls of one prefix. */
  instances: 100,
  /** Prefixes of one owner, so that nobody takes all good names. */
  prefixesOfOwner: 200,
} as const

/** A handler answers within this time when its endpoint does not say otherwise. */
export const defaultLimitMs = 5_000
/** The edge keeps a connection for a call that long. */
const maxLimitMs = 30_000

/** How an extension says that it lives, and when it is believed to be gone. */
export const heartbeatEveryMs = 10_000
/** Three heartbeats may be lost. */
export const lostAfterMs = 30_000

/** Codes that an endpoint may declare: not what only the platform can say of a caller. */
const declarable = (Object.keys(errors) as ErrorCode[]).filter(
  (code) => code !== 'UNAUTHENTICATED' && code !== 'THROTTLED',
)

/** `subjects/extensions/schemas.ts` says what it may hold: a schema of schemas would say less, and worse. */
export const JsonSchemaDocument = Type.Record(Type.String({ pattern: '^[$\\w-]{1,40}$' }), Type.Unknown(), {
  title: 'JsonSchema',
  maxProperties: 40,
  additionalProperties: false,
  description: 'JSON Schema (2020-12) without $ref',
})

const Line = (maxLength: number, description: string) =>
  Type.String({
    minLength: 1,
    maxLength,
    ...oneLine,
    description,
  })

/** A part of a path that a browser neither drops nor takes for the name of a host. */
const segment = '(?!\\.{1,2}(?:/|$))[\\w.-]+'

const ResourceUri = Type.String({
  maxLength: 200,
  ...form(`^ui:/(?:/${segment})+$`, 'an address such as ui://weather/home'),
  description: 'Address of a page, ui://…',
})

/** What an extension registers for one call that it answers. */
export const Endpoint = model('Endpoint', {
  name: EndpointName,
  summary: Line(200, 'One-line summary'),
  description: Type.Optional(Text('Detailed description')),
  subject: Type.Optional(SubjectPattern),
  method: Type.Optional(
    Type.Enum(['GET', 'POST'], {
      description:
        'HTTP method in the REST documentation: POST (default), or GET for an endpoint that changes nothing',
    }),
  ),
  input: Type.Optional(JsonSchemaDocument),
  output: Type.Optional(JsonSchemaDocument),
  errors: Type.Optional(list(Type.Enum(declarable), declarable.length)),
  limitMs: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: maxLimitMs,
      description: `Timeout for the caller in milliseconds; default ${defaultLimitMs}`,
    }),
  ),
})
export type Endpoint = Static<typeof Endpoint>

const Order = Type.Optional(
  Type.Integer({ minimum: -1_000, maximum: 1_000, description: 'Sort position; default 0' }),
)
const Icon = Type.Optional(Type.String({ maxLength: 60, description: 'Icon name' }))
const Path = Type.String({
  maxLength: 200,
  ...form(`^/(?:${segment}(?:/${segment})*/?)?$`, 'a path such as /weather, without empty segments, . or ..'),
  description: 'Path below the pages of the extension',
})

const Menu = model('ExtensionMenu', {
  label: Line(60, 'Menu text'),
  icon: Icon,
  order: Order,
  route: Path,
})
const Route = model('ExtensionRoute', { path: Path, title: Line(100, 'Page title'), uri: ResourceUri })
const Widget = model('ExtensionWidget', {
  name: Token('Widget name'),
  title: Line(100, 'Widget title'),
  uri: ResourceUri,
  order: Order,
})
const mediaType = Type.Enum(['text/html', 'text/markdown'], { description: 'Media type of the page' })
const Resource = model('ExtensionResource', {
  uri: ResourceUri,
  mediaType,
  content: Type.String({ maxLength: extensionLimits.resourceBytes, description: 'Page content' }),
})

const looks = {
  menus: list(Menu, extensionLimits.menus),
  routes: list(Route, extensionLimits.routes),
  widgets: list(Widget, extensionLimits.widgets),
}

const about = {
  name: Line(100, 'Display name'),
  version: Line(60, 'Version of the extension'),
  description: Type.Optional(Text('Purpose of the extension')),
}

/** What a program says of itself to become an extension. */
export const registrationFields = {
  prefix: Prefix,
  ...about,
  instance: Type.Optional(InstanceId),
  outlivesConnection: Type.Optional(
    Type.Boolean({
      description:
        'The instance stays registered after its connection closes, as long as heartbeats arrive; default: false',
    }),
  ),
  menus: Type.Optional(looks.menus),
  routes: Type.Optional(looks.routes),
  widgets: Type.Optional(looks.widgets),
  resources: Type.Optional(list(Resource, extensionLimits.resources)),
  endpoints: Type.Optional(list(Endpoint, extensionLimits.endpoints)),
}
const Registration = strict(registrationFields)
export type Registration = Static<typeof Registration>

/** An extension in a list. */
export const Extension = model('Extension', {
  prefix: Prefix,
  ...about,
  owner: Subject('Owner of the extension'),
  instances: Count('Number of running instances'),
  since: Timestamp('Time when the oldest instance registered'),
})

/** What it brings. */
export const Features = model('ExtensionFeatures', {
  prefix: Prefix,
  ...about,
  ...looks,
  resources: list(strict({ uri: ResourceUri, mediaType }), extensionLimits.resources),
  endpoints: list(Endpoint, extensionLimits.endpoints),
})
export type Features = Static<typeof Features>

export const Instance = model('ExtensionInstance', {
  id: InstanceId,
  version: about.version,
  key: KeyId,
  registered: Timestamp('Registration time'),
  seen: Timestamp('Time of the last heartbeat'),
})

export const LogEntry = model('ExtensionLogEntry', {
  time: Timestamp('Time of the entry'),
  level: Type.Enum(['info', 'warn', 'error']),
  message: Text('Log message'),
  instance: Type.Optional(InstanceId),
  count: Type.Optional(Count('Number of occurrences within a second (1 if absent)')),
})
export type LogEntry = Static<typeof LogEntry>

/** Older ones go: what is not looked at soon, nobody looks for. */
export const maxLogEntries = 200
