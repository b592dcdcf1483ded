import { Type } from 'typebox'
import { resource } from '../kit/contract.ts'
import { ofEachServer } from '../kit/names.ts'
import { lossKindNames, lossKinds, maxLosses } from './loss-kinds.ts'
import { Count, list, model, strict, Text, Timestamp } from '../kit/schemas.ts'

const Address = Type.String({ maxLength: 300, format: 'uri' })

const Component = strict({
  name: Type.String({ maxLength: 60 }),
  healthy: Type.Boolean(),
  message: Type.Optional(Text('What is wrong, and what to do')),
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
  uiClientId: ClientId('Client id of the pages'),
})

const lossHelp = lossKindNames.map((kind) => `${kind}: ${lossKinds[kind]}`).join('; ')

const Loss = model('StateLoss', {
  store: Type.String({ maxLength: 200, description: 'Bucket or stream' }),
  id: Type.Optional(
    Type.String({ maxLength: 2_000, description: 'Of the record; absent when the whole store is meant' }),
  ),
  kind: Type.Enum(lossKindNames, { description: lossHelp }),
  messages: Type.Optional(Count('Messages of a stream that are missing, or that are there again')),
  found: Timestamp('When it was found'),
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
  owner: Type.Enum(taskOwners, { description: 'Which processes of a cluster run it' }),
  summary: Text('What it does'),
  everySeconds: Type.Optional(
    Type.Number({ minimum: 0, description: 'Period; absent if it runs when it is due' }),
  ),
  running: Count('How many of it this process has now, for example one for each migration'),
  runs: Count('Runs since this process started'),
  failures: Count('Runs that failed'),
  lastRun: Type.Optional(Timestamp('When the last run began')),
  durationMs: Type.Optional(
    Type.Number({ minimum: 0, description: 'How long that run took, in milliseconds' }),
  ),
  nextRun: Type.Optional(Timestamp('When the next run is due')),
  lastError: Type.Optional(Text('Why a run failed last')),
})

/** More tasks than this program has. */
const maxTasks = 200

/** What the platform says of itself. */
export const platform = resource('platform', {
  info: {
    summary: 'Name, version and addresses of this platform',
    input: strict({}),
    output: strict({
      name: Type.String({ maxLength: 60, description: 'Product name' }),
      version: Type.String({ maxLength: 40, description: 'Semantic version' }),
      instance: Type.String({
        maxLength: 60,
        description: 'Id of this instance; every API token encodes it',
      }),
      broker: strict({ tcp: Address, websocket: Address }),
      http: strict(ofEachServer(() => Address)),
      identityProvider: Type.Optional(IdentityProvider),
      bootstrap: Type.Boolean({
        description: 'Whether everybody who signs in is an administrator, as none is configured',
      }),
    }),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/gantryinfo', public: true }],
    cli: { example: 'gantry platform info' },
  },
  ping: {
    summary: 'Whether the platform answers',
    input: strict({}),
    output: strict({ message: Type.Literal('pong') }),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/ping', public: true }],
  },
  health: {
    summary: 'Status of each component',
    description:
      'Answers UNAVAILABLE (503) with the same details while a component is degraded, and without them while the broker does not answer.',
    input: strict({}),
    output: Health,
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/health', public: true }],
  },
  ready: {
    summary: 'Whether the platform takes work; for load balancers',
    input: strict({}),
    output: strict({ ready: Type.Literal(true) }),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/ready', public: true }],
  },
  losses: {
    summary: 'Damage to stored state that nobody has accepted yet',
    description:
      'At each start, stored records are compared with a journal of what was acknowledged. Records that are missing, older or undeleted are restored, and listed here. What each stream had stored is compared as well, at each start and every few seconds: missing messages are listed.',
    input: strict({}),
    output: Losses,
    errors: [],
    http: [{ method: 'GET', path: lossPath }],
    cli: { columns: ['store', 'id', 'kind', 'messages', 'found'] },
  },
  'accept-losses': {
    summary: 'Accept the damage that is listed: health does not report it any more',
    description: 'Answers with what was accepted. Check the records that are listed first.',
    input: strict({}),
    output: Losses,
    errors: [],
    audit: {},
    http: [{ method: 'POST', path: `${lossPath}/accept` }],
    cli: { columns: ['store', 'id', 'kind', 'messages', 'found'] },
  },
  tasks: {
    summary: 'List the background tasks of the platform: who runs them, and when they ran',
    input: strict({}),
    output: list(Task, maxTasks),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/admin/tasks' }],
    cli: { example: 'gantry platform tasks' },
  },
})
