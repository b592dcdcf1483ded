import { type Static, Type } from 'typebox'
import { resource } from '../kit/contract.ts'
import { type ErrorCode, errors } from '../kit/errors.ts'
import { roots } from '../kit/names.ts'
import { type Key, KeyId } from './keys.ts'
import {
  Count,
  list,
  maxIdLength,
  maxPageLength,
  model,
  Name,
  Path,
  strict,
  Subject,
  Text,
  Timestamp,
} from '../kit/schemas.ts'

/** What is recorded beside the contracts that change something. */
export const auditedActions = {
  /** Somebody signed in, or was not let in. */
  signIn: 'sign-in',
  /** A connection was refused. */
  connect: 'connect',
  /** The broker did not let a key publish to a subject, or subscribe to one. */
  publish: 'publish',
  subscribe: 'subscribe',
  /** A key sent far more than it may, and was kept out for a while. */
  flood: 'flood',
  /** A connection did not read what it had subscribed to, and was closed. */
  slowReader: 'slow-reader',
} as const

/** `ok`, or the code of the error that the caller was told. */
const results = ['ok', ...(Object.keys(errors) as ErrorCode[])] as const
export type AuditResult = (typeof results)[number]

/** An operation as people read it: a subject of a service without its root, which all of them have. */
export const operationText = (what: string): string =>
  what.startsWith(`${roots.services}.`) ? what.slice(roots.services.length + 1) : what

/** A subject with a verb has some forty characters. */
const maxWhatLength = 120
/** An IPv6 address with a zone. */
const maxAddressLength = 100
/** As `broker/messages/headers.ts` takes them. */
const maxRequestIdLength = 64

const What = (description: string) => Type.String({ minLength: 1, maxLength: maxWhatLength, description })
const ObjectId = Type.String({
  maxLength: maxIdLength,
  description: 'Id or name of the object, or the denied subject',
})

const fields = {
  time: Timestamp('Time when the outcome was known'),
  kind: Type.Enum(['key', 'session', 'agent', 'platform', 'nobody'], {
    description: 'Kind of the key of the request; nobody if the key was rejected',
  }),
  key: Type.Optional(KeyId),
  keyName: Type.Optional(Name('Name that the key had at that time; absent for sessions')),
  user: Type.Optional(Subject('Owner of the key')),
  what: What(
    'Operation: the subject of a request, sign-in, connect, publish or subscribe (denied by the broker), flood or slow-reader (connections of a key were closed)',
  ),
  object: Type.Optional(ObjectId),
  path: Type.Optional(Path('Path in the filesystem that the record is about')),
  details: Type.Optional(
    Text(
      'What was set, as name=value, for some operations with the previous value; long values are cut off, and secrets are left out',
    ),
  ),
  removed: Type.Optional(
    Count('Number of files and folders that were removed, including by a removal that failed'),
  ),
  from: Type.Optional(Type.String({ maxLength: maxAddressLength, description: 'Client address' })),
  result: Type.Enum(results, { description: 'ok, or the error code' }),
  reason: Type.Optional(Text('Reason why a connection was refused or closed')),
  count: Type.Optional(Count('Number of occurrences within a second (1 if absent)')),
  requestId: Type.Optional(Type.String({ maxLength: maxRequestIdLength })),
}

/** One entry, as it is stored. */
export const AuditEntry = model('AuditEntry', fields)
export type AuditEntry = Static<typeof AuditEntry>

/** Who acts with a key. */
export type Actor = Pick<AuditEntry, 'kind' | 'keyName' | 'user'>
/** A session has no name of its own. */
export const actorOf = ({ kind, owner, name }: Pick<Key, 'kind' | 'owner' | 'name'>): Actor => ({
  kind,
  ...(kind === 'session' ? {} : { keyName: name }),
  user: owner,
})

export const AuditRecord = model('AuditRecord', {
  sequence: Count('Position in the log: increases, with gaps'),
  ...fields,
})
export type AuditRecord = Static<typeof AuditRecord>

/** A person looks at a screen of them. */
export const defaultAuditPage = 100

const order = ['newest', 'oldest'] as const

const listInput = {
  since: Type.Optional(Timestamp('Start of the period')),
  until: Type.Optional(Timestamp('End of the period')),
  user: Type.Optional(Subject('Return only records of this user')),
  key: Type.Optional(KeyId),
  what: Type.Optional(
    What(
      `Prefix of the operation: a subject or the start of one, with or without ${roots.services}; or sign-in, connect, publish, subscribe, flood or slow-reader`,
    ),
  ),
  object: Type.Optional(ObjectId),
  result: Type.Optional(
    Type.Enum([...results, 'refused'], {
      description: 'Return only records with this result; refused: all except ok',
    }),
  ),
  order: Type.Optional(Type.Enum(order, { description: 'Sort order; default newest first' })),
  after: Type.Optional(Count('Position to continue from: `next` of the previous page')),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: maxPageLength,
      description: `Maximum number of records; default ${defaultAuditPage}`,
    }),
  ),
}

/** The whole log is walked through, in pages that end before this. */
const auditDeadlineMs = 30_000

export const audit = resource('audit', {
  list: {
    summary: 'List audit records: who changed what, from where, and the result',
    description:
      'With filters, a page can be short or empty although more records follow. Continue as long as `next` is present.',
    input: strict(listInput),
    output: strict({
      records: list(AuditRecord),
      next: Type.Optional(Count('Position of the next page; absent at the end')),
    }),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/admin/audit' }],
    cli: {
      columns: ['time', 'user', 'what', 'object', 'result', 'keyName', 'details', 'from', 'count'],
      example: 'gantry audit list --what gantry.services.v1.keys --since 2026-01-31T00:00:00Z',
    },
    deadlineMs: auditDeadlineMs,
  },
  verify: {
    summary: 'Check that no audit record was changed, removed or moved',
    description:
      'Starts at the oldest record within the retention. Anyone with the identity of the platform could rewrite the whole log: store the hash elsewhere to detect this.',
    input: strict({ after: Type.Optional(Count('Position to continue from: `next` of the previous page')) }),
    output: strict({
      intact: Type.Boolean({ description: 'Whether all checked records form an unbroken chain' }),
      records: Count('Number of records that were checked and are intact'),
      fromFirst: Type.Boolean({
        description:
          'Whether the check started at the first record of the log; if not, older records were removed by retention',
      }),
      oldest: Type.Optional(Timestamp('Time of the first checked record')),
      newest: Type.Optional(Timestamp('Time of the last checked record')),
      hash: Type.Optional(
        Type.String({
          maxLength: 64,
          description: 'Hash of the last checked record, which covers all records before it',
        }),
      ),
      brokenAt: Type.Optional(Count('Sequence of the first record that breaks the chain')),
      problem: Type.Optional(Text('Problem with that record')),
      next: Type.Optional(Count('Position to continue from, if more records follow')),
    }),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/admin/audit/verify' }],
    cli: { example: 'gantry audit verify', failed: { field: 'intact', is: false } },
    deadlineMs: auditDeadlineMs,
  },
})
