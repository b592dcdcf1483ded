import { type Static, Type } from 'typebox'
import { resource } from '../kit/contract.ts'
import { ExpiresInDays, Key, Token } from '../access/keys.ts'
import {
  Count,
  list,
  maxPathLength,
  model,
  Name,
  Nothing,
  page,
  strict,
  Text,
  Timestamp,
} from '../kit/schemas.ts'

/** Who moves the files of a migration. */
export const movers = ['ALL', 'SERVER', 'AGENTS'] as const
export type Movers = (typeof movers)[number]

/** The field of a migration, and of what holds for all that do not say. */
export const movedBy = Type.Enum(movers, {
  description:
    'Who moves its files: ALL (the server together with the agents that can reach both stores), SERVER or AGENTS alone; a live migration is the server’s',
})

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
  host: Type.String({ maxLength: 255, description: 'Name of its host' }),
  version: Type.String({ maxLength: 40, description: 'Its release' }),
  shares: Shares,
  threads: Type.Integer({ minimum: 1, maximum: 1_024, description: 'Its worker threads' }),
  limitBytesPerSecond: Type.Optional(
    Count('The limit that it was started with; none without. See also `bandwidth` of it'),
  ),
}

export const Agent = model('Agent', {
  ...AgentReport,
  keyId: Type.String({ maxLength: 40, description: 'Key that it connects with; revoke it to shut it out' }),
  healthy: Type.Boolean({ description: 'Whether it is there and can work' }),
  health: strict({
    status: Type.Enum(agentStatuses),
    lastStatusUpdateTime: Count('When it was heard of last, in milliseconds since 1970'),
    lastHealthMessage: Text('What is wrong, and what to do'),
  }),
  connected: Timestamp('When it came'),
  migrations: list(Name('Migration that it works on')),
  itemsInHand: Count('Pieces of work that it has at the moment'),
  bytesPerSecond: Count('What it moves, by the last ten seconds or more; what is under way included'),
  filesPerSecond: Count('What it moves, by the last ten seconds or more'),
  transferredBytes: Count('What it has moved since it came'),
  transferredFiles: Count('What it has moved since it came'),
  transferFailures: Count('Paths that it has given up since it came'),
})
export type Agent = Static<typeof Agent>

const AgentSettings = model('AgentSettings', { movedBy })

const name = Name('Name of the agent')

/** Programs that move files on other hosts. */
export const agents = resource('agents', {
  list: {
    summary: 'The transfer agents',
    input: strict(page),
    output: list(Agent),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/agents' }],
    cli: {
      columns: ['name', 'host', 'version', 'healthy', 'migrations', 'bytesPerSecond', 'filesPerSecond'],
    },
  },
  get: {
    summary: 'One transfer agent',
    input: strict({ name }),
    output: Agent,
    errors: ['NOT_FOUND'],
    http: [{ method: 'GET', path: '/api/v1/agents/{name}' }],
    cli: { args: ['name'], example: 'gantry agents get host-7' },
  },
  remove: {
    summary: 'End a transfer agent, and forget it',
    description:
      'What it has in hand is finished first. Its key stays: revoke that too if the agent is not to come back.',
    input: strict({ name }),
    output: Nothing,
    errors: ['NOT_FOUND'],
    audit: { object: 'name' },
    http: [{ method: 'DELETE', path: '/api/v1/agents/{name}' }],
    cli: { args: ['name'], example: 'gantry agents remove host-7' },
  },
  'get-settings': {
    summary: 'Who moves the files of migrations that do not say it themselves',
    input: strict({}),
    output: AgentSettings,
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/admin/agents/settings' }],
  },
  'put-settings': {
    summary: 'Say who moves the files of migrations that do not say it themselves',
    description: 'It holds for a migration from its next start on.',
    input: strict({ movedBy }),
    output: AgentSettings,
    errors: [],
    audit: {},
    http: [{ method: 'PUT', path: '/api/v1/admin/agents/settings' }],
    cli: { example: 'gantry agents put-settings --moved-by AGENTS' },
  },
})

/** What about agents is a matter of keys. */
export const agentKeys = resource('agents', {
  register: {
    summary: 'Make the key of a transfer agent; its token is in this reply and never again',
    description:
      'It opens the platform’s own account, with no more than moving files needs: it reaches no other capability. For administrators.',
    input: strict({
      name: Name('Name of the key, and of the agent if that says no other, such as its host'),
      notes: Type.Optional(Text('Free text')),
      expiresInDays: ExpiresInDays,
    }),
    output: strict({ ...Key.properties, token: Token }),
    errors: ['EXCEEDS_ROLE', 'LIMIT_REACHED'],
    audit: { object: 'id' },
    lasting: true,
    http: [{ method: 'POST', path: '/api/v1/admin/agent-keys', status: 201 }],
    cli: { args: ['name'], example: 'gantry agents register host-7' },
  },
})
