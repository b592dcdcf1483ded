import { Type } from 'typebox'
import { internalResource, resource } from '../kit/contract.ts'
import {
  Endpoint,
  EndpointName,
  Extension,
  Features,
  heartbeatEveryMs,
  Instance,
  InstanceId,
  LogEntry,
  lostAfterMs,
  extensionLimits,
  maxLogEntries,
  Prefix,
  registrationFields,
} from './model.ts'
import { KeyId } from '../access/keys.ts'
import { list, model, Nothing, page, strict, SubjectPattern, Text, Timestamp } from '../kit/schemas.ts'

const seconds = (ms: number) => ms / 1000

/** What programs ask that are extensions: over the broker alone, as what counts is the connection on which they ask. */
export const extensions = resource('extensions', {
  register: {
    summary: 'Become an instance of an extension, or replace what it registered before',
    description: `The key must be allowed to subscribe to all subjects of the prefix, which belongs to the owner of the first key that registers it. Send a heartbeat every ${seconds(heartbeatEveryMs)} s.`,
    input: strict(registrationFields),
    output: strict({
      instance: InstanceId,
      heartbeatEveryMs: Type.Integer({ minimum: 1, description: 'How often to send a heartbeat' }),
      lostAfterMs: Type.Integer({ minimum: 1, description: 'Without one for so long the instance is lost' }),
      queue: Type.String({ maxLength: 60, description: 'Queue group that all instances subscribe with' }),
      endpoints: list(strict({ name: EndpointName, subject: SubjectPattern }), extensionLimits.endpoints),
    }),
    errors: ['NOT_ALLOWED_IN_STATE', 'IN_USE'],
    audit: { object: 'prefix' },
    http: [],
    brokerOnly: true,
  },
  heartbeat: {
    summary: 'Say that an instance lives',
    description: `NOT_FOUND: it is not known any more, after ${seconds(lostAfterMs)} s of silence or a restart of the platform; register again.`,
    input: strict({ prefix: Prefix, instance: InstanceId }),
    output: Nothing,
    errors: ['NOT_FOUND'],
    http: [],
    brokerOnly: true,
  },
  deregister: {
    summary: 'Take an instance away, before it stops',
    input: strict({ prefix: Prefix, instance: InstanceId }),
    output: Nothing,
    errors: ['NOT_FOUND'],
    audit: { object: 'prefix' },
    http: [],
    brokerOnly: true,
  },
  list: {
    summary: 'The extensions that you see',
    input: strict(page),
    output: list(Extension),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/extensions/all' }],
    cli: { columns: ['prefix', 'name', 'version', 'owner', 'instances', 'since'] },
  },
  features: {
    summary: 'What the extensions that you see bring: menus, routes, widgets, endpoints',
    input: strict({ ...page, prefix: Type.Optional(Prefix) }),
    output: list(Features),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/extensions/features' }],
    cli: { columns: ['prefix', 'name', 'version', 'menus', 'endpoints'] },
  },
  show: {
    summary: 'An extension, its instances and endpoints',
    input: strict({ prefix: Prefix }),
    output: model('ExtensionDetails', {
      ...Extension.properties,
      instances: list(Instance, extensionLimits.instances),
      endpoints: list(Endpoint, extensionLimits.endpoints),
    }),
    errors: ['NOT_FOUND'],
    http: [{ method: 'GET', path: '/api/v1/extensions/{prefix}' }],
    cli: { args: ['prefix'], example: 'gantry extensions show weather' },
  },
  resource: {
    summary: 'A page of an extension',
    input: strict({
      prefix: Prefix,
      uri: Type.String({ maxLength: 200, description: 'Its address, ui://…' }),
    }),
    output: strict({
      uri: Type.String({ maxLength: 200 }),
      mediaType: Type.String({ maxLength: 40 }),
      content: Type.String({ maxLength: extensionLimits.resourceBytes }),
    }),
    errors: ['NOT_FOUND'],
    http: [{ method: 'GET', path: '/api/v1/extension-resources/{prefix}' }],
    cli: { args: ['prefix', 'uri'] },
  },
  logs: {
    summary: 'What happened to an extension: its comings and goings, and what it was not allowed to do',
    description: `The last ${maxLogEntries} entries, oldest first; also of one that is not there at the moment.`,
    input: strict({ prefix: Prefix }),
    output: list(LogEntry, maxLogEntries),
    errors: ['NOT_FOUND'],
    http: [{ method: 'GET', path: '/api/v1/extension-logs/{prefix}' }],
    cli: {
      args: ['prefix'],
      columns: ['time', 'level', 'message', 'instance', 'count'],
      example: 'gantry extensions logs weather',
    },
  },
  release: {
    summary: 'Give up a prefix, with all that is stored for it',
    description:
      'For keys of its owner that may subscribe to all its subjects, and for administrators, while no instance of it is there.',
    input: strict({ prefix: Prefix }),
    output: Nothing,
    errors: ['NOT_FOUND', 'IN_USE'],
    audit: { object: 'prefix' },
    http: [{ method: 'DELETE', path: '/api/v1/extensions/{prefix}' }],
    cli: { args: ['prefix'], example: 'gantry extensions release weather' },
  },
})

/** More at once is one fault, not so many. */
export const maxLost = 1_000

const Revision = Type.String({
  maxLength: 200,
  description: 'Another one when what it registered may have changed',
})

/** What the edge asks on behalf of a caller, and what it tells of calls that failed. */
export const extensionsInternal = internalResource('extensions', {
  revision: {
    summary: 'The revision of an extension, if the key sees it',
    input: strict({ key: KeyId, prefix: Prefix }),
    output: strict({ revision: Revision }),
    errors: ['NOT_FOUND'],
    http: [],
  },
  visible: {
    summary: 'The extensions that a key sees',
    input: strict({ ...page, key: KeyId }),
    output: list(strict({ prefix: Prefix, revision: Revision })),
    errors: [],
    http: [],
  },
  endpoints: {
    summary: 'All endpoints of an extension, whoever sees it',
    input: strict({ prefix: Prefix }),
    output: list(Endpoint, extensionLimits.endpoints),
    errors: ['NOT_FOUND'],
    http: [],
  },
  own: {
    summary: 'Nothing, if a key could be this extension and is of its owner; else why not',
    input: strict({ key: KeyId, prefix: Prefix }),
    output: Nothing,
    errors: ['NOT_FOUND'],
    http: [],
  },
  lost: {
    summary: 'The extensions that are gone without a goodbye',
    input: strict({}),
    output: list(strict({ prefix: Prefix, since: Timestamp('When its last instance was lost') }), maxLost),
    errors: [],
    http: [],
  },
  failed: {
    summary: 'Note what went wrong with a call of an endpoint',
    input: strict({ prefix: Prefix, name: EndpointName, problem: Text('What went wrong') }),
    output: Nothing,
    errors: [],
    http: [],
  },
})
