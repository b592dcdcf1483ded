import { type Static, Type } from 'typebox'
import { AgentReport } from './agents.ts'
import { agentResource } from '../kit/contract.ts'
import { Count, list, Nothing, record, strict, Text, Uuid } from '../kit/schemas.ts'

/**
 * Number of what agents and the platform say to each other about work: the items of queues (`engine/items/items.ts`), what a
 * migration is (`spec-bytes.ts`), books, failures, and the questions below. To be raised when one side could not read any
 * more, or would take for something else, what the other of a release before writes; not for what both may leave out.
 * Agents of other releases work on as long as it is the same.
 */
export const agentProtocol = 2

/** How long the platform keeps an agent's question what there is to do when nothing changes. It is the agent's heartbeat. */
export const attendMs = 5_000

/**
 * Agents of one key at once, for hosts that are started from one image. Each has its part of every limit and a place in the
 * list, so a key that brought names without end would leave nothing to others.
 */
export const maxAgentsOfKey = 100
export const tooManyOfKey = `${maxAgentsOfKey} agents with this key are connected, which is the limit: create a separate key for each host`

/** Work items that an agent has at once, those included that it waits to see the end of. */
const maxCounted = 10_000
/** Items that were done before the one that made them, with some room for those of several workers. */
const maxEarly = 100_000
/** Kinds of things that are counted, and as many again. */
const maxCounts = 100
/** Migrations that run at once. */
const maxAssignments = 1_000
/** Two stores and all that was said of the migration: rules and mappings by the thousand. */
const maxSealedLength = 2 ** 20

const migration = Type.String({ minLength: 36, maxLength: 60, description: 'Work id of the migration' })
const sequence = Count('Sequence of the item in its queue')
const messageId = Type.String({ maxLength: 64, description: 'Id of an item' })
const instance = Uuid('This life of the agent')
/** Another queue of the same name gives the same sequences to other items. */
const queue = {
  migration,
  queueCreated: Type.String({ maxLength: 40, description: 'When its queue was made' }),
}
const item = strict({ ...queue, sequence })
const errors = ['NOT_FOUND'] as const

/** A limit, as the agent has to keep it: its part of what the platform may move. */
const Limit = strict({
  id: Type.String({ maxLength: 400, description: 'What the limit is about' }),
  bytesPerSecond: Type.Optional(Count('Bytes')),
  requestsPerSecond: Type.Optional(Count('Requests')),
})

const Assignment = strict({
  migration,
  /** Changes when there is something else to be opened. */
  fingerprint: Type.String({ maxLength: 64, description: 'Of what is to be opened' }),
  limits: list(Type.String({ maxLength: 400 }), 10),
  hasHelp: Type.Boolean({ description: 'Whether others work on it too' }),
})
export type Assignment = Static<typeof Assignment>

/** Between the platform and its transfer agents; what an agent may do is no more than this and the queues. */
export const agentWork = agentResource('agent-work', {
  attend: {
    summary: 'Say that the agent is there, and learn what there is to do; the answer waits for something new',
    // To be left as it is for as long as can be: of another protocol it is to be understood too.
    input: strict({
      instance,
      protocol: Count('`agentProtocol` of the agent'),
      ...AgentReport,
      /** Default: that of its key. */
      name: Type.Optional(AgentReport.name),
      publicKey: Type.String({ maxLength: 80, description: 'What is for this agent alone is sealed for it' }),
      revision: Type.String({ maxLength: 64, description: 'Of the last answer; empty at first' }),
      holding: list(migration, maxAssignments),
      itemsInHand: Count('Items that it works on'),
      moved: strict({
        bytes: Count('Moved since it came, what is under way included'),
        files: Count('Moved since it came'),
      }),
      underWay: list(
        strict({
          migration,
          bytes: Count('At the target of what is not counted yet'),
          files: Count('At the target of what is not counted yet'),
        }),
        maxAssignments,
      ),
      problem: Type.Optional(Text('What keeps it from working')),
    }),
    output: strict({
      revision: Type.String({ maxLength: 64 }),
      /** Whether it may go on; why not, is for people. */
      leave: Type.Optional(Text('Why it has to end')),
      problem: Type.Optional(Text('Why it is given nothing to do; for people')),
      assignments: list(Assignment, maxAssignments),
      // Of all, of the agent, of each migration and of its target.
      limits: list(Limit, 2 + 2 * maxAssignments),
    }),
    errors: [],
    http: [],
    deadlineMs: 2 * attendMs,
  },
  open: {
    summary: 'What a migration is, its stores with their secrets included, sealed for the agent',
    input: strict({ instance, migration }),
    output: strict({
      sealed: Type.String({ maxLength: maxSealedLength }),
      publicKey: Type.String({ maxLength: 80, description: 'Of who sealed it' }),
    }),
    errors,
    http: [],
  },
  look: {
    summary: 'What the books of all workers say of an item',
    input: item,
    output: strict({ counted: Type.Boolean(), wasOut: Type.Boolean(), early: list(messageId, maxEarly) }),
    errors,
    http: [],
  },
  has: {
    summary: 'Whether an item is still in the queue',
    input: item,
    output: strict({ has: Type.Boolean() }),
    errors,
    http: [],
  },
  remove: {
    summary: 'Take an item off the queue that is done, and that the broker does not know to be out',
    input: item,
    output: Nothing,
    errors,
    http: [],
  },
  room: {
    summary: 'Resolves when more may be put into the queue; without `room`, it is too early',
    input: strict({ migration }),
    output: strict({
      room: Type.Optional(strict({ goesDeep: Type.Boolean(), leavesFolders: Type.Boolean() })),
    }),
    errors,
    http: [],
    deadlineMs: 2 * attendMs,
  },
  'store-book': {
    summary: 'Store what the agent has done, unless others have counted some of it',
    input: strict({
      instance,
      ...queue,
      book: Uuid('This life of the agent on this migration'),
      counts: record(Count('Count'), maxCounts, 'What was done, in numbers'),
      counted: list(sequence, maxCounted),
      early: list(messageId, maxEarly),
      published: Count('The highest sequence that was given to an item that the agent has published'),
    }),
    output: strict({ refused: list(sequence, maxCounted) }),
    errors,
    http: [],
  },
  'forget-failure': {
    summary: 'Take a failure off the list that was tried again',
    input: strict({ migration, sequence: Count('Id of the failure') }),
    output: Nothing,
    errors,
    http: [],
  },
  leave: {
    summary: 'Say that the agent has ended',
    input: strict({ instance }),
    output: Nothing,
    errors: [],
    http: [],
  },
})
