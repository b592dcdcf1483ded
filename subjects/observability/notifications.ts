import { type Static, Type } from 'typebox'
import { resource } from '../kit/contract.ts'
import { from, Part } from '../kit/download.ts'
import {
  list,
  maxIdLength,
  model,
  Name,
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
  'migration-added': 'A migration was defined',
  'migration-live': 'All that was there is copied; from now on changes are followed',
  'migration-completed': 'A migration has nothing left to do; a warning when paths did not arrive',
  'migration-auto-stopped': 'A migration was stopped without being asked to; resolved when it goes on',
  'migration-condition': 'Something keeps a migration from moving; resolved when it no longer does',
  'work-lost': 'Work of a migration was lost with the broker’s store, and is done again; resolved when it is',
  'verification-finished': 'A verification has ended; a warning when it found discrepancies',
  'cleanup-finished': 'A cleanup has ended',
  alert: 'A rule for alerts has fired; resolved with the alert',
} as const
export type NotificationType = keyof typeof notificationTypes
const typeNames = Object.keys(notificationTypes) as NotificationType[]

export const notificationLevels = ['info', 'warning', 'error'] as const
export type NotificationLevel = (typeof notificationLevels)[number]

const typeHelp = typeNames.map((type) => `${type}: ${notificationTypes[type]}`).join('; ')

/** Facts of an event that a notification repeats. */
const maxFacts = 10

export const Notification = model('Notification', {
  id: Uuid('Id of the notification'),
  type: Type.Enum(typeNames, { description: typeHelp }),
  level: Type.Enum([...notificationLevels]),
  object: Type.String({ maxLength: maxIdLength, description: 'Name of the migration; of an alert its id' }),
  message: Text('What happened, for a person'),
  resolved: Type.Boolean({ description: 'Whether a problem is over; false for what is none' }),
  created: Timestamp('When it happened'),
  updated: Timestamp('When it was resolved, or when it happened'),
  facts: record(
    Type.Union([Type.String({ maxLength: 2_000 }), Type.Number()]),
    maxFacts,
    'What the event said, by its names',
  ),
})
export type Notification = Static<typeof Notification>

/** All facts of a week may have to be read, once after each start. */
const notificationDeadlineMs = 30_000

const path = '/api/v1/notifications'
const description = `Made of the events that are kept, which is for seven days at most: the newest ${maxNotifications}.`

/** What happened that somebody wants to hear of, for those who ask from time to time; events tell it at once. */
export const notifications = resource('notifications', {
  list: {
    summary: 'What happened, the newest first',
    description,
    input: strict({
      since: Type.Optional(Timestamp('Only what happened, or was resolved, from this moment on')),
      type: Type.Optional(Type.Enum(typeNames, { description: 'Only of this type' })),
      level: Type.Optional(Type.Enum([...notificationLevels], { description: 'Only of this level' })),
      object: Type.Optional(Name('Only about this migration')),
      resolved: Type.Optional(Type.Boolean({ description: 'Only those that are resolved, or are not' })),
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
    summary: 'One notification',
    input: strict({ notificationId: Uuid('Id of the notification') }),
    output: Notification,
    errors: ['NOT_FOUND'],
    http: [{ method: 'GET', path: `${path}/{notificationId}` }],
    cli: { args: ['notificationId'] },
    deadlineMs: notificationDeadlineMs,
  },
  latest: {
    summary: 'The newest notification',
    input: strict({}),
    output: Notification,
    errors: ['NOT_FOUND'],
    http: [{ method: 'GET', path: `${path}/latest` }],
    deadlineMs: notificationDeadlineMs,
  },
  feed: {
    summary: `The newest ${maxFeedEntries} notifications as an Atom feed (RFC 4287)`,
    input: strict({ from }),
    output: Part,
    errors: [],
    http: [{ method: 'GET', path: `${path}/atom` }],
    download: { types: ['application/atom+xml'] },
    deadlineMs: notificationDeadlineMs,
  },
})
