import type { Events } from '../../broker/state/events.ts'
import { notifications } from '../../subjects/observability/notifications.ts'
import { service } from '../kit/part.ts'
import { notificationHandlers } from './handlers.ts'
import { Notifications } from './notifications.ts'

export interface NotificationsNeeds {
  readonly events: Events
  readonly identity: { readonly instance: string }
}

/** What happened, for those who ask from time to time: it is what the stored events say. */
export const notificationsService = service({
  name: 'notifications',
  contracts: { notifications },
  start: ({ events, identity: { instance } }: NotificationsNeeds) => ({
    handlers: {
      notifications: notificationHandlers({ notifications: new Notifications(events), instance }),
    },
  }),
})
