import { type TSchema, Type } from 'typebox'
import { agentResource } from '../kit/contract.ts'
import { Count, list, maxTextLength, Nothing, strict, Text, Uuid } from '../kit/schemas.ts'
import { failureClasses, type FailureClass } from '../migrations/model/failure-classes.ts'
import {
  CatalogFunction,
  Constraints,
  Database,
  Partition,
  Principal,
  Privileges,
  Table,
  TableIndex,
  TableStatistics,
  TableSummary,
} from './objects.ts'

/**
 * Number of what an agent and the platform say to each other about catalogs: the operations below, and what they are asked
 * with. To be raised when one side could not read the other of a release before any more.
 */
export const catalogProtocol = 3

/** How long the platform keeps an agent's question what there is to do. It is the agent's heartbeat too. */
export const catalogWaitMs = 5_000

/** Characters of a question or an answer in one message: escaped and in UTF-8 they are still below what a request may have. */
export const pieceLength = 256 * 1024
/** Questions that an agent gets at once; each comes with its first piece. */
export const questionsAtOnce = 4
/** Questions that an agent has in its hands: more than the platform has threads, each with several at once. */
const maxHolding = 10_000
/** Bytes of one question or answer, in UTF-8: as many as one answer of a Hive metastore may have. */
export const maxMessageBytes = 64 * 1024 * 1024
/** Pieces of one question or answer. */
const maxPieces = maxMessageBytes / pieceLength

const instance = Uuid('This life of the agent')
const id = Uuid('Id of the question')
const index = Type.Integer({ minimum: 0, maximum: maxPieces - 1, description: 'Number of the piece, from 0' })
const piece = Type.String({ maxLength: pieceLength })

/** Between the platform and agents that serve catalogs. Its verbs are of one space with those of `agentWork`. */
export const catalogWork = agentResource('catalog-work', {
  'catalog-next': {
    summary:
      'Say that the agent serves catalogs, and learn what is asked; the answer waits for something new',
    // To be left as it is for as long as can be: of another protocol it is to be understood too.
    input: strict({
      instance,
      protocol: Count('`catalogProtocol` of the agent'),
      version: Type.String({ maxLength: 40, description: 'Release of the agent' }),
      publicKey: Type.String({ maxLength: 80, description: 'What is for this agent alone is sealed for it' }),
      holding: list(id, maxHolding),
    }),
    output: strict({
      questions: list(strict({ id, pieces: Count('How many there are'), first: piece }), questionsAtOnce),
      publicKey: Type.String({ maxLength: 80, description: 'Of who sealed them' }),
      problem: Type.Optional(Text('Why it is asked nothing; for people')),
    }),
    errors: [],
    http: [],
    deadlineMs: 2 * catalogWaitMs,
  },
  'catalog-piece': {
    summary: 'A further piece of a question',
    input: strict({ instance, id, index }),
    output: strict({ piece }),
    errors: ['NOT_FOUND'],
    http: [],
  },
  'catalog-answer': {
    summary: 'A piece of an answer; pieces come in order',
    input: strict({ instance, id, index, isLast: Type.Boolean(), piece }),
    output: Nothing,
    errors: ['NOT_FOUND'],
    http: [],
  },
})

/** More names than any catalog has. */
const maxNames = 10_000_000
/** Of a page of partitions, or of a question for some. */
const maxOfBatch = 10_000
const Raw = Type.String({ maxLength: 1024 * 1024 })
const Names = Type.Array(Raw, { maxItems: maxNames })

export const agentFailure = strict({
  message: Type.String({ maxLength: maxTextLength }),
  /** Of the catalog. */
  failure: Type.Optional(Type.Enum(Object.keys(failureClasses) as FailureClass[])),
  retryAfterMs: Type.Optional(Type.Integer({ minimum: 0, maximum: 3_600_000 })),
  /** Of options that do not go together, or that the agent may not use. */
  code: Type.Optional(Type.Enum(['NOT_ACCEPTED', 'INVALID_INPUT', 'UNSUPPORTED'])),
})

const OfPartitions = Type.Array(strict({ name: Raw, statistics: TableStatistics }), { maxItems: maxOfBatch })

