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
    summary: 'Register an instance of an extension, or replace its registration',
    description: `The key must be allowed to subscribe to all subjects of the prefix. The first key that registers a prefix makes its owner the owner of the prefix. Send a heartbeat every ${seconds(heartbeatEveryMs)} s.`,
    input: strict(registrationFields),
    output: strict({
      instance: InstanceId,
      heartbeatEveryMs: Type.Integer({ minimum: 1, description: 'Heartbeat interval in milliseconds' }),
      lostAfterMs: Type.Integer({
        minimum: 1,
        description: 'Milliseconds without a heartbeat after which the instance is lost',
      }),
      queue: Type.String({ maxLength: 60, description: 'Queue group that all instances subscribe with' }),
      endpoints: list(strict({ name: EndpointName, subject: SubjectPattern }), extensionLimits.endpoints),
    }),
    errors: ['NOT_ALLOWED_IN_STATE', 'IN_USE'],
    audit: { object: 'prefix' },
    http: [],
    brokerOnly: true,
  },
  heartbeat: {
    summary: 'Send a heartbeat of an instance',
    description: `Returns NOT_FOUND if the instance was removed, after ${seconds(lostAfterMs)} s without a heartbeat or a restart of the platform. Register it again in this case.`,
    input: strict({ prefix: Prefix, instance: InstanceId }),
    output: Nothing,
    errors: ['NOT_FOUND'],
    http: [],
    brokerOnly: true,
  },
  deregister: {
    summary: 'Remove an instance before it stops',
    input: strict({ prefix: Prefix, instance: InstanceId }),
    output: Nothing,
    errors: ['NOT_FOUND'],
    audit: { object: 'prefix' },
    http: [],
    brokerOnly: true,
  },
  list: {
    summary: 'List the extensions that you can see',
    input: strict(page),
    output: list(Extension),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/extensions/all' }],
    cli: { columns: ['prefix', 'name', 'version', 'owner', 'instances', 'since'] },
  },
  features: {
    summary: 'List menus, routes, widgets and endpoints of the extensions that you can see',
    input: strict({ ...page, prefix: Type.Optional(Prefix) }),
    output: list(Features),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/extensions/features' }],
    cli: { columns: ['prefix', 'name', 'version', 'menus', 'endpoints'] },
  },
  show: {
    summary: 'Show an extension with its instances and endpoints',
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
    summary: 'Get a page of an extension',
    input: strict({
      prefix: Prefix,
      uri: Type.String({ maxLength: 200, description: 'Address of the page, ui://…' }),
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
    summary: 'Show the log of an extension: connects, disconnects and denied actions',
    description: `Returns the last ${maxLogEntries} entries, oldest first, also of a disconnected extension.`,
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
    summary: 'Release a prefix and delete its stored data',
    description:
      'Allowed for administrators, and for keys of the owner that may subscribe to all subjects of the prefix. All instances must be stopped first.',
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
  description: 'Revision of the registration; a different value means that it may have changed',
})

/** What the edge asks on behalf of a caller, and what it tells of calls that failed. */
export const extensionsInternal = internalResource('extensions', {
  revision: {
    summary: 'Get the revision of an extension that the key can see',
    input: strict({ key: KeyId, prefix: Prefix }),
    output: strict({ revision: Revision }),
    errors: ['NOT_FOUND'],
    http: [],
  },
  visible: {
    summary: 'List the extensions that a key can see',
    input: strict({ ...page, key: KeyId }),
    output: list(strict({ prefix: Prefix, revision: Revision })),
    errors: [],
    http: [],
  },
  endpoints: {
    summary: 'List all endpoints of an extension, regardless of visibility',
    input: strict({ prefix: Prefix }),
    output: list(Endpoint, extensionLimits.endpoints),
    errors: ['NOT_FOUND'],
    http: [],
  },
  own: {
    summary: 'Check that a key belongs to the owner of an extension and could act as it',
    input: strict({ key: KeyId, prefix: Prefix }),
    output: Nothing,
    errors: ['NOT_FOUND'],
    http: [],
  },
  lost: {
    summary: 'List the extensions that were lost without deregistering',
    input: strict({}),
    output: list(
      strict({ prefix: Prefix, since: Timestamp('Time when the last instance was lost') }),
      maxLost,
    ),
    errors: [],
    http: [],
  },
  failed: {
    summary: 'Log a failed call of an endpoint',
    input: strict({ prefix: Prefix, name: EndpointName, problem: Text('Cause of the failure') }),
    output: Nothing,
    errors: [],
    http: [],
  },
})
