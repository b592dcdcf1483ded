import { Type } from 'typebox'
import { list, maxPageLength, model } from '../../../subjects/kit/schemas.ts'
import {
  Notification,
  type NotificationLevel,
  notificationLevels,
  notifications,
  type NotificationType,
  notificationTypes,
} from '../../../subjects/observability/notifications.ts'
import { WireRefusal } from '../errors.ts'
import { operation } from '../operation.ts'
import type { Fields, Wire } from '../../surface/operation.ts'

const errors = { NOT_FOUND: { errorCode: 'NOTIFICATION_NOT_FOUND' } } as const

const levels: Readonly<Record<NotificationLevel, string>> = { info: 'INFO', warning: 'WARN', error: 'ERROR' }

/** Names of classes there; what clients of the surface do not know has one of the same form. */
const types: Readonly<Record<NotificationType, string>> = {
  'migration-added': 'MigrationAddedNotification',
  'migration-live': 'MigrationLiveNotification',
  'migration-completed': 'MigrationCompletedNotification',
  'migration-auto-stopped': 'MigrationAutoStoppedNotification',
  'migration-condition': 'MigrationConditionNotification',
  'work-lost': 'MissingEventsNotification',
  'verification-finished': 'VerificationFinishedNotification',
  'cleanup-finished': 'SourceCleanupFinishedNotification',
  alert: 'AlertNotification',
}

const { message, resolved, created, updated, facts } = Notification.properties
const wireLevels = Object.values(levels)
const wireTypes = Object.values(types)

const WireNotification = model('Notification', {
  id: Type.String({ maxLength: 45, description: 'Notification id: urn:uuid: followed by a UUID' }),
  type: Type.Enum(wireTypes),
  level: Type.Enum(wireLevels),
  message,
  resolved,
  timeStamp: Type.Integer({ description: 'Time of the event, in milliseconds since 1970' }),
  updatedTimeStamp: Type.Integer({ description: 'Time when the problem was resolved, or of the event' }),
  dateCreated: created,
  dateUpdated: updated,
  payload: facts,
})

const shown = ({ id, type, level, message, resolved, created, updated, facts }: Notification) => ({
  id: `urn:uuid:${id}`,
  type: types[type],
  level: levels[level],
  message,
  resolved,
  timeStamp: Date.parse(created),
  updatedTimeStamp: Date.parse(updated),
  dateCreated: created,
  dateUpdated: updated,
  payload: facts,
})

/** The name of ours for one of the surface, which may be ours already; any other text stays, so that it is refused. */
const ours = (names: Readonly<Record<string, string>>, given: unknown): unknown =>
  Object.keys(names).find((name) => names[name] === given) ?? given

const fields: Fields = {
  count: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      description: `Number of newest notifications to return; default and maximum ${maxPageLength}`,
    }),
  ),
  type: Type.Optional(Type.Enum([...wireTypes, ...Object.keys(notificationTypes)])),
  level: Type.Optional(Type.Enum([...wireLevels, ...notificationLevels])),
  excludeResolved: Type.Optional(Type.Boolean({ description: 'Return only unresolved notifications' })),
}

function asked({ count = maxPageLength, type, level, excludeResolved, ...wire }: Wire): Wire {
  if (!Number.isSafeInteger(count) || Number(count) < 1)
    throw new WireRefusal(
      'INVALID_INPUT',
      { status: 400, errorCode: 'INVALID_REQUEST_PARAMETERS' },
      'count must be an integer of at least 1',
    )
  return {
    ...wire,
    limit: Math.min(Number(count), maxPageLength),
    type: ours(types, type),
    level: ours(levels, level),
    // Without it, and with false, all are asked for; what is no boolean is refused by that name.
    ...(excludeResolved === false ? {} : { resolved: excludeResolved === true ? false : excludeResolved }),
  }
}

const urn = 'urn:uuid:'

/** The feed names a notification by a URN, of which the path may have the UUID alone. */
const named = (wire: Wire): Wire => {
  const { notificationId } = wire
  return typeof notificationId === 'string' && notificationId.startsWith(urn)
    ? { ...wire, notificationId: notificationId.slice(urn.length) }
    : wire
}

const path = '/notifications'

export const notificationOperations = [
  operation(notifications.list, 'GET', path, {
    fields,
    without: ['limit', 'after', 'object', 'resolved'],
    request: asked,
    reply: list(WireNotification),
    response: (all) => all.map(shown),
    conditional: true,
  }),
  operation(notifications.feed, 'GET', `${path}/atom`, { conditional: true }),
  operation(notifications.latest, 'GET', `${path}/latest`, {
    errors,
    reply: WireNotification,
    response: shown,
    conditional: true,
  }),
  operation(notifications.get, 'GET', `${path}/{notificationId}`, {
    errors,
    fields: {
      notificationId: Type.String({
        // The rest is the UUID: no longer than one, whatever it is.
        pattern: `^(?:${urn})?[^/]{1,36}$`,
        maxLength: urn.length + 36,
        description: 'Notification id, with or without urn:uuid:',
      }),
    },
    request: named,
    reply: WireNotification,
    response: shown,
  }),
]
