import { useCallback, useState } from 'react'
import { eventSubject, subjectToken } from '../../../subjects/kit/names.ts'
import type { migrationEvents } from '../../../subjects/migrations/events.ts'
import { migrations } from '../../../subjects/migrations/migrations.ts'
import type { MigrationState } from '../../../subjects/migrations/model/model.ts'
import { notifications } from '../../../subjects/observability/notifications.ts'
import { useAll } from '../../data/calls.ts'
import { useGathered } from '../../data/events.ts'
import { Empty } from '../../kit/empty.tsx'
import { wordsOf } from '../../kit/format.ts'
import { Named, Time } from '../../kit/named.tsx'
import { Section } from '../../kit/page.tsx'
import { Status } from '../../kit/status.tsx'
import { NotificationTable } from '../observability/notification-table.tsx'

interface Told {
  readonly at: string
  readonly event: string
  readonly state: MigrationState | undefined
}

/** Those that are kept in sight. */
const mostShown = 100

/** What is told of a migration while its page is open, whichever part of it one looks at; the newest first. */
export function useTold(migrationId: string): readonly Told[] {
  const [told, setTold] = useState<readonly Told[]>([])
  const hear = useCallback((messages: readonly { readonly subject: string; readonly body: unknown }[]) => {
    const at = new Date().toISOString()
    const heard = messages.map(({ subject, body }) => ({
      at,
      event: subject.split('.').at(-2)!,
      state: (body as { readonly state?: MigrationState }).state,
    }))
    setTold((before) => [...heard.toReversed(), ...before].slice(0, mostShown))
  }, [])
  useGathered(eventSubject(migrations.get.resource, '*', subjectToken(migrationId)), hear)
  return told
}

/** What is told, in a few words. */
const eventText = (name: string): string => {
  const text = texts[name as keyof typeof migrationEvents]
  return text ?? wordsOf(name)
}

const texts: Partial<Record<keyof typeof migrationEvents, string>> = {
  updated: 'settings changed',
  scheduled: 'waits for its turn',
  live: 'follows changes',
  waiting: 'scan complete; waits for the next one',
  'region-added': 'rescan requested',
  'work-lost': 'pending work was lost, and is repeated',
  'conditions-changed': 'conditions changed',
  'failures-changed': 'list of failures changed',
}

/** What happened to a migration: what the platform has noted, and what was told since its page is open. */
export function Events({
  migrationId,
  told,
}: {
  readonly migrationId: string
  readonly told: readonly Told[]
}) {
  const { data = [] } = useAll(notifications.list, ({ id }) => id, { filter: { object: migrationId } })
  return (
    <>
      <Section title="Since you opened this page">
        {told.length === 0 ? (
          <Empty>No events yet.</Empty>
        ) : (
          <ul className="plain">
            {told.map(({ at, event, state }, index) => (
              <li key={told.length - index}>
                <Time at={at} /> <Named>{eventText(event)}</Named>{' '}
                {state !== undefined && wordsOf(state) !== wordsOf(event) && <Status of={state} />}
              </li>
            ))}
          </ul>
        )}
      </Section>
      <Section title="Notifications">
        <NotificationTable notifications={data} />
      </Section>
    </>
  )
}
