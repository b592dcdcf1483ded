import { type Static, Type } from 'typebox'
import { resource } from '../kit/contract.ts'
import { type ErrorCode, errors } from '../kit/errors.ts'
import { KeyId } from './keys.ts'
import {
  Count,
  list,
  maxIdLength,
  maxPageLength,
  model,
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

/** A subject with a verb has some forty characters. */
const maxWhatLength = 120
/** An IPv6 address with a zone. */
const maxAddressLength = 100
/** As `broker/messages/headers.ts` takes them. */
const maxRequestIdLength = 64

const What = (description: string) => Type.String({ minLength: 1, maxLength: maxWhatLength, description })
const ObjectId = Type.String({
  maxLength: maxIdLength,
  description: 'Id or name of the object; the subject that was refused',
})

const fields = {
  time: Timestamp('When its outcome was known'),
  kind: Type.Enum(['key', 'session', 'agent', 'platform', 'nobody'], {
    description: 'Kind of the key that asked; nobody when none was accepted',
  }),
  key: Type.Optional(KeyId),
  user: Type.Optional(Subject('Owner of the key')),
  what: What(
    'Subject of the contract; sign-in, connect; publish or subscribe, where the broker refused that; flood, slow-reader, where connections of a key were closed',
  ),
  object: Type.Optional(ObjectId),
  path: Type.Optional(Path('Path in the filesystem that is the object')),
  removed: Type.Optional(Count('Files and folders that are gone by a removal, also by one that failed')),
  from: Type.Optional(Type.String({ maxLength: maxAddressLength, description: 'Address of the client' })),
  result: Type.Enum(results, { description: 'ok, or the code of the error' }),
  reason: Type.Optional(Text('Why a connection was refused or closed')),
  count: Type.Optional(Count('How many times within a second; default once')),
  requestId: Type.Optional(Type.String({ maxLength: maxRequestIdLength })),
}

/** One entry, as it is stored. */
export const AuditEntry = model('AuditEntry', fields)
export type AuditEntry = Static<typeof AuditEntry>

export const AuditRecord = model('AuditRecord', {
  sequence: Count('Its place in the log; grows, and not by one'),
  ...fields,
})
export type AuditRecord = Static<typeof AuditRecord>

/** A person looks at a screen of them. */
export const defaultAuditPage = 100

const order = ['newest', 'oldest'] as const

const listInput = {
  since: Type.Optional(Timestamp('Only from this moment on')),
  until: Type.Optional(Timestamp('Only until this moment')),
  user: Type.Optional(Subject('Only of this user')),
  key: Type.Optional(KeyId),
  what: Type.Optional(
    What(
      'Only what begins so: a subject or the start of one, sign-in, connect, publish, subscribe, flood, slow-reader',
    ),
  ),
  object: Type.Optional(ObjectId),
  result: Type.Optional(
    Type.Enum([...results, 'refused'], { description: 'Only with this result; refused: all but ok' }),
  ),
  order: Type.Optional(Type.Enum(order, { description: 'Which come first; default newest' })),
  after: Type.Optional(Count('Where to go on: next of the page before')),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: maxPageLength,
      description: `Longest page; default ${defaultAuditPage}`,
    }),
  ),
}

/** The whole log is walked through, in pages that end before this. */
const auditDeadlineMs = 30_000

export const audit = resource('audit', {
  list: {
    summary: 'Who changed what, from where, and what came of it',
    description:
      'With filters a page may be short, or empty, although more follow: there are more as long as there is a next.',
    input: strict(listInput),
    output: strict({
      records: list(AuditRecord),
      next: Type.Optional(Count('Where the next page goes on; absent at the end')),
    }),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/admin/audit' }],
    cli: {
      columns: ['time', 'user', 'key', 'what', 'object', 'from', 'result', 'count'],
      example: 'gantry audit list --what gantry.services.v1.keys --since 2026-01-31T00:00:00Z',
    },
    deadlineMs: auditDeadlineMs,
  },
  verify: {
    summary: 'Whether the audit log is intact: no record was changed, removed or moved',
    description:
      'Begins at the oldest record that retention has left. Whoever holds the identity of the platform could write all of the log anew: note the hash elsewhere to see that too.',
    input: strict({ after: Type.Optional(Count('Where to go on: next of the page before')) }),
    output: strict({
      intact: Type.Boolean({ description: 'Whether all records that were looked at follow each other' }),
      records: Count('How many were looked at and are intact'),
      fromFirst: Type.Boolean({
        description: 'Whether they begin where the log began; else the ones before are gone by retention',
      }),
      oldest: Type.Optional(Timestamp('Time of the first of them')),
      newest: Type.Optional(Timestamp('Time of the last of them')),
      hash: Type.Optional(
        Type.String({ maxLength: 64, description: 'Hash of the last of them, in which all before are' }),
      ),
      brokenAt: Type.Optional(Count('Sequence of the first record that does not follow')),
      problem: Type.Optional(Text('What is wrong with it')),
      next: Type.Optional(Count('There are more: where to go on')),
    }),
    errors: [],
    http: [{ method: 'GET', path: '/api/v1/admin/audit/verify' }],
    cli: { example: 'gantry audit verify', failed: { field: 'intact', is: false } },
    deadlineMs: auditDeadlineMs,
  },
})
