import { type Static, Type } from 'typebox'
import { resource } from '../kit/contract.ts'
import { from, Part } from '../kit/download.ts'
import {
  list,
  maxIdLength,
  model,
  Name,
  OneOf,
  page,
  record,
  strict,
  Text,
  Timestamp,
  Uuid,
} from '../kit/schemas.ts'

/** Notifications that are kept, the newest: a page of the list holds them all. */
export const maxNotifications = 1_000
/** Entries of the feed: its readers ask often, and keep what they have seen. */
export const maxFeedEntries = 100

/** What they can be about, each with what it means. */
export const notificationTypes = {
  'migration-added': 'A migration was created',
  'migration-live': 'A live migration follows changes: after its first scan, and each time it was resumed',
  'migration-completed': 'A migration is completed; a warning if paths failed',
  'migration-auto-stopped': 'The platform stopped a migration; resolved when it continues',
  'migration-condition': 'A migration is blocked; resolved when it moves again',
  'work-lost':
    'Work of a migration was lost with the store of the broker and is repeated; resolved when that is done',
  'verification-finished': 'A verification has ended; a warning if it found discrepancies',
  'cleanup-finished': 'A cleanup has ended',
  alert: 'An alert fired; resolved with the alert',
} as const
export type NotificationType = keyof typeof notificationTypes
const typeNames = Object.keys(notificationTypes) as NotificationType[]

export const notificationLevels = ['info', 'warning', 'error'] as const
export type NotificationLevel = (typeof notificationLevels)[number]

/** Facts of an event that a notification repeats. */
const maxFacts = 10

export const Notification = model('Notification', {
  id: Uuid('Notification id'),
  type: OneOf(notificationTypes),
  level: Type.Enum([...notificationLevels]),
  object: Type.String({ maxLength: maxIdLength, description: 'Migration name, or alert id for an alert' }),
  message: Text('Description of the event'),
  resolved: Type.Boolean({
    description: 'Whether a problem is resolved; false for notifications that are not problems',
  }),
  created: Timestamp('Time of the event'),
  updated: Timestamp('Time when the problem was resolved, or of the event'),
  facts: record(
    Type.Union([Type.String({ maxLength: 2_000 }), Type.Number()]),
    maxFacts,
    'Fields of the event',
  ),
})
export type Notification = Static<typeof Notification>

/** All facts of a week may have to be read, once after each start. */
const notificationDeadlineMs = 30_000

const path = '/api/v1/notifications'
const description = `Covers the stored events of at most seven days, up to the newest ${maxNotifications} notifications.`

/** What happened that somebody wants to hear of, for those who ask from time to time; events tell it at once. */
export const notifications = resource('notifications', {
  list: {
    summary: 'List notifications, newest first',
    description,
    input: strict({
      since: Type.Optional(
        Timestamp('Return only notifications that were created or resolved at or after this time'),
      ),
      type: Type.Optional(Type.Enum(typeNames, { description: 'Return only this type' })),
      level: Type.Optional(Type.Enum([...notificationLevels], { description: 'Return only this level' })),
      object: Type.Optional(Name('Return only notifications about this migration')),
      resolved: Type.Optional(
        Type.Boolean({ description: 'Return only resolved or only unresolved notifications' }),
      ),
      ...page,
    }),
    output: list(Notification),
    errors: [],
    http: [{ method: 'GET', path }],
    cli: {
      columns: ['created', 'level', 'type', 'object', 'message', 'resolved'],
      example: 'gantry notifications list --level error',
    },
    deadlineMs: notificationDeadlineMs,
  },
  get: {
    summary: 'Show a notification',
    input: strict({ notificationId: Uuid('Notification id') }),
    output: Notification,
    errors: ['NOT_FOUND'],
    http: [{ method: 'GET', path: `${path}/{notificationId}` }],
    cli: { args: ['notificationId'] },
    deadlineMs: notificationDeadlineMs,
  },
  latest: {
    summary: 'Show the newest notification',
    input: strict({}),
    output: Notification,
    errors: ['NOT_FOUND'],
    http: [{ method: 'GET', path: `${path}/latest` }],
    deadlineMs: notificationDeadlineMs,
  },
  feed: {
    summary: `Get the newest ${maxFeedEntries} notifications as an Atom feed (RFC 4287)`,
    input: strict({ from }),
    output: Part,
    errors: [],
    http: [{ method: 'GET', path: `${path}/atom` }],
    download: { types: ['application/atom+xml'] },
    deadlineMs: notificationDeadlineMs,
  },
})
