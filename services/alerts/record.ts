import { type Static, Type } from 'typebox'
import { Collection } from '../../broker/state/collection.ts'
import type { NatsConnection } from '../../broker/rpc/connection.ts'
import type { Events } from '../../broker/state/events.ts'
import type { RecordJournals } from '../../broker/state/books/record-journal.ts'
import { Alert, AlertRule, alertStates, AlertWebhook } from '../../subjects/observability/alert-model.ts'
import { Count, strict, Timestamp } from '../../subjects/kit/schemas.ts'

const { builtIn: _builtIn, warning: _warning, ...ruleFields } = AlertRule.properties
const StoredRule = strict(ruleFields)
export type StoredRule = Static<typeof StoredRule>

const StoredAlert = strict({
  ...Alert.properties,
  told: Type.Optional(
    Type.Enum([...alertStates], {
      description: 'The state for which there are messages to webhooks; none when the process died before',
    }),
  ),
})
export type StoredAlert = Static<typeof StoredAlert>

/** What is sealed is longer than it was, by a third and some bytes. */
const Sealed = Type.String({ maxLength: 4_000 })

const { waiting: _waiting, url: _url, ...webhookFields } = AlertWebhook.properties
const StoredWebhook = strict({
  ...webhookFields,
  sealedUrl: Sealed,
  sealedSecret: Sealed,
})
export type StoredWebhook = Static<typeof StoredWebhook>

/** A body has two texts of an alert at most, and names. */
const maxBodyLength = 20_000

const Delivery = strict({
  id: Type.String({
    maxLength: 100,
    description: 'Of the message; the same at each attempt, and for each webhook',
  }),
  webhook: AlertWebhook.properties.name,
  body: Type.String({ maxLength: maxBodyLength }),
  created: Timestamp('When'),
  attempts: Count('How often it was tried'),
  next: Timestamp('When it is tried next'),
})
export type Delivery = Static<typeof Delivery>

export interface AlertState {
  readonly rules: Collection<typeof StoredRule>
  readonly alerts: Collection<typeof StoredAlert>
  readonly webhooks: Collection<typeof StoredWebhook>
  readonly deliveries: Collection<typeof Delivery>
}

export async function openState(
  connection: NatsConnection,
  events: Events,
  journals: RecordJournals,
): Promise<AlertState> {
  const version = 1
  const [rules, alerts, webhooks, deliveries] = await Promise.all([
    Collection.open(connection, { bucket: 'alert-rules', schema: StoredRule, version, journals }),
    Collection.open(connection, { bucket: 'alerts', schema: StoredAlert, version, events }),
    Collection.open(connection, { bucket: 'alert-webhooks', schema: StoredWebhook, version, journals }),
    Collection.open(connection, { bucket: 'alert-deliveries', schema: Delivery, version }),
  ])
  return { rules, alerts, webhooks, deliveries }
}

export const publicAlert = ({ told: _told, ...alert }: StoredAlert): Alert => alert
