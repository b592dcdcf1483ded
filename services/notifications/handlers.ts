import type { Handlers } from '../../subjects/kit/contract.ts'
import { maxPageLength } from '../../subjects/kit/schemas.ts'
import { maxFeedEntries, type notifications } from '../../subjects/observability/notifications.ts'
import { atomFeed } from './atom.ts'
import type { Notifications } from './notifications.ts'
import { pageAfter } from '../kit/page.ts'

export interface NotificationDependencies {
  readonly notifications: Pick<Notifications, 'now'>
  /** Id of the platform. */
  readonly instance: string
}

export function notificationHandlers({
  notifications: told,
  instance,
}: NotificationDependencies): Handlers<typeof notifications> {
  return {
    list: async ({ since, type, level, object, resolved, after, limit = maxPageLength }) => {
      const all = (await told.now()).all()
      const sinceMs = since === undefined ? 0 : Date.parse(since)
      return pageAfter(all, after)
        .filter(
          (one) =>
            (type ?? one.type) === one.type &&
            (level ?? one.level) === one.level &&
            (object ?? one.object) === one.object &&
            (resolved ?? one.resolved) === one.resolved &&
            Date.parse(one.updated) >= sinceMs,
        )
        .slice(0, limit)
    },
    get: async ({ notificationId }, call) => {
      const found = (await told.now()).get(notificationId)
      if (found === undefined)
        throw call.fail('NOT_FOUND', `there is no notification ${notificationId}; it may have been removed`)
      return found
    },
    latest: async (_, call) => {
      const [latest] = (await told.now()).all()
      if (latest === undefined) throw call.fail('NOT_FOUND', 'there are no notifications yet')
      return latest
    },
    feed: async ({ from = 0 }) => {
      const text = atomFeed((await told.now()).all().slice(0, maxFeedEntries), instance)
      return { name: 'notifications.atom', type: 'application/atom+xml', content: text.slice(from) }
    },
  }
}
