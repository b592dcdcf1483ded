import { type Contract, defaultDeadlineMs, type EventContract } from '../kit/contract.ts'
import { contact, eventDescription, licenceWithAddress, requestDescription, tagOf, tagsOf } from './about.ts'
import { withModels } from './document.ts'
import { codesOf, errorOfCodes, ErrorSchema } from './error-schema.ts'
import { exampleInput, exampleOf, examplePayload } from './examples.ts'
import { type ErrorCode, isErrorCode } from '../kit/errors.ts'
import { type DocumentPart, IncrementalDocument, PartMaker } from './incremental-document.ts'
import { jsonSchema } from '../kit/json-schema.ts'
import { brokerPort, loopback, messageHeaders, serviceQueue, title, websocketPort } from '../kit/names.ts'

const asyncapi = '3.0.0'

const description = `Requests and events on the message broker, for any NATS client in any language.

Send the input as JSON to the subject of the request. The reply is either the output, or an error body with the headers ${messageHeaders.error} and ${messageHeaders.errorCode}. Three errors come from the broker without a reply: treat a permission violation as DENIED, no responders as UNAVAILABLE, and no reply before the deadline as TIMEOUT.

Events report changes; the last token of their subject is the id of the object. Events with \`now\` in the subject are sent to current subscribers only and are not stored.`

/** The AsyncAPI document: what the platform receives and replies to, and the events that it sends. */
export function asyncApiDocument(
  contracts: readonly Contract[],
  events: readonly EventContract[],
  { version }: { version: string },
): object {
  const security = [{ $ref: '#/components/securitySchemes/token' }]
  return withModels({
    asyncapi,
    info: {
      title,
      version,
      description,
      contact,
      license: licenceWithAddress,
      tags: tagsOf([...contracts, ...events]).map(tagRef),
    },
    defaultContentType: 'application/json',
    servers: {
      tcp: { host: `${loopback}:${brokerPort}`, protocol: 'nats', description: 'Default address', security },
      websocket: {
        host: `${loopback}:${websocketPort}`,
        protocol: 'ws',
        description: 'The same protocol over WebSocket, for browsers',
        security,
      },
    },
    channels: Object.fromEntries([...contracts.flatMap(channelsOf), ...events.map(eventChannel)]),
    operations: Object.fromEntries([...contracts.map(requestOperation), ...events.map(eventOperation)]),
    components: {
      tags: Object.fromEntries(tagsOf([...contracts, ...events]).map((tag) => [tag.name, tag])),
      messages: Object.fromEntries(
        contracts.map((contract) => [errorNameOf(contract), errorMessage(contract.errors)]),
      ),
      schemas: {
        Error: ErrorSchema,
        RequestHeaders: requestHeaders,
        ErrorHeaders: errorHeaders,
        EventHeaders: eventHeaders,
      },
      securitySchemes: {
        token: {
          type: 'apiKey',
          in: 'password',
          description: 'API token, sent as the `token` of the NATS connection',
        },
      },
    },
  })
}

/** The same, for extensions to add what `asyncApiPart` makes. */
export const growingAsyncApi = (
  contracts: readonly Contract[],
  events: readonly EventContract[],
  about: { version: string },
): IncrementalDocument =>
  new IncrementalDocument(
    asyncApiDocument(contracts, events, about),
    ['info.tags', 'channels', 'operations', 'components.tags'],
    {
      section: 'components.messages',
      valueOf: (name) => errorMessage(errorsNamed(name)),
    },
  )

/** What an extension adds to the document. It can be left for a while after each contract. */
export function* asyncApiPart(prefix: string, contracts: readonly Contract[]): Generator<void, DocumentPart> {
  const part = new PartMaker(prefix)
  if (contracts.length > 0) {
    const tag = tagOf(prefix)
    part.add('info.tags', [tagRef(tag)])
    part.add('components.tags', { [prefix]: tag })
  }
  for (const contract of contracts) {
    part.add('channels', Object.fromEntries(channelsOf(contract)))
    part.add('operations', Object.fromEntries([requestOperation(contract)]))
    part.share([errorNameOf(contract)])
    yield
  }
  return part.finish()
}

