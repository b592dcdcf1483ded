import { type Static, Type } from 'typebox'
import { resource } from '../kit/contract.ts'
import { ExpiresInDays, KeyWithToken } from '../access/keys.ts'
import {
  Count,
  list,
  maxPathLength,
  model,
  Name,
  Nothing,
  OneOf,
  page,
  strict,
  Text,
  Timestamp,
} from '../kit/schemas.ts'

/** Who moves the files of a migration. */
const movers = {
  ALL: 'the server, and every agent that reaches both stores',
  SERVER: 'the server alone',
  AGENTS: 'agents alone',
} as const
export type Movers = keyof typeof movers

/** The field of a migration, and of what holds for all that do not say. */
const about = 'What moves the files; live migrations are always moved by the server'
export const movedBy = OneOf(movers, { about })

/** The field of a new migration. */
export const movedByOrSetting = OneOf(movers, { about, usual: 'that of the agent settings' })

/** More folders than anybody lists by hand. */
const maxShares = 50
export const Shares = list(
  Type.String({ minLength: 1, maxLength: maxPathLength, description: 'Absolute path of a folder' }),
  maxShares,
)

/** As the existing product calls them. */
export const agentStatuses = ['CONNECTED', 'DISCONNECTED', 'NOT_VALID'] as const

/** What an agent is and does, as it says itself. */
export const AgentReport = {
  name: Name('Name of the agent'),
  host: Type.String({ maxLength: 255, description: 'Name of the host' }),
  version: Type.String({ maxLength: 40, description: 'Release of the agent' }),
  shares: Shares,
  threads: Type.Integer({ minimum: 1, maximum: 1_024, description: 'Number of worker threads' }),
  limitBytesPerSecond: Type.Optional(
    Count('Bandwidth limit that the agent was started with; absent: no limit. See also `bandwidth`'),
  ),
}

export const Agent = model('Agent', {
  ...AgentReport,
  keyId: Type.String({
    maxLength: 40,
    description: 'Key that the agent connects with; revoke it to block the agent',
  }),
  healthy: Type.Boolean({ description: 'Whether the agent is connected and can work' }),
  health: strict({
    status: Type.Enum(agentStatuses),
    lastStatusUpdateTime: Count('Time of the last message from the agent, in milliseconds since 1970'),
    lastHealthMessage: Text('Cause of the problem, and how to fix it'),
  }),
  connected: Timestamp('Time of the connection'),
  migrations: list(Name('Migration that the agent works on')),
  itemsInHand: Count('Work items that the agent currently holds'),
  bytesPerSecond: Count('Bytes per second, averaged over at least ten seconds; includes files being copied'),
  filesPerSecond: Count('Files per second, averaged over at least ten seconds'),
  transferredBytes: Count('Bytes transferred since the agent connected'),
  transferredFiles: Count('Files transferred since the agent connected'),
  transferFailures: Count('Paths that failed since the agent connected'),
})
export type Agent = Static<typeof Agent>

const AgentSettings = model('AgentSettings', { movedBy })

const name = Name('Name of the agent')

/** Programs that move files on other hosts. */
export const agents = resource('agents', {
  list: {
    summary: 'List transfer agents',
    input: strict(page),
    output: list(Agent),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/agents' }],
    cli: {
      columns: ['name', 'host', 'version', 'healthy', 'migrations', 'bytesPerSecond', 'filesPerSecond'],
    },
  },
  get: {
    summary: 'Show a transfer agent',
    input: strict({ name }),
    output: Agent,
    errors: ['NOT_FOUND'],
    http: [{ method: 'GET', path: '/api/v1/agents/{name}' }],
    cli: { args: ['name'], example: 'gantry agents get host-7' },
  },
  remove: {
    summary: 'Stop and remove a transfer agent',
    description:
      'Work in progress is finished first. The key of the agent stays valid: revoke it too, so that the agent cannot reconnect.',
    input: strict({ name }),
    output: Nothing,
    errors: ['NOT_FOUND'],
    audit: { object: 'name' },
    http: [{ method: 'DELETE', path: '/api/v1/agents/{name}' }],
    cli: { args: ['name'], example: 'gantry agents remove host-7' },
  },
  'get-settings': {
    summary: 'Show the default for movedBy (server or agents)',
    input: strict({}),
    output: AgentSettings,
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/admin/agents/settings' }],
  },
  'put-settings': {
    summary: 'Set the default for movedBy (server or agents)',
    description: 'Applies to migrations without a movedBy of their own, from their next start.',
    input: strict({ movedBy }),
    output: AgentSettings,
    errors: [],
    audit: { details: ['movedBy'] },
    http: [{ method: 'PUT', path: '/api/v1/admin/agents/settings' }],
    cli: { example: 'gantry agents put-settings --moved-by AGENTS' },
  },
})

/** What about agents is a matter of keys. */
export const agentKeys = resource('agents', {
  register: {
    summary: 'Create the key of a transfer agent (the token is shown only once)',
    description:
      'The key gives access to the platform’s own account, but only with the permissions needed to transfer files. Requires an administrator.',
    input: strict({
      name: Name('Name of the key, such as the host name; also the default name of the agent'),
      notes: Type.Optional(Text('Free text')),
      expiresInDays: ExpiresInDays,
    }),
    output: KeyWithToken,
    errors: ['EXCEEDS_ROLE', 'LIMIT_REACHED'],
    audit: { object: 'id', details: ['name', 'expiresInDays'] },
    lasting: true,
    http: [{ method: 'POST', path: '/api/v1/admin/agent-keys', status: 201 }],
    cli: { args: ['name'], example: 'gantry agents register host-7' },
  },
})
