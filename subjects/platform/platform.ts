import { Type } from 'typebox'
import { resource } from '../kit/contract.ts'
import { ofEachServer } from '../kit/names.ts'
import { lossKinds, maxLosses } from './loss-kinds.ts'
import { Count, list, model, OneOf, strict, Text, Timestamp } from '../kit/schemas.ts'

const Address = Type.String({ maxLength: 300, format: 'uri' })

const Component = strict({
  name: Type.String({ maxLength: 60 }),
  healthy: Type.Boolean(),
  message: Type.Optional(Text('Problem and fix')),
})

const Health = model('Health', {
  status: Type.Enum(['healthy', 'degraded']),
  version: Type.String({ maxLength: 40 }),
  components: list(Component, 100),
})

const ClientId = (description: string) => Type.String({ maxLength: 400, description })

/** Where people sign in, and what we are called there. */
const IdentityProvider = model('IdentityProvider', {
  issuer: Address,
  clientId: ClientId('Client id of the command line and other programs'),
  uiClientId: ClientId('Client id of the web interface'),
})

const Loss = model('StateLoss', {
  store: Type.String({ maxLength: 200, description: 'Bucket or stream' }),
  id: Type.Optional(
    Type.String({ maxLength: 2_000, description: 'Record id; absent if the whole store is affected' }),
  ),
  kind: OneOf(lossKinds),
  messages: Type.Optional(Count('Number of messages of a stream that are missing or have returned')),
  found: Timestamp('Time of detection'),
})

const Losses = list(Loss, maxLosses)
const lossPath = '/api/v1/admin/losses'
/**
 * Which processes run a background task when several nodes share the work: each of them, one for all, the one that works
 * on a migration, or one on each host.
 */
export const taskOwners = ['every-node', 'one-node', 'per-migration', 'per-host'] as const
export type TaskOwner = (typeof taskOwners)[number]

const Task = model('Task', {
  name: Type.String({ maxLength: 60 }),
  owner: Type.Enum(taskOwners, { description: 'Processes of a cluster that run the task' }),
  summary: Text('Description of the task'),
  everySeconds: Type.Optional(
    Type.Number({ minimum: 0, description: 'Interval in seconds; absent if the task runs on demand' }),
  ),
  running: Count('Number of instances in this process, for example one per migration'),
  runs: Count('Number of runs since this process started'),
  failures: Count('Number of failed runs'),
  lastRun: Type.Optional(Timestamp('Start of the last run')),
  durationMs: Type.Optional(
    Type.Number({ minimum: 0, description: 'Duration of the last run in milliseconds' }),
  ),
  nextRun: Type.Optional(Timestamp('Time when the next run is due')),
  lastError: Type.Optional(Text('Error of the last failed run')),
})

/** More tasks than this program has. */
const maxTasks = 200

/** What the platform says of itself. */
export const platform = resource('platform', {
  info: {
    summary: 'Show name, version and addresses of the platform',
    input: strict({}),
    output: strict({
      name: Type.String({ maxLength: 60, description: 'Product name' }),
      version: Type.String({ maxLength: 40, description: 'Semantic version' }),
      instance: Type.String({
        maxLength: 60,
        description: 'Instance id; every API token contains it',
      }),
      command: Type.String({
        maxLength: 300,
        description: 'How the command line is called where the platform runs, such as ./gantry in a clone',
      }),
      broker: strict({ tcp: Address, websocket: Address }),
      http: strict(ofEachServer(() => Address)),
      identityProvider: Type.Optional(IdentityProvider),
      bootstrap: Type.Boolean({
        description:
          'Whether everybody who signs in is an administrator, because no administrator is configured',
      }),
    }),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/gantryinfo', public: true }],
    cli: { example: 'gantry platform info' },
  },
  ping: {
    summary: 'Check whether the platform responds',
    input: strict({}),
    output: strict({ message: Type.Literal('pong') }),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/ping', public: true }],
  },
  health: {
    summary: 'Show the status of each component',
    description:
      'Returns UNAVAILABLE (503) with the same details while a component is degraded, and without details while the broker does not respond.',
    input: strict({}),
    output: Health,
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/health', public: true }],
  },
  ready: {
    summary: 'Check whether the platform accepts work, for load balancers',
    input: strict({}),
    output: strict({ ready: Type.Literal(true) }),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/ready', public: true }],
  },
  losses: {
    summary: 'List damage to stored state that is not accepted yet',
    description:
      'At each start, the platform compares stored records with a journal of acknowledged changes. It restores records that are missing, outdated or undeleted, and lists them here. It also checks the contents of each stream, at each start and every few seconds, and lists missing messages.',
    input: strict({}),
    output: Losses,
    errors: [],
    http: [{ method: 'GET', path: lossPath }],
    cli: { columns: ['store', 'id', 'kind', 'messages', 'found'] },
  },
  'accept-losses': {
    summary: 'Accept the listed damage, so that health no longer reports it',
    description: 'Check the listed records first. Returns the accepted entries.',
    input: strict({}),
    output: Losses,
    errors: [],
    audit: {},
    http: [{ method: 'POST', path: `${lossPath}/accept` }],
    cli: { columns: ['store', 'id', 'kind', 'messages', 'found'] },
  },
  tasks: {
    summary: 'List the background tasks of the platform with their last and next runs',
    input: strict({}),
    output: list(Task, maxTasks),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/admin/tasks' }],
    cli: { example: 'gantry platform tasks' },
  },
})