const Ids = Type.Array(Count('Write id'), { maxItems: maxNames })
const WriteIds = strict({ highest: Count('The highest one'), open: Ids, aborted: Ids })

const Change = strict({
  database: Raw,
  table: Type.Optional(Raw),
  partitions: Type.Optional(Names),
  renamedFrom: Type.Optional(strict({ database: Raw, name: Raw })),
  isGone: Type.Optional(Type.Literal(true)),
  functions: Type.Optional(Type.Literal(true)),
  atMs: Type.Number(),
})

const Has = Type.Boolean()
const always = <S extends TSchema>(schema: S) => strict({ value: schema })
const ifAny = <S extends TSchema>(schema: S) => strict({ value: Type.Optional(schema) })

/** What an agent is asked about a catalog, each with the shape of its answer. */
export const catalogOperations = {
  describe: always(
    strict({
      place: Type.String({ minLength: 1, maxLength: maxTextLength }),
      functions: Has,
      constraints: Has,
      statistics: Has,
      statisticsOfPartitions: Has,
      indexes: Has,
      settings: Type.Optional(Names),
      feed: Has,
      privileges: Has,
      /** Whether it knows who has a role. */
      roles: Has,
      writeIds: Has,
      writer: Type.Optional(
        strict({
          renameTable: Has,
          revealTable: Has,
          functions: Has,
          constraints: Has,
          statistics: Has,
          statisticsOfPartitions: Has,
          privileges: Has,
          /** Whether roles have to be made before they can be given anything. */
          roles: Has,
          writeIds: Has,
        }),
      ),
    }),
  ),
  probe: Nothing,
  version: ifAny(Raw),
  databases: always(Names),
  database: ifAny(Database),
  tables: always(Type.Array(TableSummary, { maxItems: maxNames })),
  table: ifAny(Table),
  partitionNames: always(Names),
  partitions: always(Type.Array(Partition, { maxItems: maxOfBatch })),
  functions: always(
    strict({
      functions: Type.Array(CatalogFunction, { maxItems: maxNames }),
      unreadable: Type.Array(strict({ name: Raw, error: agentFailure }), { maxItems: maxNames }),
    }),
  ),
  constraints: always(Constraints),
  tableStatistics: ifAny(TableStatistics),
  partitionStatistics: always(OfPartitions),
  indexes: ifAny(Type.Array(TableIndex, { maxItems: maxOfBatch })),
  setting: ifAny(Raw),
  privileges: always(Privileges),
  writeIds: ifAny(Type.Array(WriteIds, { maxItems: maxOfBatch })),
  roleMembers: ifAny(Type.Array(Principal, { maxItems: maxNames })),
  position: ifAny(Raw),
  changes: always(
    strict({
      changes: Type.Array(Change, { maxItems: 1_000_000 }),
      position: Raw,
      behind: Type.Integer({ minimum: 0 }),
    }),
  ),
  createDatabase: Nothing,
  alterDatabase: Nothing,
  dropDatabase: Nothing,
  createTable: Nothing,
  alterTable: Nothing,
  renameTable: Nothing,
  revealTable: Nothing,
  dropTable: Nothing,
  addPartitions: Nothing,
  alterPartitions: Nothing,
  dropPartitions: Nothing,
  createFunction: Nothing,
  alterFunction: Nothing,
  dropFunction: Nothing,
  addConstraints: Nothing,
  dropConstraint: Nothing,
  putTableStatistics: Nothing,
  putPartitionStatistics: Nothing,
  grant: Nothing,
  revoke: Nothing,
  createRole: Nothing,
  addToRole: Nothing,
  putWriteIds: Nothing,
}

export type CatalogOperation = keyof typeof catalogOperations
type Replies = { [O in CatalogOperation]: Type.Static<(typeof catalogOperations)[O]> }
/** What comes of an operation; undefined where nothing does. */
export type CatalogReply<O extends CatalogOperation> = Replies[O] extends { value: infer V }
  ? V
  : Replies[O] extends { value?: infer V }
    ? V | undefined
    : undefined