type Entry = [name: string, value: object]

const nameOf = ({ resource, verb }: Contract) => `${resource}.${verb}`
const replyNameOf = (contract: Contract) => `${nameOf(contract)}.reply`
/** A resource may have a verb and an event of the same name. */
const eventNameOf = ({ resource, event }: EventContract) => `events.${resource}.${event}`

const tagRef = ({ name }: { name: string }) => ({ $ref: `#/components/tags/${name}` })
const channelRef = (channel: string) => ({ $ref: `#/channels/${channel}` })
const messageRef = (channel: string, message: string) => ({
  $ref: `#/channels/${channel}/messages/${message}`,
})

const requestHeaders = {
  type: 'object',
  properties: {
    [messageHeaders.requestId]: {
      type: 'string',
      description: 'Request id, for finding the request in the log',
    },
  },
}

const errorHeaders = {
  type: 'object',
  required: [messageHeaders.error, messageHeaders.errorCode],
  properties: {
    [messageHeaders.error]: { type: 'string', description: 'The message of the body, on one line' },
    [messageHeaders.errorCode]: { type: 'string', description: 'HTTP status of the error code' },
  },
}

const eventHeaders = {
  type: 'object',
  required: [messageHeaders.event],
  properties: {
    [messageHeaders.event]: {
      type: 'string',
      description: 'Subject of the event; messages without this header are not events of the platform',
    },
  },
}

/** Contracts with the same errors share the message. */
const errorNameOf = ({ errors }: Contract) => ['Error', ...errors].join('.')

const errorsNamed = (name: string): ErrorCode[] => name.split('.').filter(isErrorCode)

const errorMessage = (errors: readonly ErrorCode[]): object => ({
  headers: { $ref: '#/components/schemas/ErrorHeaders' },
  payload: errorOfCodes(codesOf({ errors })),
})

function channelsOf(contract: Contract): Entry[] {
  const { subject, input, output } = contract
  const example = exampleOf(jsonSchema(input), exampleInput(contract))
  const request = {
    headers: { $ref: '#/components/schemas/RequestHeaders' },
    payload: input,
    ...(example === undefined ? {} : { examples: [{ payload: example }] }),
  }
  const error = { $ref: `#/components/messages/${errorNameOf(contract)}` }
  return [
    [nameOf(contract), { address: subject, messages: { request } }],
    [replyNameOf(contract), { messages: { output: { payload: output }, error } }],
  ]
}

function requestOperation(contract: Contract): Entry {
  const { resource, summary, deadlineMs = defaultDeadlineMs } = contract
  const [channel, reply] = [nameOf(contract), replyNameOf(contract)]
  return [
    channel,
    {
      action: 'receive',
      summary,
      description: requestDescription(contract),
      tags: [tagRef({ name: resource })],
      channel: channelRef(channel),
      messages: [messageRef(channel, 'request')],
      reply: {
        address: { location: '$message.header#/reply', description: 'Reply subject of the NATS message' },
        channel: channelRef(reply),
        messages: [messageRef(reply, 'output'), messageRef(reply, 'error')],
      },
      bindings: { nats: { queue: serviceQueue, bindingVersion: '0.1.0' } },
      'x-deadline-ms': deadlineMs,
    },
  ]
}

function eventChannel(event: EventContract): Entry {
  const parameters = { id: { description: 'Id of the object, as a subject token' } }
  const headers = { $ref: '#/components/schemas/EventHeaders' }
  const examples = [{ payload: examplePayload(event) }]
  const messages = { event: { headers, payload: event.payload, examples } }
  return [eventNameOf(event), { address: event.subject, parameters, messages }]
}

function eventOperation(event: EventContract): Entry {
  const channel = eventNameOf(event)
  return [
    channel,
    {
      action: 'send',
      summary: event.summary,
      description: eventDescription(event),
      tags: [tagRef({ name: event.resource })],
      channel: channelRef(channel),
      messages: [messageRef(channel, 'event')],
    },
  ]
}
